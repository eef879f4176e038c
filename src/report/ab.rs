//! The report of Apache's `ab` 2.4: same labels, same order, same columns,
//! same rounding. It knows neither how the load was made nor where the text goes.
//!
//! Where it differs from ab, on purpose:
//! - the banner is one line and names benchd;
//! - *Complete* counts complete responses only. ab also counts failed reads;
//! - *Failed* counts requests, each in one class, where ab counts events:
//!   Connect = connect + tls + local, Receive = reset + timeout, Length =
//!   truncated + bodies of another length than the first (not with `-l`),
//!   Exceptions = protocol + send. A write error is therefore no line of its own;
//! - *HTML transferred* leaves chunk framing out;
//! - *Document Length* and software come from the first response with an
//!   expected status;
//! - *Time taken* is the length of the measuring window;
//! - *SSL/TLS Protocol* names version and cipher suite without key sizes, and
//!   there is no *Server Temp Key* line: the TLS library keeps those to itself;
//! - without raw rows the times come from histograms with three significant
//!   digits, *Processing* is done − sent, and connections opened before the
//!   window add to *Connect* but not to *Total*;
//! - `-e` never reads past the last row, and `-g` writes times in UTC;
//! - control characters that a server sends are shown as `?`.

mod columns;
mod files;
mod text;

use crate::figures::printable;
use benchd_model::spec::TargetSpec;
use benchd_model::{JobSpec, Tally, TrialEnd};
use columns::Times;
use url::{Host, Url};

pub use columns::AbRow;
pub use text::version_line;

/// ab prints its progress on stderr, and no dots, above this many requests.
pub const HEARTBEAT_ABOVE: u64 = 150;

/// Everything ab's report shows. The fields may be changed before rendering,
/// as `benchd ab` does to show its arguments verbatim.
#[derive(Clone, Debug)]
pub struct AbReport {
    /// The `Server` header of the first response; empty without one.
    pub software: String,
    /// Host name or address, IPv6 without brackets.
    pub hostname: String,
    /// Port.
    pub port: u16,
    /// TLS version and cipher suite; `None` on a plain connection.
    pub tls: Option<String>,
    /// The name sent as SNI; `None` for an address or a plain connection.
    pub tls_server_name: Option<String>,
    /// What was requested.
    pub document_path: String,
    /// Body length of the first response in bytes.
    pub document_bytes: u64,
    /// `-l`: bodies may differ in length.
    pub variable_length: bool,
    /// Connections.
    pub concurrency: u32,
    /// Requests per second asked for; `None` in ab's own closed loop.
    pub rate: Option<f64>,
    /// Requests asked for; `None` when only time ends the run.
    pub requests: Option<u64>,
    /// Length of the measuring window in microseconds.
    pub time_us: u64,
    /// Complete responses, whatever their status.
    pub complete: u64,
    /// Requests that found no connection: connect, tls, local, dropped.
    pub failed_connect: u64,
    /// Of them, those that were never sent for want of a free connection.
    pub dropped: u64,
    /// Requests that were reset or timed out.
    pub failed_receive: u64,
    /// Responses cut short.
    pub truncated: u64,
    /// Complete responses of another length than the first one.
    pub length_differs: u64,
    /// Answers that are no HTTP, and requests that could not be written.
    pub failed_exceptions: u64,
    /// Complete responses whose status is not 2xx.
    pub non_2xx: u64,
    /// `-k`: complete responses on a connection that stayed open.
    pub kept_alive: Option<u64>,
    /// Bytes received, heads and failed responses included.
    pub received_bytes: u64,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes sent, heads included; only when requests have a body.
    pub sent_bytes: Option<u64>,
    /// False for `-d`: no percentiles.
    pub percentiles: bool,
    /// False for `-S`: no deviation, no median, no checks.
    pub confidence: bool,
    /// Start of the measuring window in epoch microseconds, for `-g`.
    pub started_us: i64,
    rows: Vec<AbRow>,
    times: Times,
}

impl AbReport {
    /// Collects the report of a run. `tally` is the whole run, `ends` are those
    /// of its trials. `rows` are used when there is one for every complete
    /// response and give ab's exact figures; otherwise the histograms serve.
    #[must_use]
    pub fn new(spec: &JobSpec, tally: &Tally, ends: &[TrialEnd], rows: Option<&[AbRow]>) -> Self {
        let counts = &tally.counts;
        let first = ends.iter().find_map(|end| end.first_response.as_ref());
        let rows = rows.unwrap_or_default();
        let complete_rows = !rows.is_empty() && rows.len() as u64 == counts.ok;
        let times = if complete_rows { Times::of_rows(rows) } else { Times::of_tally(tally) };
        let target = Target::of(&spec.target);
        let streams = ends.iter().map(|end| end.streams_achieved).max().unwrap_or(0).max(1);
        let has_body = spec.request.body.is_some() || spec.request.body_base64.is_some();
        Self {
            software: first.and_then(|f| f.software.as_deref()).map_or_else(String::new, printable),
            hostname: target.hostname,
            port: target.port,
            tls: first.and_then(|f| f.tls.as_deref()).map(printable),
            tls_server_name: target.server_name,
            document_path: target.path,
            document_bytes: first.map_or(0, |f| f.document_bytes),
            variable_length: false,
            concurrency: spec.load.connections.saturating_mul(streams),
            rate: spec.load.rate,
            requests: spec.load.requests,
            time_us: tally.span_us,
            complete: counts.ok,
            failed_connect: counts.connect + counts.tls + counts.local + counts.dropped,
            dropped: counts.dropped,
            failed_receive: counts.reset + counts.timeout,
            truncated: counts.truncated,
            length_differs: tally.length_differs,
            failed_exceptions: counts.protocol + counts.send,
            non_2xx: tally.non_2xx(),
            kept_alive: spec.load.keepalive.then_some(tally.kept_alive),
            received_bytes: tally.bytes.received,
            body_bytes: tally.bytes.body,
            sent_bytes: has_body.then_some(tally.bytes.sent),
            percentiles: true,
            confidence: true,
            started_us: 0,
            rows: rows.to_vec(),
            times,
        }
    }

    /// Requests in ab's Length class.
    #[must_use]
    pub const fn failed_length(&self) -> u64 {
        if self.variable_length { self.truncated } else { self.truncated + self.length_differs }
    }

    /// All failed requests: the sum of the four classes.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failed_connect + self.failed_receive + self.failed_length() + self.failed_exceptions
    }

    /// Whether ab would show this run's progress on stderr.
    #[must_use]
    pub fn shows_heartbeat(&self) -> bool {
        self.requests.is_none_or(|requests| requests > HEARTBEAT_ABOVE)
    }
}

/// The parts of a target that ab shows.
struct Target {
    hostname: String,
    port: u16,
    path: String,
    server_name: Option<String>,
}

impl Target {
    fn of(spec: &TargetSpec) -> Self {
        let Ok(url) = Url::parse(&spec.url) else {
            let path = printable(&spec.url);
            return Self { hostname: String::new(), port: 0, path, server_name: None };
        };
        let hostname = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => String::new(),
        };
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let named = url.scheme() == "https" && matches!(url.host(), Some(Host::Domain(_)));
        Self {
            port: url.port_or_known_default().unwrap_or(0),
            path: format!("{}{query}", url.path()),
            server_name: named.then(|| hostname.clone()),
            hostname,
        }
    }
}
