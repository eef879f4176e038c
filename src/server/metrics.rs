//! What Prometheus reads: the service itself, and the latest result of every
//! project and scenario. Base units; no label that grows with the runs.

use benchd_report::openmetrics::{Run, Runs};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::time::Duration;

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
    latest: Vec<Run>,
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
    registry.register_collector(Box::new(Runs(latest)));
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
