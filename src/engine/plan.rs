//! What goes in: a resolved, checked description of one trial. It knows the
//! job's words but no sockets.

mod error;

use crate::endpoint::Endpoint;
use crate::http1::is_token_byte;
use crate::tls::TlsOptions;
use benchd_model::JobSpec;
use benchd_model::spec::{Arrivals, LoadSpec, Protocol};
use std::net::IpAddr;
use std::time::Duration;
use url::Url;

pub use error::PlanError;

/// How long a run waits for requests in flight at its end, unless the time
/// limit of a request is shorter.
const LONGEST_GRACE: Duration = Duration::from_secs(3);

/// One trial, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where to connect, resolved once and pinned; connections take them in
    /// turns.
    pub endpoints: Vec<Endpoint>,
    /// Where TCP connections come from, in turns; the kernel's choice when empty.
    pub source_addresses: Vec<IpAddr>,
    /// Gives the Host field, the TLS server name and the request target. A
    /// fragment is never sent; credentials become Basic authorization.
    pub url: Url,
    /// The request sent over and over.
    pub request: RequestPlan,
    /// The version in the request line.
    pub protocol: Protocol,
    /// Connections, each with `streams` requests at a time.
    pub connections: u32,
    /// Requests in flight on each connection; more than one takes HTTP/2.
    pub streams: u32,
    /// How many requests, exactly. With `duration`, whichever comes first.
    pub requests: Option<u64>,
    /// How long the measuring window is.
    pub duration: Option<Duration>,
    /// Requests start at this rate, whatever the answers do. Without one, each
    /// connection sends its next request when it has its answer.
    pub rate: Option<Rate>,
    /// Keep connections open between requests.
    pub keepalive: bool,
    /// Load before the window that enters no figure but the warm-up's own.
    pub warmup: Duration,
    /// Time limit of one request, connecting included; at a rate it counts from
    /// the intended start.
    pub timeout: Duration,
    /// How long requests in flight are awaited when the window is over.
    pub grace: Duration,
    /// Generator threads; never more than connections.
    pub threads: u32,
    /// Open the connections before the window (with keep-alive only).
    pub preconnect: bool,
    /// Statuses that count as good (`"2xx"`, `"304"`).
    pub expect_status: Vec<String>,
    /// How to speak TLS, for https.
    pub tls: TlsOptions,
    /// How many raw rows to keep for exact figures; 0 for none.
    pub keep_rows: usize,
    /// What moves the bytes.
    pub driver: DriverChoice,
}

/// The rate of an open loop: one schedule over all connections and threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests per second.
    pub per_second: f64,
    /// How the intended starts lie in time.
    pub arrivals: Arrivals,
    /// How many requests may wait for a free connection; further ones are
    /// dropped.
    pub max_queued: u64,
    /// Where a Poisson process starts from: the same seed, the same starts.
    pub seed: u64,
}

/// However long requests may take, no more of them wait unless asked for.
const MOST_QUEUED_UNASKED: f64 = 1e6;

/// Every trial and job has the same Poisson arrivals, so that two of them differ
/// by what was measured and not by the dice.
const SEED: u64 = 1;

impl Rate {
    /// The rate that `load` asks for, if it does. As many requests wait as come
    /// due within their time limit, unless it says otherwise.
    fn of(load: &LoadSpec) -> Option<Self> {
        let per_second = load.rate?;
        let within_timeout = (per_second * load.timeout.duration().as_secs_f64()).ceil();
        let max_queued = load.max_queued.unwrap_or(within_timeout.min(MOST_QUEUED_UNASKED) as u64);
        Some(Self {
            per_second,
            arrivals: load.arrivals.unwrap_or_default(),
            max_queued,
            seed: SEED,
        })
    }
}

/// What moves the bytes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverChoice {
    /// io_uring for HTTP/1 where the kernel grants it, else tokio.
    #[default]
    Auto,
    /// The portable driver; it also carries HTTP/2.
    Tokio,
    /// io_uring, or no run.
    Uring,
}

/// The environment variable that chooses the driver: `auto`, `tokio` or
/// `io_uring`.
pub const DRIVER_VARIABLE: &str = "BENCHD_DRIVER";

impl DriverChoice {
    /// What [`DRIVER_VARIABLE`] says; [`Self::Auto`] when it is not set.
    pub fn from_environment() -> Result<Self, PlanError> {
        let Some(word) = std::env::var_os(DRIVER_VARIABLE) else { return Ok(Self::Auto) };
        let word = word.to_string_lossy();
        Self::from_word(&word).ok_or_else(|| PlanError::Driver(word.into_owned()))
    }

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "" | "auto" => Some(Self::Auto),
            "tokio" => Some(Self::Tokio),
            "io_uring" => Some(Self::Uring),
            _ => None,
        }
    }
}

