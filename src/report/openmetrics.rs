//! Results as OpenMetrics text: the metrics report of a pipeline, and the part
//! of `/metrics` that tells the latest run of each scenario. Gauges in base
//! units; no label grows with the runs.

use crate::Report;
use benchd_model::{Job, Outcome, RunResult};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// The media type of OpenMetrics text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is told of a run.
#[derive(Clone, Debug)]
pub struct Run {
    project: String,
    scenario: String,
    duration_s: f64,
    rps: f64,
    goodput_rps: f64,
    error_ratio: Option<f64>,
    /// Quantile and seconds.
    latency: [(&'static str, Option<f64>); 6],
    outcomes: [(&'static str, u64); Outcome::ALL.len()],
    finished_s: Option<f64>,
}

impl Run {
    /// Reads it off a result.
    #[must_use]
    pub fn of(job: &Job, result: &RunResult) -> Self {
        let ms = &result.latency_ms;
        let latency = [
            ("0.5", ms.p50),
            ("0.9", ms.p90),
            ("0.95", ms.p95),
            ("0.99", ms.p99),
            ("0.999", ms.p99_9),
            ("1", ms.max),
        ];
        Self {
            project: job.spec.project.clone(),
            scenario: job.spec.scenario.clone(),
            duration_s: result.duration_s,
            rps: result.rps,
            goodput_rps: result.goodput_rps,
            error_ratio: result.error_ratio,
            latency: latency.map(|(quantile, ms)| (quantile, ms.map(seconds))),
            outcomes: Outcome::ALL.map(|outcome| (outcome.name(), result.counts.of(outcome))),
            finished_s: job.finished_at.map(|finished| finished.as_micros() as f64 / 1e6),
        }
    }

    /// One sample of the run, unless there is no figure.
    fn one(&self, value: Option<f64>) -> Vec<Sample<'_>> {
        let labels = vec![("project", &*self.project), ("scenario", &*self.scenario)];
        value.map(|value| Sample { labels, value }).into_iter().collect()
    }

    /// One sample for each value of a further label.
    fn each<'a>(
        &'a self,
        label: &'static str,
        values: impl Iterator<Item = (&'static str, Option<f64>)>,
    ) -> Vec<Sample<'a>> {
        let labelled = values.flat_map(|(name, value)| {
            let mut samples = self.one(value);
            samples.iter_mut().for_each(|sample| sample.labels.push((label, name)));
            samples
        });
        labelled.collect()
    }
}

struct Sample<'a> {
    labels: Vec<(&'static str, &'a str)>,
    value: f64,
}

/// Whole microseconds, so that no digits come from the division.
fn seconds(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1e6
}

/// Runs of different scenarios, in the order given. The registry it is put into
/// gives its metrics their prefix.
#[derive(Clone, Debug)]
pub struct Runs(pub Vec<Run>);

impl Collector for Runs {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, unit: Option<Unit>, help, read: &dyn Fn(&Run) -> Vec<Sample<'_>>| {
            let mut samples = self.0.iter().flat_map(read).peekable();
            if samples.peek().is_none() {
                return Ok(());
            }
            let mut family =
                encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
            samples.try_for_each(|Sample { labels, value }| {
                family.encode_family(&labels)?.encode_gauge(&value)
            })
        };
        gauge(
            "latency",
            Some(Unit::Seconds),
            "Latency of complete responses in the latest run",
            &|run| run.each("quantile", run.latency.into_iter()),
        )?;
        gauge(
            "requests_per_second",
            None,
            "Complete responses per second in the latest run",
            &|run| run.one(Some(run.rps)),
        )?;
        gauge(
            "goodput_per_second",
            None,
            "Complete responses with an expected status per second in the latest run",
            &|run| run.one(Some(run.goodput_rps)),
        )?;
        gauge(
            "error",
            Some(Unit::Other("ratio".to_owned())),
            "Share of attempts without an expected answer in the latest run",
            &|run| run.one(run.error_ratio),
        )?;
        gauge("requests", None, "Attempts of the latest run by what became of them", &|run| {
            run.each("outcome", run.outcomes.iter().map(|(name, n)| (*name, Some(*n as f64))))
        })?;
        gauge(
            "run_duration",
            Some(Unit::Seconds),
            "Length of the measuring window of the latest run",
            &|run| run.one(Some(run.duration_s)),
        )?;
        gauge(
            "run_completed_timestamp",
            Some(Unit::Seconds),
            "When the latest run ended, since the Unix epoch",
            &|run| run.one(run.finished_s),
        )
    }
}

/// Renders the report of one run.
pub(crate) fn render(report: &Report<'_>) -> String {
    let mut run = Run::of(report.job, report.result);
    // Every run has another time, and a report that is compared with an earlier
    // one shows only what says something.
    run.finished_s = None;
    // GitLab takes a number sign for the beginning of a comment, even inside a label.
    for label in [&mut run.project, &mut run.scenario] {
        *label = label.replace('#', "_");
    }
    let mut registry = Registry::with_prefix("benchd");
    registry.register_collector(Box::new(Runs(vec![run])));
    let mut text = String::new();
    encode(&mut text, &registry).expect("memory takes every write");
    text
}
