//! Whether the two arms of a comparison were measured under equal conditions.

use super::comparison::ComparedTrial;
use super::order::Arm;
use crate::rate::in_words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Share of the asked rate that must have been sent.
const RATE_ACHIEVED: f64 = 0.98;
/// Error ratios this far apart, and by this many requests, select the requests
/// whose figures are compared.
const ERROR_RATIOS_APART: f64 = 0.001;
const ERRORS_APART: f64 = 3.0;

/// Whether the figures may be compared. Null where it is not known: that alone
/// forbids nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonValidity {
    /// False when the generator was the limit of any trial.
    pub generator_cpu_ok: Option<bool>,
    /// What was sent of the asked rate, 0 to 1; the worst of the trials. Null
    /// for a closed loop.
    #[schema(example = 0.998)]
    pub rate_achieved_ratio: Option<f64>,
    /// Whether the trials were steady.
    pub steady: Option<bool>,
    /// Typical drift of throughput from the first half of a trial to the
    /// second, in percent.
    pub drift_pct: Option<f64>,
    /// `error_ratio` over all trials of the baseline.
    pub error_ratio_a: Option<f64>,
    /// `error_ratio` over all trials of the candidate.
    pub error_ratio_b: Option<f64>,
    /// Whether both were measured in one environment.
    pub same_environment: Option<bool>,
}

impl ComparisonValidity {
    /// Why the figures cannot be compared, one sentence each.
    pub(crate) fn objections(&self, trials: &[ComparedTrial]) -> Vec<String> {
        let mut objections = Vec::new();
        if self.generator_cpu_ok == Some(false) {
            objections.push(
                "the generator was the limit: its figures say nothing about the servers".to_owned(),
            );
        }
        if let Some(ratio) = self.rate_achieved_ratio
            && (ratio < RATE_ACHIEVED || ratio.is_nan())
        {
            objections.push(format!(
                "only {} of the asked rate was sent: ask for a rate that both can take",
                in_words(ratio)
            ));
        }
        if self.steady == Some(false) {
            let drift =
                self.drift_pct.map_or_else(String::new, |drift| format!(" (drift {drift:+.1} %)"));
            objections.push(format!(
                "the trials were not steady{drift}: warm up for longer, or quiet the machine"
            ));
        }
        if let (Some(a), Some(b)) = (self.error_ratio_a, self.error_ratio_b)
            && apart(a, b, trials)
        {
            objections.push(format!(
                "the error ratios differ, baseline {:.2} % and candidate {:.2} %: figures of good answers alone favour the one that fails more",
                a * 100.0,
                b * 100.0
            ));
        }
        if self.same_environment == Some(false) {
            objections.push("the environments differ: the difference may be theirs".to_owned());
        }
        objections
    }
}

fn apart(a: f64, b: f64, trials: &[ComparedTrial]) -> bool {
    let requests = |arm| {
        let of_arm = trials.iter().filter(|trial| trial.arm == arm);
        of_arm.map(|trial| trial.requests as f64).sum::<f64>()
    };
    let apart = (a - b).abs();
    let errors = apart * requests(Arm::A).min(requests(Arm::B));
    apart.is_nan() || (apart > ERROR_RATIOS_APART && errors >= ERRORS_APART)
}