/// The request sent over and over.
#[derive(Clone, Debug, Default)]
pub struct RequestPlan {
    /// The method, sent as it is.
    pub method: String,
    /// Header fields in order, as given by the user.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// The request target verbatim instead of the URL's path and query.
    pub target: Option<String>,
    /// What is added to the user's fields.
    pub defaults: HeaderDefaults,
}

/// Which fields are added to the user's, and in which layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HeaderDefaults {
    /// `Host`, `User-Agent: benchd/VERSION` and `Accept: */*` unless given,
    /// then what authorization, persistence and the body need.
    #[default]
    Benchd,
    /// Byte for byte the request of ab 2.4: the version is always HTTP/1.0.
    Ab {
        /// Whole fields that ab writes before the body's and the user's:
        /// cookie, then authorization.
        before: Vec<(String, String)>,
        /// The type of the body; `text/plain` when not given.
        content_type: Option<String>,
    },
}

impl Plan {
    /// The plan of one trial of `spec`, connecting to `endpoints`.
    pub fn from_spec(spec: &JobSpec, endpoints: Vec<Endpoint>) -> Result<Self, PlanError> {
        let url = Url::parse(&spec.target.url).map_err(|_| PlanError::Url)?;
        let load = &spec.load;
        let timeout = load.timeout.duration();
        let headers = spec.request.headers.iter();
        let plan = Self {
            endpoints,
            source_addresses: load.source_addresses.clone(),
            url,
            request: RequestPlan {
                method: spec.request.method.clone(),
                headers: headers.map(|(name, value)| (name.clone(), value.clone())).collect(),
                body: spec.request.body_bytes(),
                target: None,
                defaults: HeaderDefaults::Benchd,
            },
            protocol: load.protocol,
            connections: load.connections,
            streams: load.streams,
            requests: load.requests,
            duration: load.duration.map(|d| d.duration()),
            rate: Rate::of(load),
            keepalive: load.keepalive,
            warmup: load.warmup.duration(),
            timeout,
            grace: timeout.min(LONGEST_GRACE),
            threads: load.threads,
            preconnect: true,
            expect_status: spec.request.expect_status.clone(),
            tls: TlsOptions::from(&spec.target),
            keep_rows: 0,
            driver: DriverChoice::from_environment()?,
        };
        plan.check()?;
        Ok(plan)
    }

    /// True for https.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Endpoints and sources are of one family, and paths fit into an address.
    fn check_endpoints(&self) -> Result<(), PlanError> {
        let first = self.endpoints.first().ok_or(PlanError::NoAddress)?;
        if let Some(long) = self.endpoints.iter().find(|endpoint| endpoint.as_any().is_err()) {
            return Err(PlanError::LongPath(long.to_string()));
        }
        for source in &self.source_addresses {
            let fits = |endpoint: &Endpoint| match endpoint {
                Endpoint::Tcp(address) => address.is_ipv4() == source.is_ipv4(),
                Endpoint::Unix(_) => false,
            };
            if !self.endpoints.iter().all(fits) {
                return Err(PlanError::Source(*source, first.clone()));
            }
        }
        Ok(())
    }

