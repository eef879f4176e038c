//! The metric catalogue: what criteria may speak of, and how each is read off
//! a result. A name that is not here is refused when a job is posted.

use crate::histogram::LatencySummary;
use crate::result::RunResult;
use crate::{Histogram, KernelCounts, Tally};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
    /// It describes; neither is better.
    Neither,
}

/// A metric of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Metric {
    /// Its name in criteria. `pN` stands for any percentile: `p50`, `p99`, `p99.9`.
    #[schema(example = "latency_p99_ms")]
    pub name: String,
    /// Its unit.
    #[schema(example = "ms")]
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// What it means.
    pub meaning: String,
}

/// What a metric is read from.
pub(crate) struct Figures<'a> {
    pub(crate) result: &'a RunResult,
    pub(crate) tally: &'a Tally,
}

/// A figure, or why there is none.
pub(crate) enum Reading {
    Value(f64),
    /// Nothing, or too little, was measured.
    NoData,
}

/// A metric that is one figure of the result.
struct Scalar {
    name: &'static str,
    unit: &'static str,
    better: Better,
    meaning: &'static str,
    read: fn(&RunResult) -> Option<f64>,
}

/// Metrics that are figures of one histogram: `PREFIX_p99_ms` and its kin.
struct Distribution {
    prefix: &'static str,
    meaning: &'static str,
    histogram: fn(&Tally) -> Histogram,
}

macro_rules! scalars {
    ($($name:literal $unit:literal $better:ident $meaning:literal $read:expr;)*) => {
        &[$(Scalar { name: $name, unit: $unit, better: Better::$better, meaning: $meaning, read: $read }),*]
    };
}

const SCALARS: &[Scalar] = scalars! {
    "rps" "1/s" Higher "complete responses per second" |r| measured(r, r.rps);
    "goodput_rps" "1/s" Higher "complete responses with an expected status, per second" |r| measured(r, r.goodput_rps);
    "error_ratio" "ratio" Lower "share of attempts without an expected answer, aborted ones left out" |r| r.error_ratio;
    "non_2xx_ratio" "ratio" Lower "share of complete responses whose status is not 2xx" |r| r.non_2xx_ratio;
    "rate_achieved_ratio" "ratio" Higher "open loop: share of the requests that came due which were begun while the schedule lasted" |r| r.rate_achieved_ratio;
    "issued" "requests" Neither "attempts made" |r| Some(r.counts.issued as f64);
    "ok" "requests" Higher "complete responses, whatever their status" |r| Some(r.counts.ok as f64);
    "failures" "requests" Lower "failed attempts of every class" |r| Some(r.counts.failures() as f64);
    "timeouts" "requests" Lower "attempts past their time limit" |r| Some(r.counts.timeout as f64);
    "dropped" "requests" Lower "open loop: requests that came due and were never sent, for want of a free connection" |r| Some(r.counts.dropped as f64);
    "aborted" "requests" Neither "attempts in flight when the run ended" |r| Some(r.counts.aborted as f64);
    "duration_s" "s" Neither "length of the measuring window over all trials" |r| Some(r.duration_s);
    "received_bytes" "bytes" Neither "bytes received, heads included" |r| Some(r.bytes.received as f64);
    "connections_achieved" "connections" Higher "connections open at the same time, at most" |r| Some(f64::from(r.load.connections_achieved));
    "connections_opened" "connections" Neither "TCP connections opened" |r| Some(r.connections.opened as f64);
    "generator_cpu_ratio" "ratio" Lower "CPU time of the generator's threads per thread and second" |r| r.validity.generator_cpu_ratio;
    "generator_wait_ratio" "ratio" Lower "time the generator's threads waited for a processor, per thread and second" |r| r.validity.generator_wait_ratio;
    "generator_busy_ratio" "ratio" Lower "share of the time in which the busiest generator thread worked or waited for a processor" |r| r.validity.generator_busy_ratio;
    "connections_idle_ratio" "ratio" Lower "share of the connections' time in which no request was in flight" |r| r.validity.connections_idle_ratio;
    "tcp_retransmits" "segments" Lower "TCP segments that the generator's host sent again, SYNs included" |r| kernel(r, |k| k.tcp_retransmits);
    "tcp_syn_retransmits" "segments" Lower "SYNs that the generator's host sent again" |r| kernel(r, |k| k.tcp_syn_retransmits);
    "listen_overflows" "connections" Lower "connections that found an accept queue of this host full; no data when the target is elsewhere" |r| kernel(r, |k| k.listen_overflows);
    "nginx_accepts" "connections" Neither "connections nginx accepted, the poller's left out" |r| stub(r, |s| s.accepts);
    "nginx_handled" "connections" Neither "connections nginx found a slot for" |r| stub(r, |s| s.handled);
    "nginx_requests" "requests" Neither "requests nginx counted, our polls left out" |r| stub(r, |s| s.requests);
    "nginx_dropped" "connections" Lower "connections nginx accepted and dropped for want of a slot" |r| stub(r, |s| s.dropped);
    "nginx_active_max" "connections" Neither "most open connections seen on the status page" |r| stub(r, |s| s.active_max);
    "nginx_polls_failed" "polls" Lower "polls of the status page that brought no page" |r| stub(r, |s| Some(s.polls_failed));
    "nginx_foreign_requests" "requests" Lower "requests nginx counted that this job did not send" |r| stub(r, |s| s.foreign_requests);
};

