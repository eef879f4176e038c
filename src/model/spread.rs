//! How far the trials of a job lie apart.

use crate::metrics::Statistic;
use crate::result::{Spread, TrialResult};
use std::collections::BTreeMap;

/// A metric of a trial; nothing where the trial does not support it.
type Read = fn(&TrialResult) -> Option<f64>;

const METRICS: [(&str, Read); 6] = [
    ("rps", |t| attempted(t).then_some(t.rps)),
    ("goodput_rps", |t| attempted(t).then_some(t.goodput_rps)),
    ("error_ratio", |t| t.error_ratio),
    ("latency_p50_ms", |t| supported(t, 50.0, t.latency_ms.p50)),
    ("latency_p90_ms", |t| supported(t, 90.0, t.latency_ms.p90)),
    ("latency_p99_ms", |t| supported(t, 99.0, t.latency_ms.p99)),
];

/// The spread by metric; empty with fewer than two trials, and without the
/// metrics that fewer than two have.
pub(crate) fn over(trials: &[TrialResult]) -> BTreeMap<String, Spread> {
    if trials.len() < 2 {
        return BTreeMap::new();
    }
    let spread = |(name, read): (&str, Read)| {
        let values = trials.iter().filter_map(read).collect();
        Some((name.to_owned(), of(values)?))
    };
    METRICS.into_iter().filter_map(spread).collect()
}

fn attempted(trial: &TrialResult) -> bool {
    trial.counts.issued > trial.counts.aborted && trial.duration_s > 0.0
}

fn supported(trial: &TrialResult, percentile: f64, value: Option<f64>) -> Option<f64> {
    let enough = trial.latency_ms.count >= Statistic::Percentile(percentile).min_samples();
    value.filter(|_| enough)
}

fn of(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let [min, .., max] = values[..] else { return None };
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (n - 1) as f64).sqrt();
    Some(Spread {
        median: f64::midpoint(values[(n - 1) / 2], values[n / 2]),
        min,
        max,
        cv: (mean > 0.0).then(|| deviation / mean),
        n: n as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_spread_is_that_of_a_sample() {
        let spread = of(vec![10.0, 12.0, 8.0, 30.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max, spread.n), (11.0, 8.0, 30.0, 4));
        // Mean 15, squared distances 25 + 9 + 49 + 225 = 308 over 3.
        assert!((spread.cv.unwrap() - (308.0f64 / 3.0).sqrt() / 15.0).abs() < 1e-12);
        assert_eq!(of(vec![5.0, 1.0, 2.0]).unwrap().median, 2.0);
        assert_eq!(of(vec![0.0, 0.0]).unwrap().cv, None);
        assert_eq!(of(vec![1.0]), None);
    }
}
