//! What an engine hands out while it runs: one record a second and one at the
//! end. Everything a result says is computed from these, so that the parts
//! always sum up to the whole.

use crate::stub_status::StubStatusPoll;
use crate::{Counts, Histogram, KernelCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Bytes on the wire, as the socket (or, under TLS, the record layer) saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bytes {
    /// Received, heads and framing included.
    pub received: u64,
    /// Body bytes received, chunk framing excluded.
    pub body: u64,
    /// Sent.
    pub sent: u64,
}

impl Bytes {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.body += other.body;
        self.sent += other.sent;
    }
}

/// What happened to connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Connections {
    /// Connections opened.
    pub opened: u64,
    /// Requests sent on a connection that had carried one before.
    pub reused_requests: u64,
    /// Connections the peer closed while no request was in flight.
    pub idle_closed: u64,
    /// TLS handshakes in full, of those whose times are recorded.
    #[serde(default)]
    pub tls_full: u64,
    /// TLS handshakes that resumed an earlier session.
    #[serde(default)]
    pub tls_resumed: u64,
}

impl Connections {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.reused_requests += other.reused_requests;
        self.idle_closed += other.idle_closed;
        self.tls_full += other.tls_full;
        self.tls_resumed += other.tls_resumed;
    }
}

/// Figures over some span of the measuring window; tallies add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The length of window covered, in microseconds. Merging adds spans, so
    /// merge threads of one second with [`Tally::merge_parallel`].
    pub span_us: u64,
    /// Attempts by class.
    pub counts: Counts,
    /// Complete responses by status.
    pub status_codes: BTreeMap<u16, u64>,
    /// Complete responses whose status is not an expected one.
    pub unexpected_status: u64,
    /// Complete responses whose body length differs from the first one's.
    pub length_differs: u64,
    /// Complete responses on a connection that stayed open (ab's keep-alive count).
    pub kept_alive: u64,
    /// Bytes.
    pub bytes: Bytes,
    /// Connections.
    pub connections: Connections,
    /// Done − intended start of complete responses; in a closed loop the start
    /// is when the slot turned to the request, before any connecting it needed.
    pub latency: Histogram,
    /// Done − sent of complete responses.
    pub service: Histogram,
    /// First byte − sent of complete responses.
    pub ttfb: Histogram,
    /// TCP connects that succeeded.
    pub connect: Histogram,
    /// TLS handshakes that succeeded.
    pub tls: Histogram,
    /// Start to end of failed attempts; timeouts, and what was dropped and so never
    /// answered, stand at the time limit.
    pub failed: Histogram,
    /// Requests of an open loop that came due; all but those are `begun`,
    /// `dropped` or still waiting.
    #[serde(default)]
    pub due: u64,
    /// Requests of an open loop that the generator turned to while the schedule
    /// lasted, whatever became of them: n requests at a rate last n / rate.
    #[serde(default)]
    pub begun: u64,
    /// Sent − intended start, of every request sent; open loop only. It holds the
    /// wait for a free connection, and connecting where there was none.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lateness: Histogram,
    /// The generator's own part of lateness: from when a request was due and a
    /// connection free for it until the generator turned to it. Open loop only.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub dispatch: Histogram,
    /// Time in flight of all attempts in the span, those included that began before
    /// it or ended after it, in microseconds.
    #[serde(default)]
    pub in_flight_us: u64,
    /// CPU time of the generator threads, in microseconds.
    pub generator_cpu_us: u64,
    /// Time generator threads waited for a processor, in microseconds.
    pub generator_wait_us: u64,
    /// Time in which the busiest generator thread had something to do, in
    /// microseconds: it worked or waited for a processor, and events waited.
    #[serde(default)]
    pub generator_busiest_us: u64,
}

impl Tally {
    /// Adds a later (or earlier) stretch of time.
    pub fn merge(&mut self, other: &Self) {
        self.span_us += other.span_us;
        self.generator_busiest_us += other.generator_busiest_us;
        self.add_figures(other);
    }

    /// Adds what another thread or generator did in the same stretch of time.
    pub fn merge_parallel(&mut self, other: &Self) {
        self.span_us = self.span_us.max(other.span_us);
        self.generator_busiest_us = self.generator_busiest_us.max(other.generator_busiest_us);
        self.add_figures(other);
    }

    fn add_figures(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        for (status, count) in &other.status_codes {
            *self.status_codes.entry(*status).or_default() += count;
        }
        self.unexpected_status += other.unexpected_status;
        self.length_differs += other.length_differs;
        self.kept_alive += other.kept_alive;
        self.bytes.merge(&other.bytes);
        self.connections.merge(&other.connections);
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.ttfb.merge(&other.ttfb);
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.failed.merge(&other.failed);
        self.due += other.due;
        self.begun += other.begun;
        self.lateness.merge(&other.lateness);
        self.dispatch.merge(&other.dispatch);
        self.in_flight_us += other.in_flight_us;
        self.generator_cpu_us += other.generator_cpu_us;
        self.generator_wait_us += other.generator_wait_us;
    }