macro_rules! distributions {
    ($($prefix:literal $meaning:literal $histogram:expr;)*) => {
        &[$(Distribution { prefix: $prefix, meaning: $meaning, histogram: $histogram }),*]
    };
}

const DISTRIBUTIONS: &[Distribution] = distributions! {
    "latency" "intended start to the last byte, of complete responses" |t| t.latency.clone();
    "latency_all" "the same with failed attempts, timeouts at their limit" Tally::latency_all;
    "service" "request sent to the last byte" |t| t.service.clone();
    "ttfb" "request sent to the first byte" |t| t.ttfb.clone();
    "connect" "TCP connect" |t| t.connect.clone();
    "tls" "TLS handshake" |t| t.tls.clone();
    "lateness" "open loop: intended start to request sent" |t| t.lateness.clone();
    "dispatch" "open loop: the generator's own part of lateness" |t| t.dispatch.clone();
};

/// Every metric that criteria may name.
#[must_use]
pub fn catalogue() -> Vec<Metric> {
    let scalars = SCALARS.iter().map(|scalar| Metric {
        name: scalar.name.to_owned(),
        unit: scalar.unit.to_owned(),
        better: scalar.better,
        meaning: scalar.meaning.to_owned(),
    });
    let distributions = DISTRIBUTIONS.iter().flat_map(|distribution| {
        ["min", "mean", "stddev", "pN", "max"].into_iter().map(move |statistic| Metric {
            name: format!("{}_{statistic}_ms", distribution.prefix),
            unit: "ms".to_owned(),
            better: Better::Lower,
            meaning: format!("{statistic} of: {}", distribution.meaning),
        })
    });
    scalars.chain(distributions).collect()
}

/// The metric of this name, any percentile included.
///
/// # Errors
/// A sentence that names the nearest known one.
pub fn metric(name: &str) -> Result<Metric, String> {
    if let Some(Scalar { unit, better, meaning, .. }) = scalar(name) {
        let (name, unit, meaning) = (name.to_owned(), (*unit).to_owned(), (*meaning).to_owned());
        return Ok(Metric { name, unit, better: *better, meaning });
    }
    if let Some((Distribution { meaning, .. }, _)) = distribution(name) {
        let (name, unit, better) = (name.to_owned(), "ms".to_owned(), Better::Lower);
        return Ok(Metric { name, unit, better, meaning: (*meaning).to_owned() });
    }
    let hint = nearest(name).map_or_else(
        || "GET /metrics-catalogue and `benchd metrics` list the known ones".to_owned(),
        |near| format!("did you mean {near:?}?"),
    );
    Err(format!("unknown metric {name:?}; {hint}"))
}

