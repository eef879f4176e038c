//! Judging a criterion by the figures of a run.

use super::windows::{TrialSeconds, is_worse};
use super::{Criterion, CriterionOutcome, CriterionStatus, Op, Severity, Test, six_digits};
use crate::baseline::BaselineLookup;
use crate::metrics::{Better, Figures, Reading};

/// What criteria are judged by.
pub(crate) struct Grounds<'a> {
    pub(crate) figures: Figures<'a>,
    pub(crate) trials: Vec<TrialSeconds<'a>>,
    pub(crate) baseline: Option<&'a BaselineLookup>,
}

/// What a judgement adds to the criterion.
struct Judgement {
    observed: Option<f64>,
    limit: Option<f64>,
    baseline: Option<f64>,
    status: CriterionStatus,
    reason: Option<String>,
}

impl Judgement {
    fn of(observed: f64, limit: f64, holds: bool) -> Self {
        let status = if holds { CriterionStatus::Pass } else { CriterionStatus::Fail };
        Self { observed: Some(observed), limit: Some(limit), baseline: None, status, reason: None }
    }

    fn no_data(reason: String) -> Self {
        let status = CriterionStatus::NoData;
        Self { observed: None, limit: None, baseline: None, status, reason: Some(reason) }
    }
}

impl Criterion {
    /// Judges it.
    pub(crate) fn evaluate(&self, grounds: &Grounds<'_>) -> CriterionOutcome {
        let judgement = match &self.test {
            Test::Limit { op, limit, window_s: None } => {
                self.over_the_run(*op, *limit, &grounds.figures)
            }
            Test::Limit { op, limit, window_s: Some(length) } => {
                self.over_windows(*op, *limit, *length, &grounds.trials)
            }
            Test::Baseline { tolerated, name } => self.against_baseline(*tolerated, name, grounds),
        };
        let limit = match self.test {
            Test::Limit { limit, .. } => Some(limit),
            Test::Baseline { .. } => judgement.limit,
        };
        CriterionOutcome {
            expression: self.expression.clone(),
            metric: self.metric.clone(),
            severity: self.severity,
            observed: judgement.observed,
            limit,
            baseline: judgement.baseline,
            status: judgement.status,
            reason: judgement.reason,
        }
    }

    /// What an expression comes to that cannot be read here, such as one that
    /// another version of benchd took: it is never left out.
    pub(crate) fn unreadable(expression: &str) -> CriterionOutcome {
        let severity = [Severity::Warn, Severity::Abort];
        let severity = severity.into_iter().find(|s| expression.starts_with(s.prefix()));
        let severity = severity.unwrap_or_default();
        let condition = expression.strip_prefix(severity.prefix()).unwrap_or(expression);
        let metric = condition.split(['<', '>', '=']).next().unwrap_or_default();
        CriterionOutcome {
            expression: expression.to_owned(),
            metric: metric.split_whitespace().next().unwrap_or_default().to_owned(),
            severity,
            observed: None,
            limit: None,
            baseline: None,
            status: CriterionStatus::NoData,
            reason: Some("this benchd does not know it".to_owned()),
        }
    }

    fn over_the_run(&self, op: Op, limit: f64, figures: &Figures<'_>) -> Judgement {
        match self.known.read(figures) {
            Reading::NoData(why) => Judgement::no_data(why),
            Reading::Value(value) => Judgement::of(value, limit, op.holds(value, limit)),
        }
    }

    /// One window that violates it is enough; else one without data, or a trial
    /// without a window, leaves it undecided.
    fn over_windows(
        &self,
        op: Op,
        limit: f64,
        length: u32,
        trials: &[TrialSeconds<'_>],
    ) -> Judgement {
        let mut worst: Option<(f64, String)> = None;
        let mut undecided = trials.is_empty().then(|| "there is no second of load".to_owned());
        for trial in trials {
            let windows = trial.windows(self.known, length, trials.len() > 1);
            if windows.is_empty() {
                undecided.get_or_insert_with(|| trial.too_short(length));
            }
            for window in windows {
                match window.reading {
                    Reading::Value(value) => {
                        if worst.as_ref().is_none_or(|(than, _)| is_worse(op, limit, value, *than))
                        {
                            worst = Some((value, window.place));
                        }
                    }
                    Reading::NoData(why) => {
                        undecided.get_or_insert_with(|| format!("{}: {why}", window.place));
                    }
                }
            }
        }
        match (worst, undecided) {
            (Some((value, place)), _) if !op.holds(value, limit) => {
                Judgement { reason: Some(place), ..Judgement::of(value, limit, false) }
            }
            (_, Some(why)) => Judgement::no_data(why),
            (Some((value, _)), None) => Judgement::of(value, limit, true),
            (None, None) => Judgement::no_data("there is no window".to_owned()),
        }
    }

    fn against_baseline(&self, tolerated: f64, name: &str, grounds: &Grounds<'_>) -> Judgement {
        let environment = &grounds.figures.result.environment;
        let here = &environment.fingerprint;
        let baseline = match grounds.baseline {
            Some(Ok(baseline)) if baseline.name == name => baseline,
            Some(Err(why)) => {
                return Judgement::no_data(format!("baseline {name:?} is not known: {why}"));
            }
            _ => {
                return Judgement::no_data(format!(
                    "there is no baseline {name:?} for the project and scenario"
                ));
            }
        };
        if baseline.environment != *here {
            let unlike = baseline.result.environment.unlike(environment).join(", ");
            return Judgement::no_data(format!(
                "this environment ({here}) has no baseline {name:?}, only another one ({}) has, whose \
                 figures are not comparable: {unlike}",
                baseline.environment
            ));
        }
        let was = match self.known.read_stored(&baseline.result) {
            Reading::Value(was) => was,
            Reading::NoData(why) => {
                return Judgement::no_data(format!("baseline {name:?} has no figure of it: {why}"));
            }
        };
        let higher = self.known.better() == Better::Higher;
        let (op, limit) = if higher {
            (Op::GreaterOrEqual, was * (1.0 - tolerated))
        } else {
            (Op::LessOrEqual, was * (1.0 + tolerated))
        };
        let known = |judgement| Judgement { limit: Some(limit), baseline: Some(was), ..judgement };
        let judged = known(self.over_the_run(op, limit, &grounds.figures));
        match judged.observed {
            Some(value) if judged.status == CriterionStatus::Fail => {
                let reason = Some(worse_than(was, value));
                Judgement { reason, ..judged }
            }
            _ => judged,
        }
    }
}

fn worse_than(was: f64, value: f64) -> String {
    let shown = six_digits(was);
    if was == 0.0 {
        return format!("where the baseline has {shown}");
    }
    format!("{:.1} % worse than the baseline's {shown}", (value / was - 1.0).abs() * 100.0)
}
