//! Whether a run can still fulfil its criteria marked `abort:`, second by
//! second. What is called beyond rescue here is violated in the result, too,
//! whatever follows: both read the same figures.

use super::windows::TrialSeconds;
use super::{Criterion, Op, Severity, Test};
use crate::assemble::of_tally;
use crate::metrics::{Figures, Known, Of, Reading, Source, Statistic};
use crate::spec::{Arrivals, JobSpec, LoadSpec};
use crate::{Histogram, KernelCounts, RunResult, Tally, TrialRecording, reconcile};

/// What a figure can still do while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// It never falls.
    Grows,
    /// It is a share of the attempts (a percentile is one): it falls while more
    /// attempts come, and there may be a limit to how many do.
    Share,
    /// It goes up and down.
    Free,
}

impl Course {
    pub(super) fn of(metric: Known) -> Self {
        match metric {
            Known::Time(_, Statistic::Max) => Self::Grows,
            Known::Time(times, Statistic::Percentile(_))
                if matches!(times.of, Of::Attempts | Of::Schedule) =>
            {
                Self::Share
            }
            Known::Time(..) => Self::Free,
            Known::Scalar(scalar) => match (scalar.source, scalar.name) {
                (Source::Attempts, "error_ratio" | "non_2xx_ratio") => Self::Share,
                // What the connections opened before the window add is known at the end.
                (Source::Run | Source::Reconciled, _) => Self::Free,
                _ if metric.is_ratio() || metric.is_rate() => Self::Free,
                _ => Self::Grows,
            },
        }
    }
}

/// The most attempts that a trial can make, when the load sets a limit.
pub(super) fn most_attempts(load: &LoadSpec) -> Option<u64> {
    let at_rate = || {
        let (rate, duration) = (load.rate?, load.duration?);
        let constant = load.arrivals.unwrap_or_default() == Arrivals::Constant;
        constant.then(|| (rate * duration.duration().as_secs_f64()).ceil() as u64 + 1)
    };
    load.requests.or_else(at_rate)
}

/// Follows a job second by second.
#[derive(Clone, Debug)]
pub struct Watch {
    criteria: Vec<Criterion>,
    load: LoadSpec,
    trials: u32,
    /// Everything measured so far.
    total: Tally,
    kernel: Option<KernelCounts>,
    /// Attempts of the trials before the one under way.
    issued_before: u64,
    trial: u32,
}

impl Watch {
    /// Nothing when no criterion is marked `abort:`.
    #[must_use]
    pub fn new(spec: &JobSpec) -> Option<Self> {
        let criteria = spec.criteria.iter().filter_map(|text| Criterion::parse(text).ok());
        let criteria: Vec<_> = criteria.filter(|c| c.severity == Severity::Abort).collect();
        (!criteria.is_empty()).then(|| Self {
            criteria,
            load: spec.load.clone(),
            trials: spec.trials,
            total: Tally::default(),
            kernel: None,
            issued_before: 0,
            trial: 0,
        })
    }

    /// Takes note of the newest second of the trial under way, recorded by its
    /// only generator. A sentence when a criterion is beyond rescue now.
    pub fn second(&mut self, recording: &TrialRecording) -> Option<String> {
        let newest = recording.seconds.last()?;
        if recording.trial != self.trial {
            (self.trial, self.issued_before) = (recording.trial, self.total.counts.issued);
        }
        self.total.merge(&newest.tally);
        if let Some(counts) = &newest.kernel {
            self.kernel.get_or_insert_default().merge(counts);
        }
        let lost = self.criteria.iter().find(|criterion| self.is_lost(criterion, recording))?;
        let elapsed_s = f64::from(newest.index) + newest.tally.span_s();
        Some(format!(
            "aborted {elapsed_s:.1} s into trial {} of {}, when {} was beyond rescue: the figures cover only what \
             was measured until then",
            recording.trial + 1,
            self.trials,
            criterion_in_quotes(lost)
        ))
    }

