//! The document of a comparison and how it is made.

use super::decision::{Decision, Judgement, judge};
use super::effect::percent;
use super::order::{Arm, BlockOrder};
use super::pairing::{Figures, values};
use super::summary::sentence;
use super::validity::ComparisonValidity;
use super::{CONFIDENCE, DRAWS, MIN_BLOCKS};
use crate::JobId;
use crate::metrics::Better;
use crate::spec::LoadModel;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the trials of the two arms belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// In blocks of one job, each arm once per block, in balanced order.
    Paired,
    /// Measured at different times: whatever else changed between them is part
    /// of the difference.
    Historical,
}

impl Design {
    /// The design as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paired => "paired",
            Self::Historical => "historical",
        }
    }

    /// How the figures are made.
    const fn method(self) -> &'static str {
        match self {
            Self::Paired => {
                "Hodges-Lehmann estimate of paired log ratios, expanded percentile bootstrap over blocks, signed-rank p"
            }
            Self::Historical => {
                "Hodges-Lehmann shift of logarithms, expanded percentile bootstrap over trials, Mann-Whitney p"
            }
        }
    }
}

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The metric that decides.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Its direction.
    pub better: Better,
    /// By how much the candidate may be worse, in percent of the baseline.
    pub margin_pct: f64,
    /// What A against A showed for this target and environment
    /// ([`noise_floor_pct`]); `None` when it was never measured.
    pub noise_floor_pct: Option<f64>,
    /// Requests a trial needs for its value to mean something (a percentile q:
    /// 100 / (1 − q)); 0 when any number will do.
    pub requests_needed: u64,
    /// What the bootstrap draws from, best below 2^53 so that every reader of
    /// JSON keeps it.
    pub seed: u64,
    /// How requests were offered.
    pub load_model: LoadModel,
}

/// What was measured for a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// How the trials belong together.
    pub design: Design,
    /// The jobs that measured the baseline.
    pub baseline_runs: Vec<JobId>,
    /// The jobs that measured the candidate.
    pub candidate_runs: Vec<JobId>,
    /// The trials of both.
    pub trials: Vec<ComparedTrial>,
    /// The conditions they were measured under.
    pub validity: ComparisonValidity,
    /// What else speaks against the trials (a restart, foreign traffic, an
    /// invalid result), one sentence each.
    pub objections: Vec<String>,
}

/// One trial of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedTrial {
    /// Its block, from 1; null in a historical comparison.
    #[schema(example = 1)]
    pub block: Option<u32>,
    /// Its place in the block, 1 or 2; null in a historical comparison.
    #[schema(example = 1)]
    pub position: Option<u32>,
    /// What was measured.
    pub arm: Arm,
    /// The metric of this trial; null when it has no such figure.
    #[schema(example = 12.5)]
    pub value: Option<f64>,
    /// Requests the value is made from.
    pub requests: u64,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Side {
    /// The jobs that measured it.
    pub run_ids: Vec<JobId>,
    /// Median of the trials' values, in the metric's unit.
    pub median: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Trials with a value.
    pub n: u32,
}

/// The document of a comparison. A positive effect is always a larger value of
/// the metric; `better` says whether that is good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// What it comes to.
    pub decision: Decision,
    /// One sentence.
    #[schema(
        example = "p99 +12.4 % (95 % interval 9.1 to 15.8), worse in 10 of 10 pairs: regression, worse by 9.1 % at least, the margin is 5.0 %"
    )]
    pub summary: String,
    /// Why, one sentence each, the weightiest first.
    pub reasons: Vec<String>,
    /// Blocks that would decide it when run besides, in four of five cases if
    /// the effect is what it seems; null when it is decided or cannot be, such as
    /// when that would be more blocks than a job may have.
    pub further_blocks: Option<u32>,
    /// False when the trials or their conditions forbid a decision, whatever the
    /// figures: then the reasons say why.
    pub comparable: bool,
    /// True when it gates nothing by itself: a historical comparison. (`benchd compare`
    /// exits by its decision all the same.)
    pub advisory: bool,
    /// How the trials belong together.
    pub design: Design,
    /// The metric that decides.
    #[schema(example = "latency_p99_ms")]
    pub metric: String,
    /// Its unit.
    #[schema(example = "ms")]
    pub unit: String,
    /// Its direction.
    pub better: Better,
    /// What the candidate is compared with.
    pub baseline: Side,
    /// What is judged.
    pub candidate: Side,
    /// The candidate's value against the baseline's, in percent.
    #[schema(example = 12.4)]
    pub effect_pct: Option<f64>,
    /// Lower end of its interval; null with fewer than two trials.
    #[schema(example = 9.1)]
    pub ci_low_pct: Option<f64>,
    /// Upper end of its interval.
    #[schema(example = 15.8)]
    pub ci_high_pct: Option<f64>,
    /// Confidence of the interval.
    #[schema(example = 0.95)]
    pub confidence: f64,
    /// How the figures are made.
    pub method: String,
    /// Bootstrap resamples.
    pub draws: u32,
    /// What the bootstrap drew from: the same trials and seed give this document
    /// again.
    pub seed: u64,
    /// Pairs the effect is made from; null in a historical comparison.
    pub n_pairs: Option<u32>,
    /// Pairs in which the candidate was worse; null when there are no pairs or
    /// the metric has no direction.
    pub pairs_worse: Option<u32>,
    /// Two-sided p of the rank test. It informs; the interval decides.
    pub p_value: Option<f64>,
    /// By how much the candidate may be worse, in percent of the baseline.
    #[schema(example = 5.0)]
    pub margin_pct: f64,
    /// What A against A showed for this target and environment; null when it
    /// was never measured.
    pub noise_floor_pct: Option<f64>,
    /// Whether the conditions were equal.
    pub validity: ComparisonValidity,
    /// How requests were offered.
    pub load_model: LoadModel,
    /// Which arm came first in each block that is compared.
    pub order: Vec<BlockOrder>,
    /// Every trial.
    pub trials: Vec<ComparedTrial>,
}