    /// True for HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.protocol == Protocol::H2
    }

    /// Says what stands in the way of running this plan.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if !matches!(self.url.scheme(), "http" | "https") || self.url.host_str().is_none() {
            return Err(PlanError::Url);
        }
        self.check_endpoints()?;
        if self.connections == 0 || self.threads == 0 || self.streams == 0 {
            return Err(PlanError::NoConnections);
        }
        if self.streams > 1 && !self.is_http2() {
            return Err(PlanError::Streams);
        }
        if self.is_http2() && !self.keepalive {
            return Err(PlanError::NotKept);
        }
        if self.requests.is_none() && self.duration.is_none() {
            return Err(PlanError::Endless);
        }
        // Beyond one a nanosecond the clock cannot tell them apart.
        let senseless = |rate: &f64| !(*rate > 0.0 && *rate <= 1e9);
        if let Some(rate) = self.rate.map(|rate| rate.per_second).filter(senseless) {
            return Err(PlanError::Rate(rate));
        }
        if self.timeout.is_zero() {
            return Err(PlanError::NoTime);
        }
        let request = &self.request;
        // The answer to CONNECT is a tunnel, not a response to measure.
        if !is_token(&request.method) || request.method == "CONNECT" {
            return Err(PlanError::Method(request.method.clone()));
        }
        let unsendable = |byte: u8| byte <= b' ' || byte == 0x7f;
        if let Some(target) = request.target.as_ref().filter(|t| t.bytes().any(unsendable)) {
            return Err(PlanError::Target(target.clone()));
        }
        let before = match &request.defaults {
            HeaderDefaults::Benchd => &[][..],
            HeaderDefaults::Ab { before, .. } => before,
        };
        for (name, value) in request.headers.iter().chain(before) {
            if !is_token(name) {
                return Err(PlanError::HeaderName(name.clone()));
            }
            if value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
                return Err(PlanError::HeaderValue(name.clone()));
            }
        }
        Ok(())
    }
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Plan, PlanError, Rate};
    use benchd_model::JobSpec;
    use benchd_model::spec::Arrivals;
    use serde_json::json;

    fn plan(document: &serde_json::Value) -> Result<Plan, PlanError> {
        let spec = JobSpec::parse(document, &|_| None).expect("a valid job");
        Plan::from_spec(&spec, vec![Endpoint::Tcp("127.0.0.1:80".parse().unwrap())])
    }

    #[test]
    fn a_job_becomes_a_plan() {
        let plan = plan(&json!({
            "target": {"url": "http://127.0.0.1:8088/a?b#c"},
            "request": {"method": "POST", "body": "x", "headers": {"A": "b"}},
            "load": {"connections": 7, "requests": 9, "timeout": "500ms", "warmup": "1s"},
        }))
        .unwrap();
        assert_eq!((plan.connections, plan.requests, plan.duration), (7, Some(9), None));
        assert_eq!(plan.grace, plan.timeout);
        assert_eq!(plan.request.body, b"x");
        assert!(plan.preconnect && plan.keepalive && !plan.is_tls());
        assert_eq!(plan.rate, None);
    }

    #[test]
    fn as_many_requests_wait_as_come_due_within_their_time_limit() {
        let rate = |load: serde_json::Value| {
            plan(&json!({"target": {"url": "http://127.0.0.1/"}, "load": load}))
                .unwrap()
                .rate
                .unwrap()
        };
        let stalled = rate(json!({"rate": 1000}));
        assert_eq!((stalled.max_queued, stalled.arrivals), (30_000, Arrivals::Constant));
        assert_eq!(rate(json!({"rate": 0.5, "timeout": "1s"})).max_queued, 1);
        assert_eq!(rate(json!({"rate": 1e6, "timeout": "1h"})).max_queued, 1_000_000);
        let asked = rate(json!({"rate": 9, "max_queued": 0, "arrivals": "poisson"}));
        assert_eq!((asked.max_queued, asked.arrivals), (0, Arrivals::Poisson));
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let good = plan(&json!({"target": {"url": "http://127.0.0.1/"}})).unwrap();
        let refused = |change: &dyn Fn(&mut Plan)| {
            let mut plan = good.clone();
            change(&mut plan);
            plan.check().unwrap_err()
        };
        assert_eq!(refused(&|p| p.endpoints.clear()), PlanError::NoAddress);
        let long = Endpoint::Unix("/a".repeat(54).into());
        assert!(matches!(refused(&|p| p.endpoints = vec![long.clone()]), PlanError::LongPath(_)));
        let source = |p: &mut Plan| p.source_addresses = vec!["::1".parse().unwrap()];
        assert!(matches!(refused(&source), PlanError::Source(..)));
        let unix = |p: &mut Plan| {
            p.endpoints = vec![Endpoint::Unix("/run/x.sock".into())];
            source(p);
        };
        assert!(matches!(refused(&unix), PlanError::Source(..)));
        assert_eq!(refused(&|p| p.connections = 0), PlanError::NoConnections);
        assert_eq!(refused(&|p| p.duration = None), PlanError::Endless);
        for per_second in [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY] {
            let rate = Rate { per_second, arrivals: Arrivals::Constant, max_queued: 0, seed: 0 };
            assert!(matches!(refused(&|p| p.rate = Some(rate)), PlanError::Rate(_)));
        }
        assert!(matches!(refused(&|p| p.request.method = "G T".into()), PlanError::Method(_)));
        assert!(matches!(refused(&|p| p.request.method = "CONNECT".into()), PlanError::Method(_)));
        assert!(matches!(
            refused(&|p| p.request.target = Some("/a b".into())),
            PlanError::Target(_)
        ));
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert!(matches!(
            refused(&|p| p.request.headers.push(field("A:", "b"))),
            PlanError::HeaderName(_)
        ));
        assert!(matches!(
            refused(&|p| p.request.headers.push(field("A", "b\r\nC: d"))),
            PlanError::HeaderValue(_)
        ));
    }
}