    /// Gives up the room that recording needs, once nothing more is added.
    pub fn compact(&mut self) {
        for histogram in [
            &mut self.latency,
            &mut self.service,
            &mut self.ttfb,
            &mut self.connect,
            &mut self.tls,
            &mut self.failed,
            &mut self.lateness,
            &mut self.dispatch,
        ] {
            histogram.compact();
        }
    }

    /// The span in seconds.
    #[must_use]
    pub fn span_s(&self) -> f64 {
        self.span_us as f64 / 1e6
    }

    /// Complete responses with an expected status.
    #[must_use]
    pub fn good(&self) -> u64 {
        self.counts.ok.saturating_sub(self.unexpected_status)
    }

    /// Complete responses whose status is not 2xx.
    #[must_use]
    pub fn non_2xx(&self) -> u64 {
        let outside = |(status, _): &(&u16, &u64)| !(200..300).contains(*status);
        self.status_codes.iter().filter(outside).map(|(_, count)| count).sum()
    }

    /// `1 - good / (issued - aborted)`; null when nothing was issued.
    #[must_use]
    pub fn error_ratio(&self) -> Option<f64> {
        let decided = self.counts.issued.saturating_sub(self.counts.aborted);
        (decided > 0).then(|| decided.saturating_sub(self.good()) as f64 / decided as f64)
    }

    /// Every attempt's latency, failures included.
    #[must_use]
    pub fn latency_all(&self) -> Histogram {
        let mut all = self.latency.clone();
        all.merge(&self.failed);
        all
    }
}

/// One second of the measuring window as one generator saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondRecord {
    /// Which second, from 0.
    pub index: u32,
    /// Connections open at its end.
    pub connections_open: u32,
    /// Its figures. The span is one second but for the last one's rest.
    pub tally: Tally,
    /// What the generator host's kernel counted meanwhile.
    #[serde(default)]
    pub kernel: Option<KernelCounts>,
}

/// Why a trial ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// All requests were made, or the time was over.
    #[default]
    Completed,
    /// A criterion marked `abort:` was beyond rescue.
    Aborted,
    /// Somebody cancelled it.
    Cancelled,
    /// The generator died or was stopped.
    Interrupted,
}

/// The first complete response with an expected status: what the target is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstResponse {
    /// The `Server` header.
    pub software: Option<String>,
    /// Its body length in bytes.
    pub document_bytes: u64,
    /// TLS version and cipher suite as ab prints them (`TLSv1.3,TLS_AES_256_GCM_SHA384,…`).
    pub tls: Option<String>,
}

/// What happened towards one of several addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressCounts {
    /// Connections opened to it, those before the measuring window included.
    pub opened: u64,
    /// Complete responses from it.
    pub ok: u64,
    /// Attempts towards it that failed.
    pub failures: u64,
}

impl AddressCounts {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.ok += other.ok;
        self.failures += other.failures;
    }
}

/// What is known of a trial only when it ended. One per generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialEnd {
    /// Why it ended.
    pub reason: EndReason,
    /// Which driver made the load (`tokio`).
    pub driver: String,
    /// Generator threads.
    pub threads: u32,
    /// Connections that were open at the same time, at most.
    pub connections_achieved: u32,
    /// Requests in flight on one connection, at most; only HTTP/2 has several.
    #[serde(default)]
    pub streams_achieved: u32,
    /// Connections opened before the measuring window.
    pub opened_before: u64,
    /// Attempts of the warm-up by class; they enter no other figure.
    pub warmup: Counts,
    /// The first good response.
    pub first_response: Option<FirstResponse>,
    /// What failed, in words, with how often (`connection refused (os error 111)`).
    pub failure_reasons: BTreeMap<String, u64>,
    /// By address that connections went to (`127.0.0.1:80`, `unix:/run/x.sock`).
    #[serde(default)]
    pub addresses: BTreeMap<String, AddressCounts>,
    /// Sentences about limits the generator met (descriptors, ports).
    pub notes: Vec<String>,
    /// What the generator host's kernel counted while the connections were
    /// opened and the target warmed up.
    #[serde(default)]
    pub kernel_before: Option<KernelCounts>,
}

/// Everything recorded of one trial by one generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialRecording {
    /// Which trial, from 0.
    pub trial: u32,
    /// Which generator, from 0.
    pub generator: u32,
    /// Its seconds, ascending.
    pub seconds: Vec<SecondRecord>,
    /// The stub_status polls, ascending.
    pub polls: Vec<StubStatusPoll>,
    /// The end, when it was reached.
    pub end: Option<TrialEnd>,
    /// When the measuring window began, in epoch microseconds.
    pub started_us: Option<i64>,
}