    fn is_lost(&self, criterion: &Criterion, recording: &TrialRecording) -> bool {
        let Test::Limit { op, limit, window_s } = criterion.test else { return false };
        let fails = |value: f64| !op.holds(value, limit);
        if let Some(length) = window_s {
            return newest_windows(criterion.known, length, recording, &self.load).any(fails);
        }
        let Some(now) = self.now(criterion.known, recording).filter(|now| fails(*now)) else {
            return false;
        };
        let downward = match op {
            Op::Less | Op::LessOrEqual => true,
            Op::Equal => now > limit,
            Op::Greater | Op::GreaterOrEqual => false,
        };
        downward
            && match Course::of(criterion.known) {
                Course::Grows => true,
                // One error among any number of attempts is more than none.
                Course::Share if limit == 0.0 => now > 0.0,
                Course::Share => {
                    self.at_best(criterion.known).is_some_and(|best| fails(best) && best >= limit)
                }
                Course::Free => false,
            }
    }

    /// What it is now, over all trials; of nginx's counters over the trial under
    /// way, which is no more.
    fn now(&self, metric: Known, recording: &TrialRecording) -> Option<f64> {
        let mut result = of_tally(&self.total);
        result.kernel = self.kernel;
        if let Known::Scalar(scalar) = metric
            && scalar.source.is_nginx()
        {
            result.server.stub_status = reconcile::stub_status(std::slice::from_ref(recording));
        }
        read(metric, &result, &self.total)
    }

    /// What it would be in the end if all attempts to come were answered well and
    /// at once.
    fn at_best(&self, metric: Known) -> Option<f64> {
        let of_trial = most_attempts(&self.load)?;
        let trials_to_come = u64::from(self.trials.saturating_sub(self.trial));
        let most = self.issued_before.saturating_add(of_trial.saturating_mul(trials_to_come));
        let to_come = most.saturating_sub(self.total.counts.issued);
        if let Known::Time(times, Statistic::Percentile(percent)) = metric {
            return at_best((times.histogram)(&self.total), percent, to_come);
        }
        let mut best = self.total.clone();
        best.counts.issued += to_come;
        best.counts.ok += to_come;
        *best.status_codes.entry(200).or_default() += to_come;
        read(metric, &of_tally(&best), &best)
    }
}

fn read(metric: Known, result: &RunResult, tally: &Tally) -> Option<f64> {
    match metric.read(&Figures { result, tally }) {
        Reading::Value(value) => Some(value),
        Reading::NoData(_) => None,
    }
}

/// The percentile in milliseconds once so many samples of no time are added.
fn at_best(times: Histogram, percent: f64, to_come: u64) -> Option<f64> {
    let rank = Histogram::rank(percent, times.len().saturating_add(to_come));
    let among_ours = rank.saturating_sub(to_come);
    if among_ours == 0 {
        return Some(0.0);
    }
    times.value_of_rank(among_ours).map(|us| us as f64 / 1000.0)
}

/// The values over the windows that end with the newest second and with the one
/// before it, whose poll came after it.
fn newest_windows<'a>(
    metric: Known,
    length: u32,
    recording: &'a TrialRecording,
    load: &LoadSpec,
) -> impl Iterator<Item = f64> + use<'a> {
    let seconds = &recording.seconds;
    let newest = &seconds[seconds.len().saturating_sub(length as usize + 1)..];
    let from_us = newest.first().map_or(0, |second| i64::from(second.index) - 1) * 1_000_000;
    let polls = recording.polls.iter().filter(|poll| poll.offset_us >= from_us);
    let newest = TrialRecording {
        trial: recording.trial,
        generator: recording.generator,
        seconds: newest.to_vec(),
        polls: polls.cloned().collect(),
        end: None,
        started_us: recording.started_us,
    };
    let windows = TrialSeconds::of(&[&newest], load).windows(metric, length, false);
    windows.into_iter().filter_map(|window| match window.reading {
        Reading::Value(value) => Some(value),
        Reading::NoData(_) => None,
    })
}

fn criterion_in_quotes(criterion: &Criterion) -> String {
    format!("\"{}\"", criterion.expression)
}
