//! Criteria: `[warn:|abort:] metric op number[unit] [for duration]`, such as
//! `latency_p99_ms < 500`, and `[warn:] metric within N% of baseline [name]`.

mod consistency;
mod grammar;
mod judge;
mod rescue;
mod units;
mod windows;

use crate::metrics::Known;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use consistency::{contradictions, never_measured};
pub(crate) use judge::Grounds;
pub use rescue::Watch;
pub(crate) use windows::TrialSeconds;

/// A condition on a metric.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// As it was written.
    pub expression: String,
    /// A metric of the catalogue.
    pub metric: String,
    /// What becomes of a run that violates it.
    pub severity: Severity,
    known: Known,
    test: Test,
}

/// What is asked of the metric.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// A fixed limit: over the whole run, or over every so many consecutive
    /// whole seconds of each trial.
    Limit { op: Op, limit: f64, window_s: Option<u32> },
    /// No worse than the baseline of that name by more than this share.
    Baseline { tolerated: f64, name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

impl Op {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::LessOrEqual => value <= limit,
            Self::Greater => value > limit,
            Self::GreaterOrEqual => value >= limit,
            Self::Equal => (value - limit).abs() <= f64::EPSILON * limit.abs().max(1.0),
        }
    }
}

impl Criterion {
    /// The baseline it speaks of, if it does.
    #[must_use]
    pub fn baseline_name(&self) -> Option<&str> {
        match &self.test {
            Test::Limit { .. } => None,
            Test::Baseline { name, .. } => Some(name),
        }
    }

    /// True when it states what share of errors is borne, so that the default
    /// does not stand beside it: a warning bears nothing, neither does a baseline,
    /// whatever it was, and a least share would let all fail.
    pub(crate) fn limits_errors(&self) -> bool {
        let most = |op| matches!(op, Op::Less | Op::LessOrEqual | Op::Equal);
        self.metric == "error_ratio"
            && self.severity != Severity::Warn
            && matches!(self.test, Test::Limit { op, .. } if most(op))
    }
}

/// The baseline that criteria speak of, if any does: a job names one at most.
#[must_use]
pub fn baseline_name(expressions: &[String]) -> Option<String> {
    let criteria = expressions.iter().filter_map(|text| Criterion::parse(text).ok());
    criteria.filter_map(|criterion| criterion.baseline_name().map(str::to_owned)).next()
}

/// What becomes of a run that violates a criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Its verdict is `fail`.
    #[default]
    Fail,
    /// It is told, and the verdict stays what it is.
    Warn,
    /// Its verdict is `fail`, and it ends as soon as nothing that may follow
    /// could make the criterion hold.
    Abort,
}

impl Severity {
    /// How the severity is written before a criterion.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Fail => "",
            Self::Warn => "warn:",
            Self::Abort => "abort:",
        }
    }
}

/// A criterion with what was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CriterionOutcome {
    /// The criterion as it was written.
    #[schema(example = "latency_p99_ms < 500")]
    pub expression: String,
    /// Its metric.
    #[schema(example = "latency_p99_ms")]
    pub metric: String,
    /// What its violation does.
    #[serde(default)]
    pub severity: Severity,
    /// The observed value in the metric's unit, of `for` that of the worst
    /// window; null when there is none.
    pub observed: Option<f64>,
    /// What it is held against, in the metric's unit; null without a baseline
    /// to reckon it from.
    #[serde(default)]
    #[schema(example = 500.0)]
    pub limit: Option<f64>,
    /// What the baseline measured, in the metric's unit; null when the criterion
    /// speaks of none, or there is none.
    #[serde(default)]
    pub baseline: Option<f64>,
    /// Whether it holds.
    pub status: CriterionStatus,
    /// Where it was violated, or why it has no data; null when there is no more
    /// to say.
    #[serde(default)]
    #[schema(example = "from 12 s to 22 s")]
    pub reason: Option<String>,
}

impl CriterionOutcome {
    /// The condition without the word for its severity.
    #[must_use]
    pub fn condition(&self) -> &str {
        self.expression.strip_prefix(self.severity.prefix()).unwrap_or(&self.expression).trim()
    }

    /// What it came to, as a part of a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        let condition = self.condition();
        let reason = self.reason.as_deref();
        let more = reason.map(|reason| format!(", {reason}")).unwrap_or_default();
        match (self.status, self.observed.map(six_digits)) {
            (CriterionStatus::Fail, Some(value)) => {
                format!("{condition} is violated, observed {value}{more}")
            }
            (CriterionStatus::Pass, Some(value)) => {
                format!("{condition} holds, observed {value}{more}")
            }
            _ => format!("{condition} cannot be decided{more}"),
        }
    }
}

/// Whether a criterion holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriterionStatus {
    /// It holds.
    Pass,
    /// It is violated.
    Fail,
    /// There is nothing, or too little, to decide it by.
    NoData,
}

/// What was observed as people read it: six significant digits at most.
#[must_use]
pub fn six_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests;
