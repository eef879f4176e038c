//! Effects are estimated on log ratios, where twice as much and half as much
//! are equally far from no change, and shown in percent.

use super::bootstrap::{self, Interval};
use super::{hodges_lehmann, ranks};

/// The effect of the candidate against the baseline, as log ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effect {
    pub(crate) estimate: f64,
    /// `None` for too few trials to have a spread.
    pub(crate) interval: Option<Interval>,
    pub(crate) p_value: f64,
    /// Pairs, or the trials of the smaller side.
    pub(crate) n: usize,
}

impl Effect {
    /// Of the log ratios of pairs; `None` when there is none.
    pub(crate) fn of_pairs(log_ratios: &[f64], seed: u64) -> Option<Self> {
        let estimate = hodges_lehmann::centre(log_ratios)?;
        Some(Self {
            estimate,
            interval: bootstrap::centre(log_ratios, seed).map(|i| i.around(estimate)),
            p_value: ranks::signed_rank_p(log_ratios),
            n: log_ratios.len(),
        })
    }

    /// Of the logarithms of two unpaired sets; `None` when either is empty.
    pub(crate) fn of_sets(baseline: &[f64], candidate: &[f64], seed: u64) -> Option<Self> {
        let estimate = hodges_lehmann::shift(baseline, candidate)?;
        Some(Self {
            estimate,
            interval: bootstrap::shift(baseline, candidate, seed).map(|i| i.around(estimate)),
            p_value: ranks::mann_whitney_p(baseline, candidate),
            n: baseline.len().min(candidate.len()),
        })
    }
}

impl Interval {
    /// The interval holds its estimate, however few the trials.
    fn around(self, estimate: f64) -> Self {
        Self { low: self.low.min(estimate), high: self.high.max(estimate) }
    }
}

/// The natural logarithm of a figure; `None` when it is not finite and above
/// zero: then it has no ratio to anything.
pub(crate) fn log(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| quantised(libm::log(value)))
}

/// The logarithm of candidate / baseline; `None` when either has none.
pub(crate) fn log_ratio(baseline: f64, candidate: f64) -> Option<f64> {
    let (a, b) = (log(baseline)?, log(candidate)?);
    let ratio = candidate / baseline;
    Some(if ratio.is_normal() { quantised(libm::log(ratio)) } else { b - a })
}

/// Twelve decimals, far finer than any figure: rounding in the last bit then
/// neither makes nor breaks a tie.
fn quantised(log: f64) -> f64 {
    (log * 1e12).round() / 1e12
}

/// A log ratio as a change in percent, never infinite.
pub(crate) fn percent(log_ratio: f64) -> f64 {
    (libm::expm1(log_ratio) * 100.0).min(f64::MAX)
}
