//! What Prometheus reads: the service itself, and the latest result of every
//! project and scenario. Base units; no label that grows with the runs.

use benchd_model::{Job, RunResult};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

type FloatGauge = Gauge<f64, AtomicU64>;

/// Upper bounds of answer times; long polls take up to 50 s.
const SECONDS: [f64; 9] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0, 60.0];

/// A request as it is counted.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ScenarioLabels {
    project: String,
    scenario: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QuantileLabels {
    project: String,
    scenario: String,
    quantile: &'static str,
}

/// What is counted as requests come.
#[derive(Debug)]
pub(crate) struct HttpMetrics {
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
        }
    }
}

impl HttpMetrics {
    /// Counts one answered request. `route` is the route's pattern, never the
    /// path, and `method` one of the known ones.
    pub(crate) fn count(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let route = route.to_owned();
        self.requests.get_or_create(&RequestLabels { method, route: route.clone(), status }).inc();
        self.seconds.get_or_create(&RouteLabels { route }).observe(took.as_secs_f64());
    }
}

/// Everything as OpenMetrics text. `counts` are jobs by state, `latest` the
/// newest completed result of every project and scenario.
pub(crate) fn exposition(
    http: &HttpMetrics,
    counts: &BTreeMap<&'static str, u64>,
    latest: &[Latest],
) -> String {
    let mut registry = Registry::with_prefix("benchd");
    let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("build", "The running benchd", build);
    registry.register("http_requests", "Requests answered", http.requests.clone());
    registry.register_with_unit(
        "http_request_duration",
        "Time to answer a request, long polls included",
        Unit::Seconds,
        http.seconds.clone(),
    );
    register_jobs(&mut registry, counts);
    register_latest(&mut registry, latest);
    let mut text = String::new();
    encode(&mut text, &registry).expect("writing to a string does not fail");
    text
}

fn register_jobs(registry: &mut Registry, counts: &BTreeMap<&'static str, u64>) {
    let jobs = Family::<StateLabels, Gauge>::default();
    for (state, count) in counts {
        let labels = StateLabels { state };
        jobs.get_or_create(&labels).set(i64::try_from(*count).unwrap_or(i64::MAX));
    }
    registry.register("jobs", "Jobs by state", jobs);
}

/// What is told of the latest run of a scenario.
pub(crate) struct Latest {
    labels: ScenarioLabels,
    rps: f64,
    goodput_rps: f64,
    error_ratio: Option<f64>,
    finished_s: Option<f64>,
    /// Quantile and milliseconds.
    latency: [(&'static str, Option<f64>); 5],
}

impl Latest {
    pub(crate) fn of(job: &Job, result: &RunResult) -> Self {
        let (project, scenario) = (job.spec.project.clone(), job.spec.scenario.clone());
        let ms = &result.latency_ms;
        Self {
            labels: ScenarioLabels { project, scenario },
            rps: result.rps,
            goodput_rps: result.goodput_rps,
            error_ratio: result.error_ratio,
            finished_s: job.finished_at.map(|finished| finished.as_micros() as f64 / 1e6),
            latency: [
                ("0.5", ms.p50),
                ("0.9", ms.p90),
                ("0.99", ms.p99),
                ("0.999", ms.p99_9),
                ("1", ms.max),
            ],
        }
    }
}

fn register_latest(registry: &mut Registry, latest: &[Latest]) {
    let latency = Family::<QuantileLabels, FloatGauge>::default();
    let requests = Family::<ScenarioLabels, FloatGauge>::default();
    let goodput = Family::<ScenarioLabels, FloatGauge>::default();
    let errors = Family::<ScenarioLabels, FloatGauge>::default();
    let completed = Family::<ScenarioLabels, FloatGauge>::default();
    for run in latest {
        let labels = &run.labels;
        requests.get_or_create(labels).set(run.rps);
        goodput.get_or_create(labels).set(run.goodput_rps);
        if let Some(ratio) = run.error_ratio {
            errors.get_or_create(labels).set(ratio);
        }
        if let Some(finished) = run.finished_s {
            completed.get_or_create(labels).set(finished);
        }
        for (quantile, value) in run.latency {
            let Some(value) = value else { continue };
            let ScenarioLabels { project, scenario } = labels.clone();
            let labels = QuantileLabels { project, scenario, quantile };
            latency.get_or_create(&labels).set(value / 1000.0);
        }
    }
    registry.register_with_unit("latency", "Latency of the latest run", Unit::Seconds, latency);
    registry.register(
        "requests_per_second",
        "Complete responses per second in the latest run",
        requests,
    );
    registry.register(
        "goodput_per_second",
        "Complete responses with an expected status per second in the latest run",
        goodput,
    );
    registry.register(
        "error_ratio",
        "Share of attempts without an expected answer in the latest run",
        errors,
    );
    registry.register_with_unit(
        "run_completed_timestamp",
        "When the latest run ended, since the Unix epoch",
        Unit::Seconds,
        completed,
    );
}
