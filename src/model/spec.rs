//! What a job asks for. [`JobSpec::parse`] is the one way in from outside: it
//! names everything that is wrong with a document, not just the first thing.

mod addresses;
mod baseline;
mod compare;
pub(crate) mod fields;
mod pace;
mod parse;
mod target;
mod tls;

use crate::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};
use utoipa::ToSchema;

pub use addresses::check_unix_socket;
pub use baseline::NewBaseline;
pub(crate) use compare::Question;
pub use compare::{BaselineSpec, CompareSpec};
pub use pace::{Arrivals, LoadModel};
pub use parse::{MAX_CONNECTIONS, MAX_STREAMS, MAX_THREADS, MAX_TRIALS};
pub use tls::{TlsSpec, TlsVersion, certificates};

/// The criterion that stands when a job states none about errors.
pub const DEFAULT_CRITERION: &str = "error_ratio < 0.01";

/// One thing wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer (RFC 6901) to the field.
    #[schema(example = "/load/connections")]
    pub pointer: String,
    /// What is wrong and what would be right.
    #[schema(example = "0 is too small: connections is a whole number from 1 to 100000")]
    pub detail: String,
}

impl fmt::Display for FieldError {
    /// The pointer and what is wrong there; the document itself has no pointer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return f.write_str(&self.detail);
        }
        write!(f, "{}: {}", self.pointer, self.detail)
    }
}

/// A request to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Which project the job belongs to.
    #[serde(default = "default_name")]
    #[schema(default = "default", example = "shop")]
    pub project: String,
    /// Which scenario of the project; the history of a scenario is comparable.
    #[serde(default = "default_name")]
    #[schema(default = "default", example = "home page")]
    pub scenario: String,
    /// The server under test; the name of a registered target is accepted, too.
    pub target: TargetSpec,
    /// The request that is sent over and over.
    #[serde(default)]
    pub request: RequestSpec,
    /// How requests are offered.
    #[serde(default)]
    pub load: LoadSpec,
    /// How often the whole measurement is made; not to be given beside `compare`,
    /// which makes two trials a block.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1, maximum = 100)]
    pub trials: u32,
    /// What the load is compared with, in the same job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    pub compare: Option<CompareSpec>,
    /// Conditions on metrics: `[warn:|abort:] METRIC OP NUMBER[unit] [for DURATION]`,
    /// such as `latency_p99_ms < 500`, with `<`, `<=`, `>`, `>=` or `==`, or
    /// `[warn:] METRIC within N% of baseline [NAME]`. Units: `us ms s` on times, `%` on
    /// ratios, `k M` on counts and rates, `B kB MB GB KiB MiB GiB` on bytes. With
    /// `for 10s` the condition must hold over every 10 whole seconds in a row, of each
    /// trial. `warn:` is told and changes no verdict; `abort:` ends the run when nothing
    /// that may follow could make the condition hold. `error_ratio < 0.01` stands beside
    /// them unless one limits `error_ratio` itself from above.
    #[serde(default)]
    #[schema(example = json!(["latency_p99_ms < 500", "error_ratio < 0.1%", "warn: rps > 15k for 10s", "rps within 5% of baseline"]))]
    pub criteria: Vec<String>,
    /// What the gate answers when no criterion can be decided.
    #[serde(default)]
    pub on_inconclusive: OnInconclusive,
    /// Free labels to find the job by.
    #[serde(default)]
    #[schema(example = json!({"branch": "main", "commit": "4f2c9e1"}))]
    pub labels: BTreeMap<String, String>,
}

/// The server under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// The name it is registered under, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is requested: an `http` or `https` URL.
    #[schema(example = "http://127.0.0.1:8088/index.html")]
    pub url: String,
    /// Where its stub_status page is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "http://127.0.0.1:8088/nginx_status")]
    pub stub_status: Option<String>,
    /// Accept any TLS certificate.
    #[serde(default)]
    pub insecure: bool,
    /// How TLS is spoken, for https.
    #[serde(default, skip_serializing_if = "TlsSpec::is_default")]
    pub tls: TlsSpec,
    /// Addresses used instead of looking the URL's host up. Connections are
    /// spread over those of one family. Beside loopback each needs a range in
    /// the `allowed_cidrs` of the registered target, or stands in its `resolve`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, example = json!(["127.0.0.1", "127.0.0.2"]))]
    pub resolve: Vec<IpAddr>,
    /// Path of the stream socket to connect to; the URL still gives Host and
    /// path. A service takes only that of a registered target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/run/app.sock")]
    pub unix_socket: Option<String>,
}

/// The request that is sent over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// The method.
    #[serde(default = "get")]
    #[schema(default = "GET")]
    pub method: String,
    /// Header fields; `Host`, `User-Agent` and `Accept` have defaults.
    #[serde(default)]
    #[schema(example = json!({"Accept": "*/*"}))]
    pub headers: BTreeMap<String, String>,
    /// The body as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body in base64, for bodies that are no text; not beside `body`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// Statuses that count as good: a status (`304`; a whole number is accepted,
    /// too) or a class (`2xx`).
    #[serde(default = "two_hundreds")]
    #[schema(default = json!(["2xx"]))]
    pub expect_status: Vec<String>,
}

/// The protocol spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/1.0, as ab speaks it.
    Http10,
    /// HTTP/2: by ALPN under TLS, with prior knowledge otherwise.
    H2,
}

impl Protocol {
    /// The protocol as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http10 => "http10",
            Self::H2 => "h2",
        }
    }
}