/// Compares: estimates the effect, judges it, and says so.
#[must_use]
pub fn compare(question: &Question, measured: Measured) -> Comparison {
    let Measured { design, trials, validity, .. } = measured;
    let figures = Figures::of(design, &trials, question.seed);
    let effect = figures.effect.as_ref();
    let mut objections = measured.objections;
    objections.extend(question.objections(&trials));
    objections.extend(figures.objections.iter().cloned());
    objections.extend(validity.objections(&trials));
    let comparable = objections.is_empty();
    let judgement = if comparable {
        judge(effect, question.better, question.margin_pct, design)
    } else {
        Judgement::inconclusive(objections, None)
    };
    let interval = effect.and_then(|effect| effect.interval);
    let mut comparison = Comparison {
        decision: judgement.decision,
        summary: String::new(),
        reasons: judgement.reasons,
        further_blocks: judgement.further_blocks,
        comparable,
        advisory: design == Design::Historical,
        design,
        metric: question.metric.clone(),
        unit: question.unit.clone(),
        better: question.better,
        baseline: Side::of(measured.baseline_runs, &trials, Arm::A),
        candidate: Side::of(measured.candidate_runs, &trials, Arm::B),
        effect_pct: effect.map(|effect| percent(effect.estimate)),
        ci_low_pct: interval.map(|interval| percent(interval.low)),
        ci_high_pct: interval.map(|interval| percent(interval.high)),
        confidence: CONFIDENCE,
        method: design.method().to_owned(),
        draws: DRAWS as u32,
        seed: question.seed,
        n_pairs: figures.pairs,
        pairs_worse: figures.pairs.and(match question.better {
            Better::Lower => Some(figures.larger),
            Better::Higher => Some(figures.smaller),
            Better::Neither => None,
        }),
        p_value: effect.map(|effect| effect.p_value),
        margin_pct: question.margin_pct,
        noise_floor_pct: question.noise_floor_pct,
        validity,
        load_model: question.load_model,
        order: figures.order,
        trials,
    };
    comparison.summary = sentence(&comparison, figures.larger, figures.smaller);
    comparison
}

/// The noise floor that a paired comparison of A with A shows: the largest
/// effect, in percent, that its interval holds.
///
/// # Errors
/// Why it shows none.
pub fn noise_floor_pct(of_itself: &Comparison) -> Result<f64, String> {
    if of_itself.design != Design::Paired {
        return Err("a noise floor takes a paired comparison".to_owned());
    }
    if !of_itself.comparable || of_itself.n_pairs.unwrap_or(0) < MIN_BLOCKS {
        return Err(of_itself.reasons.join("; "));
    }
    let bounds = of_itself.ci_low_pct.zip(of_itself.ci_high_pct);
    let (low, high) = bounds.ok_or("the comparison has no interval")?;
    Ok(low.abs().max(high.abs()))
}

impl Question {
    /// What is wrong with the question, or with the trials for this question.
    fn objections(&self, trials: &[ComparedTrial]) -> Vec<String> {
        let mut objections = Vec::new();
        let is_percentage = |pct: f64| pct.is_finite() && pct >= 0.0;
        if !is_percentage(self.margin_pct) {
            objections.push(format!("the margin of {} % is no number from 0", self.margin_pct));
        }
        if self.better == Better::Higher && self.margin_pct >= 100.0 {
            objections.push(format!(
                "a margin of {} % is never exceeded: nothing falls by more than 100 %",
                self.margin_pct
            ));
        }
        match self.noise_floor_pct {
            Some(floor) if !is_percentage(floor) => {
                objections.push(format!("the noise floor of {floor} % is no number from 0"));
            }
            Some(floor) if self.margin_pct < floor => objections.push(format!(
                "the margin of {} % is below the noise floor of {floor:.2} % that A against A showed: ask for a larger margin, or measure the floor with more blocks",
                self.margin_pct
            )),
            _ => {}
        }
        let few = trials.iter().filter(|trial| trial.requests < self.requests_needed).count();
        if few > 0 {
            objections.push(format!(
                "{few} of {} trials have fewer than the {} requests that {} needs: run them for longer",
                trials.len(),
                self.requests_needed,
                self.metric
            ));
        }
        objections
    }
}

impl Side {
    fn of(run_ids: Vec<JobId>, trials: &[ComparedTrial], arm: Arm) -> Self {
        let mut values: Vec<f64> =
            values(trials, arm).flatten().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let middle = |n: usize| 0.5 * values[(n - 1) / 2] + 0.5 * values[n / 2];
        Self {
            run_ids,
            median: (!values.is_empty()).then(|| middle(values.len())),
            min: values.first().copied(),
            max: values.last().copied(),
            n: values.len() as u32,
        }
    }
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