/// The share of requests below a percentile of this name, 0 to 1; `None` for
/// every other metric.
pub(crate) fn quantile(name: &str) -> Option<f64> {
    match distribution(name)?.1 {
        Statistic::Percentile(p) => Some(p / 100.0),
        _ => None,
    }
}

/// True when criteria may name it.
#[must_use]
pub fn is_known(name: &str) -> bool {
    scalar(name).is_some() || distribution(name).is_some()
}

/// True when the metric is a share from 0 to 1, so that percent makes sense.
#[must_use]
pub fn is_ratio(name: &str) -> bool {
    scalar(name).is_some_and(|scalar| scalar.unit == "ratio")
}

/// The known name that is most like `name`.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    const CONCRETE: [&str; 8] = ["min", "mean", "stddev", "p50", "p90", "p95", "p99", "max"];
    let concrete = DISTRIBUTIONS
        .iter()
        .flat_map(|d| CONCRETE.iter().map(move |s| format!("{}_{s}_ms", d.prefix)));
    SCALARS
        .iter()
        .map(|scalar| scalar.name.to_owned())
        .chain(concrete)
        .map(|known| (strsim::damerau_levenshtein(name, &known), known))
        .filter(|(distance, known)| *distance <= known.len() / 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Reads a metric off the figures; `None` when its name is unknown.
pub(crate) fn read(name: &str, figures: &Figures<'_>) -> Option<Reading> {
    let figure = match scalar(name) {
        Some(scalar) => (scalar.read)(figures.result),
        None => {
            let (distribution, statistic) = distribution(name)?;
            statistic.of(&(distribution.histogram)(figures.tally))
        }
    };
    Some(figure.map_or(Reading::NoData, Reading::Value))
}

/// Reads a metric off a stored result: every scalar, and of the distributions
/// what the result document shows. `None` where it has no such figure.
#[must_use]
pub fn of_result(name: &str, result: &RunResult) -> Option<f64> {
    if let Some(scalar) = scalar(name) {
        return (scalar.read)(result);
    }
    let (distribution, statistic) = distribution(name)?;
    let summary = match distribution.prefix {
        "latency" => &result.latency_ms,
        "latency_all" => &result.latency_all_ms,
        "service" => &result.service_ms,
        "ttfb" => &result.ttfb_ms,
        "connect" => &result.connect_ms,
        "tls" => &result.tls_ms,
        "lateness" => &result.lateness_ms,
        "dispatch" => &result.dispatch_ms,
        _ => return None,
    };
    statistic.of_summary(summary)
}

/// A figure of a distribution.
#[derive(Clone, Copy)]
enum Statistic {
    Min,
    Mean,
    Stddev,
    Max,
    Percentile(f64),
}

impl Statistic {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "min" => Self::Min,
            "mean" => Self::Mean,
            "stddev" => Self::Stddev,
            "max" => Self::Max,
            other => Self::Percentile(percent(other.strip_prefix('p')?)?),
        })
    }

    /// What a summary shows of it, in milliseconds.
    fn of_summary(self, summary: &LatencySummary) -> Option<f64> {
        let shown = [
            (50.0, summary.p50),
            (66.0, summary.p66),
            (75.0, summary.p75),
            (80.0, summary.p80),
            (90.0, summary.p90),
            (95.0, summary.p95),
            (98.0, summary.p98),
            (99.0, summary.p99),
            (99.9, summary.p99_9),
        ];
        match self {
            Self::Min => summary.min,
            Self::Mean => summary.mean,
            Self::Stddev => summary.stddev,
            Self::Max => summary.max,
            Self::Percentile(p) => shown.iter().find(|(q, _)| *q == p).and_then(|(_, ms)| *ms),
        }
    }

    /// In milliseconds; `None` without samples, or when fewer than one sample
    /// lies beyond the percentile, so that it would only repeat the maximum.
    fn of(self, histogram: &Histogram) -> Option<f64> {
        let micros = match self {
            Self::Min => histogram.min_us()? as f64,
            Self::Mean => histogram.mean_us()?,
            Self::Stddev => histogram.stddev_us()?,
            Self::Max => histogram.max_us()? as f64,
            Self::Percentile(p) => {
                let beyond = histogram.len() as f64 * (100.0 - p) / 100.0;
                (beyond >= 1.0 - 1e-9).then_some(histogram.percentile_us(p)? as f64)?
            }
        };
        Some(micros / 1000.0)
    }
}