/// How requests are offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// The load model; `open` when only a `rate` is given.
    #[serde(default)]
    pub model: LoadModel,
    /// Requests per second over all connections and threads; only with the open
    /// model, which needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.001, maximum = 1_000_000, example = json!(null))]
    pub rate: Option<f64>,
    /// How the intended starts of an open loop lie in time; `constant` when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(null))]
    pub arrivals: Option<Arrivals>,
    /// How many requests of an open loop may wait for a connection (HTTP/2: for a
    /// stream); further ones are `dropped`. When not given, as many as come due within `timeout`, at
    /// most 1,000,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 10_000_000, example = json!(null))]
    pub max_queued: Option<u64>,
    /// Connections, each with one request at a time, or with `streams` of them.
    #[serde(default = "fifty")]
    #[schema(default = 50, minimum = 1, maximum = 100_000)]
    pub connections: u32,
    /// How many requests, exactly. With `duration`, whichever comes first ends the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub requests: Option<u64>,
    /// How long; `10s` when neither it nor `requests` is given. Answers under way
    /// at the end are waited for, at most `timeout` and at most 3 s, and count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "30s")]
    pub duration: Option<Span>,
    /// Keep connections open between requests.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub keepalive: bool,
    /// Load before the window that enters no figure.
    #[serde(default)]
    #[schema(value_type = String, default = "0s", example = "2s")]
    pub warmup: Span,
    /// Time limit of one request, connecting included. In an open loop it counts
    /// from the intended start: a request that has waited so long for a connection
    /// is `dropped`.
    #[serde(default = "thirty_seconds")]
    #[schema(value_type = String, default = "30s")]
    pub timeout: Span,
    /// The protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Requests in flight on each connection, which takes the protocol `h2`. A server
    /// that allows fewer gets no more than it allows.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1, maximum = 1000)]
    pub streams: u32,
    /// Generator threads; 1 when not given.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1, maximum = 256)]
    pub threads: u32,
    /// Addresses of the generator's host that connections come from, in turns:
    /// each has a range of ports of its own. The kernel's choice when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, example = json!(["127.0.0.2", "127.0.0.3"]))]
    pub source_addresses: Vec<IpAddr>,
}

/// What the gate answers when no criterion can be decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Let it through and say so.
    #[default]
    Warn,
    /// Stop.
    Fail,
}

impl Default for RequestSpec {
    fn default() -> Self {
        Self {
            method: get(),
            headers: BTreeMap::new(),
            body: None,
            body_base64: None,
            expect_status: two_hundreds(),
        }
    }
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self {
            model: LoadModel::Closed,
            rate: None,
            arrivals: None,
            max_queued: None,
            connections: fifty(),
            requests: None,
            duration: Some(Span::from_secs(10)),
            keepalive: true,
            warmup: Span::default(),
            timeout: thirty_seconds(),
            protocol: Protocol::Http1,
            streams: 1,
            threads: 1,
            source_addresses: Vec::new(),
        }
    }
}

impl JobSpec {
    /// What at most one job loads at a time: the target's host without its
    /// port, in lower case; every spelling of loopback, and a
    /// socket in the file system, is `localhost`.
    #[must_use]
    pub fn target_host(&self) -> String {
        let url = Url::parse(&self.target.url).ok();
        let resolve = &self.target.resolve;
        let here = self.target.unix_socket.is_some()
            || (!resolve.is_empty() && resolve.iter().all(IpAddr::is_loopback));
        let loopback = here
            || match url.as_ref().and_then(Url::host) {
                Some(Host::Ipv4(address)) => address.is_loopback(),
                Some(Host::Ipv6(address)) => address.is_loopback(),
                Some(Host::Domain(name)) => name == "localhost",
                None => false,
            };
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        if loopback { "localhost".to_owned() } else { host.to_owned() }
    }
}

impl TargetSpec {
    /// What tells the target from others, whose URL may be the same: a digest of
    /// URL, addresses and socket, which gives none of their secrets away.
    #[must_use]
    pub fn digest(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let mut resolve = self.resolve.clone();
        resolve.sort_unstable();
        let place = serde_json::json!([self.url, resolve, self.unix_socket]);
        let digest = Sha256::digest(place.to_string().as_bytes());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl LoadSpec {
    /// Requests in flight at the same time, at most.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.connections.saturating_mul(self.streams)
    }
}

impl RequestSpec {
    /// The body in bytes; empty when there is none.
    #[must_use]
    pub fn body_bytes(&self) -> Vec<u8> {
        use base64::Engine as _;
        match (&self.body, &self.body_base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(encoded)) => {
                base64::engine::general_purpose::STANDARD.decode(encoded).unwrap_or_default()
            }
            (None, None) => Vec::new(),
        }
    }
}

/// True when `status` is among the expected ones (`"2xx"`, `"304"`).
#[must_use]
pub fn status_expected(expected: &[String], status: u16) -> bool {
    let text = status.to_string();
    expected.iter().any(|e| *e == text || (e.ends_with("xx") && e[..1] == text[..1]))
}

fn default_name() -> String {
    "default".to_owned()
}

fn get() -> String {
    "GET".to_owned()
}

fn two_hundreds() -> Vec<String> {
    vec!["2xx".to_owned()]
}

fn thirty_seconds() -> Span {
    Span::from_secs(30)
}

const fn one() -> u32 {
    1
}

const fn fifty() -> u32 {
    50
}

const fn yes() -> bool {
    true
}
