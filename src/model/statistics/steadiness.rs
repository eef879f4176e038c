//! Whether the figures of a trial belong to one state of the server: warm-up
//! that runs into the window, a cache that fills, a machine that throttles.

use super::change_points::{Search, Strength, change_points, mean};
use super::effect::{log_ratio, percent};
use super::hodges_lehmann::centre;

/// Seconds of throughput a trial needs to be judged.
const SHORTEST_S: usize = 6;
/// Drift between the halves of the trials up to this is let pass, in percent.
const DRIFT_TOLERATED_PCT: f64 = 5.0;
/// A jump within a trial counts from this size on, in percent.
const JUMP_PCT: f64 = 10.0;
/// Jumps in this share of the trials are not chance.
const JUMPING_TOLERATED: f64 = 0.25;

/// What the seconds of the trials say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steadiness {
    /// Null when no trial is long enough to tell.
    pub steady: Option<bool>,
    /// The second half of a trial against its first, in percent of throughput,
    /// typical of the trials (their Hodges–Lehmann estimate).
    pub drift_pct: Option<f64>,
    /// Why they are not steady, one sentence each.
    pub reasons: Vec<String>,
}

/// Judges the throughput of each full second of each trial's window, in any
/// unit, oldest first.
#[must_use]
pub fn steadiness(trials: &[Vec<f64>]) -> Steadiness {
    let judged = || trials.iter().filter(|seconds| seconds.len() >= SHORTEST_S);
    let drifts: Vec<f64> = judged().filter_map(|seconds| drift(seconds)).collect();
    let stopped = judged().count() - drifts.len();
    let jumping = judged().filter(|seconds| jumps(seconds)).count();
    let drift_pct = centre(&drifts).map(percent);
    let mut reasons = Vec::new();
    if stopped > 0 {
        reasons.push(format!("throughput was zero, or no figure, for half of {stopped} trials"));
    }
    if let Some(drift) = drift_pct.filter(|drift| drift.abs() > DRIFT_TOLERATED_PCT) {
        reasons.push(format!(
            "throughput drifted by {drift:+.1} % from the first half of the trials to the second: warm up for longer"
        ));
    }
    if jumping as f64 > JUMPING_TOLERATED * judged().count() as f64 {
        reasons.push(format!(
            "throughput jumped by {JUMP_PCT:.0} % or more within {jumping} of {} trials: something else was at work",
            judged().count()
        ));
    }
    Steadiness { steady: (judged().count() > 0).then_some(reasons.is_empty()), drift_pct, reasons }
}

/// The log ratio of a trial's second half to its first; a middle second belongs
/// to neither.
fn drift(seconds: &[f64]) -> Option<f64> {
    let half = seconds.len() / 2;
    log_ratio(mean(&seconds[..half]), mean(&seconds[seconds.len() - half..]))
}

fn jumps(seconds: &[f64]) -> bool {
    let series: Vec<Option<f64>> = seconds.iter().copied().map(Some).collect();
    let search = Search { smallest_pct: JUMP_PCT, ..Search::default() };
    change_points(&series, search).iter().any(|point| point.strength == Strength::Strong)
}

#[cfg(test)]
mod tests {
    use super::steadiness;

    /// Twelve trials of ten seconds: `level(trial, second)` plus a ripple of 2 %.
    fn trials(level: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
        let ripple =
            |trial, second| 1.0 + 0.02 * (((trial * 7 + second * 5) % 11) as f64 / 5.0 - 1.0);
        let trial = |trial| (0..10).map(|s| level(trial, s) * ripple(trial, s)).collect();
        (0..12).map(trial).collect()
    }

    #[test]
    fn even_throughput_is_steady_however_the_trials_differ() {
        let found = steadiness(&trials(|trial, _| 1000.0 + 100.0 * trial as f64));
        assert_eq!((found.steady, found.reasons.len()), (Some(true), 0), "{found:?}");
        assert!(found.drift_pct.unwrap().abs() < 2.0, "{found:?}");
    }

    #[test]
    fn a_drift_within_the_trials_is_told_in_percent() {
        let found = steadiness(&trials(|_, second| 1000.0 * 1.02_f64.powi(second as i32)));
        assert_eq!(found.steady, Some(false));
        assert!((found.drift_pct.unwrap() - 10.4).abs() < 1.0, "{found:?}");
        assert!(found.reasons[0].contains("warm up for longer"), "{found:?}");
        let falling = steadiness(&trials(|_, second| 1000.0 * 0.98_f64.powi(second as i32)));
        assert!(falling.drift_pct.unwrap() < -5.0, "{falling:?}");
    }

    /// Up in one trial, down in the next: no drift on the whole.
    #[test]
    fn jumps_within_many_trials_are_seen_and_in_one_are_let_pass() {
        let jump = |trial: usize, second| match (trial % 2, second < 5) {
            (0, true) | (1, false) => 1000.0,
            _ => 1300.0,
        };
        let found = steadiness(&trials(jump));
        assert_eq!(found.steady, Some(false));
        assert!(found.reasons.iter().any(|reason| reason.contains("12 of 12")), "{found:?}");
        let once = steadiness(&trials(|trial, s| if trial == 3 { jump(0, s) } else { 1000.0 }));
        assert_eq!(once.steady, Some(true), "{once:?}");
    }

    #[test]
    fn what_cannot_be_told_is_null_and_what_stopped_is_not_steady() {
        for unknown in [vec![], vec![vec![1.0; 5]; 12], vec![vec![]]] {
            assert_eq!(steadiness(&unknown).steady, None, "{unknown:?}");
        }
        for broken in [0.0, f64::NAN, -1.0] {
            let mut seconds = vec![1000.0; 5];
            seconds.extend([broken; 5]);
            let found = steadiness(&[seconds]);
            assert_eq!(found.steady, Some(false), "{found:?}");
            assert!(found.reasons[0].contains("half of 1 trials"), "{found:?}");
        }
    }
}