/// `99`, `99.9` and the JSON key form `99_9`.
fn percent(text: &str) -> Option<f64> {
    let digits = text.replacen('_', ".", 1);
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = plain.then(|| digits.parse().ok())??;
    (value > 0.0 && value < 100.0).then_some(value)
}

fn scalar(name: &str) -> Option<&'static Scalar> {
    SCALARS.iter().find(|scalar| scalar.name == name)
}

fn distribution(name: &str) -> Option<(&'static Distribution, Statistic)> {
    DISTRIBUTIONS.iter().find_map(|distribution| {
        let rest = name.strip_prefix(distribution.prefix)?.strip_prefix('_')?;
        let statistic = Statistic::parse(rest.strip_suffix("_ms")?)?;
        Some((distribution, statistic))
    })
}

fn measured(result: &RunResult, figure: f64) -> Option<f64> {
    (result.counts.issued > result.counts.aborted && result.duration_s > 0.0).then_some(figure)
}

fn stub(
    result: &RunResult,
    figure: fn(&crate::result::StubStatusResult) -> Option<u64>,
) -> Option<f64> {
    result.server.stub_status.as_ref().and_then(figure).map(|count| count as f64)
}

fn kernel(result: &RunResult, figure: fn(&KernelCounts) -> Option<u64>) -> Option<f64> {
    result.kernel.as_ref().and_then(figure).map(|count| count as f64)
}

#[cfg(test)]
mod tests {
    use super::{Statistic, catalogue, is_known, is_ratio, nearest};
    use crate::Histogram;

    #[test]
    fn every_percentile_is_known_and_nonsense_is_not() {
        for name in [
            "latency_p99_ms",
            "latency_p99.9_ms",
            "latency_p99_9_ms",
            "ttfb_p50_ms",
            "connect_max_ms",
        ] {
            assert!(is_known(name), "{name}");
        }
        for name in [
            "latency",
            "latency_p100_ms",
            "latency_p0_ms",
            "latency_pxx_ms",
            "latency_p99",
            "p99",
            "",
        ] {
            assert!(!is_known(name), "{name}");
        }
        assert!(is_ratio("error_ratio") && !is_ratio("rps"));
    }

    #[test]
    fn every_catalogued_name_is_known() {
        for metric in catalogue() {
            assert!(is_known(&metric.name.replace("pN", "p99")), "{}", metric.name);
        }
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(nearest("latency_p99").as_deref(), Some("latency_p99_ms"));
        assert_eq!(nearest("eror_ratio").as_deref(), Some("error_ratio"));
        assert_eq!(nearest("zzzzzzzzzzzzzzzzzzzzzz"), None);
    }

    #[test]
    fn a_percentile_needs_a_sample_beyond_it() {
        let mut histogram = Histogram::new();
        (0..99).for_each(|v| histogram.record_us(v));
        assert!(Statistic::Percentile(99.0).of(&histogram).is_none());
        histogram.record_us(99);
        assert!(Statistic::Percentile(99.0).of(&histogram).is_some());
        assert!(Statistic::Percentile(99.9).of(&histogram).is_none());
    }
}
