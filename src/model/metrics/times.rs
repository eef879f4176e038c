//! Metrics that are figures of one histogram: `latency_p99_ms` and its kin.

use super::Reading;
use crate::histogram::LatencySummary;
use crate::result::RunResult;
use crate::{Histogram, Tally};

/// So many samples must lie on either side of a percentile: fewer, and it is
/// the luck of single requests.
const BEYOND: f64 = 10.0;

/// A distribution of times.
#[derive(Debug)]
pub(crate) struct Distribution {
    pub(crate) prefix: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) histogram: fn(&Tally) -> Histogram,
    pub(crate) summary: fn(&RunResult) -> &LatencySummary,
    /// What its samples are.
    pub(crate) of: Of,
}

/// What the samples of a distribution are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// At most one for each attempt.
    Attempts,
    /// At most one for each attempt of an open loop.
    Schedule,
    /// One for each connection.
    Connections,
    /// One for each connection that speaks TLS.
    Tls,
}

macro_rules! distributions {
    ($($prefix:literal $of:ident $meaning:literal $histogram:expr, $summary:expr;)*) => {
        &[$(Distribution {
            prefix: $prefix,
            of: Of::$of,
            meaning: $meaning,
            histogram: $histogram,
            summary: $summary,
        }),*]
    };
}

pub(crate) const DISTRIBUTIONS: &[Distribution] = distributions! {
    "latency" Attempts "intended start to the last byte, of complete responses" |t| t.latency.clone(), |r| &r.latency_ms;
    "latency_all" Attempts "the same with failed attempts, timeouts at their limit" Tally::latency_all, |r| &r.latency_all_ms;
    "service" Attempts "request sent to the last byte" |t| t.service.clone(), |r| &r.service_ms;
    "ttfb" Attempts "request sent to the first byte" |t| t.ttfb.clone(), |r| &r.ttfb_ms;
    "connect" Connections "TCP connect" |t| t.connect.clone(), |r| &r.connect_ms;
    "tls" Tls "TLS handshake" |t| t.tls.clone(), |r| &r.tls_ms;
    "lateness" Schedule "open loop: intended start to request sent" |t| t.lateness.clone(), |r| &r.lateness_ms;
    "dispatch" Schedule "open loop: the generator's own part of lateness" |t| t.dispatch.clone(), |r| &r.dispatch_ms;
};

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    Min,
    Mean,
    Stddev,
    Max,
    Percentile(f64),
}

impl Statistic {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "min" => Self::Min,
            "mean" => Self::Mean,
            "stddev" => Self::Stddev,
            "max" => Self::Max,
            other => Self::Percentile(percent(other.strip_prefix('p')?)?),
        })
    }

    /// The words for it in a sentence.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Min => "min".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Stddev => "stddev".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Percentile(p) => format!("p{p}"),
        }
    }

    /// How many samples it takes.
    pub(crate) fn min_samples(self) -> u64 {
        match self {
            Self::Min | Self::Mean | Self::Max => 1,
            Self::Stddev => 2,
            // A share such as 100 - 99.9 comes out a hair too small.
            Self::Percentile(p) => (BEYOND * 100.0 / p.min(100.0 - p) * (1.0 - 1e-9)).ceil() as u64,
        }
    }

    /// In milliseconds.
    pub(crate) fn of(self, histogram: &Histogram) -> Reading {
        if let Some(too_few) = self.too_few(histogram.len()) {
            return Reading::NoData(too_few);
        }
        let micros = match self {
            Self::Min => histogram.min_us().map(|us| us as f64),
            Self::Mean => histogram.mean_us(),
            Self::Stddev => histogram.stddev_us(),
            Self::Max => histogram.max_us().map(|us| us as f64),
            Self::Percentile(p) => histogram.percentile_us(p).map(|us| us as f64),
        };
        micros.map_or_else(Reading::nothing, |us| Reading::Value(us / 1000.0))
    }

    /// What a summary shows of it, in milliseconds.
    pub(crate) fn of_summary(self, summary: &LatencySummary) -> Option<f64> {
        match self {
            Self::Min => summary.min,
            Self::Mean => summary.mean,
            Self::Stddev => summary.stddev,
            Self::Max => summary.max,
            Self::Percentile(p) => {
                shown(summary).into_iter().find(|(q, _)| *q == p).and_then(|(_, ms)| ms)
            }
        }
    }

    /// True when a summary has a place for it.
    pub(crate) fn is_in_summaries(self) -> bool {
        match self {
            Self::Percentile(p) => shown(&LatencySummary::default()).iter().any(|(q, _)| *q == p),
            _ => true,
        }
    }

    /// Why so many samples do not support it, if they do not.
    pub(crate) fn too_few(self, samples: u64) -> Option<String> {
        let needed = self.min_samples();
        (samples < needed).then(|| match samples {
            0 => "there is no sample".to_owned(),
            _ => format!(
                "{} needs {} samples, there {} {}",
                self.name(),
                grouped(needed),
                if samples == 1 { "is" } else { "are" },
                grouped(samples)
            ),
        })
    }
}

/// The percentiles that a summary shows.
fn shown(summary: &LatencySummary) -> [(f64, Option<f64>); 9] {
    [
        (50.0, summary.p50),
        (66.0, summary.p66),
        (75.0, summary.p75),
        (80.0, summary.p80),
        (90.0, summary.p90),
        (95.0, summary.p95),
        (98.0, summary.p98),
        (99.0, summary.p99),
        (99.9, summary.p99_9),
    ]
}

/// `99`, `99.9` and the JSON key form `99_9`.
fn percent(text: &str) -> Option<f64> {
    let digits = text.replacen('_', ".", 1);
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = plain.then(|| digits.parse().ok())??;
    (value > 0.0 && value < 100.0).then_some(value)
}

/// A count with its thousands grouped.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Statistic;
    use crate::Histogram;
    use crate::metrics::Reading;

    #[test]
    fn a_percentile_needs_ten_samples_on_either_side() {
        for (percentile, needed) in
            [(50.0, 20), (90.0, 100), (99.0, 1000), (99.9, 10_000), (99.95, 20_000), (1.0, 1000)]
        {
            assert_eq!(Statistic::Percentile(percentile).min_samples(), needed, "p{percentile}");
        }
        let mut histogram = Histogram::new();
        (0..999).for_each(|v| histogram.record_us(v));
        let p99 = |histogram: &Histogram| Statistic::Percentile(99.0).of(histogram);
        let Reading::NoData(why) = p99(&histogram) else { panic!("999 samples are too few") };
        assert_eq!(why, "p99 needs 1,000 samples, there are 999");
        histogram.record_us(999);
        assert!(matches!(p99(&histogram), Reading::Value(v) if v == 0.989));
    }

    #[test]
    fn a_deviation_needs_two_samples_and_an_extreme_one() {
        let mut histogram = Histogram::new();
        assert!(matches!(Statistic::Max.of(&histogram), Reading::NoData(_)));
        histogram.record_us(5000);
        assert!(matches!(Statistic::Max.of(&histogram), Reading::Value(v) if v == 5.0));
        assert!(matches!(Statistic::Stddev.of(&histogram), Reading::NoData(_)));
    }
}
