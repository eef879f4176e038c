//! The result document, the same from the API and from the command line.

use crate::baseline::BaselineUsed;
use crate::criteria::CriterionOutcome;
use crate::environment::Environment;
use crate::histogram::LatencySummary;
use crate::recording::{Bytes, Connections, EndReason};
use crate::statistics::Comparison;
use crate::verdict::Validity;
use crate::{Counts, JobId, KernelCounts, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What a job measured, with its evidence, its validity and its verdict.
/// Figures are over all trials; `trials` has each on its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunResult {
    /// The job.
    pub job_id: JobId,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence a reviewer can read in a log.
    pub summary: String,
    /// Whether the figures mean what they seem to.
    pub validity: Validity,
    /// Each criterion with what was observed.
    pub criteria: Vec<CriterionOutcome>,
    /// The baseline that criteria were judged by; null when none was.
    #[serde(default)]
    pub baseline: Option<BaselineUsed>,
    /// The comparison that the job measured; all other figures are then those of
    /// its candidate. Null when it compares nothing.
    #[serde(default)]
    pub comparison: Option<Comparison>,
    /// The load as it was made.
    pub load: LoadResult,
    /// Attempts by class: `issued = ok + failures + aborted`.
    pub counts: Counts,
    /// Attempts of the warm-up by class; they enter no other figure here.
    pub warmup: Counts,
    /// Complete responses by status.
    pub status_codes: BTreeMap<String, u64>,
    /// Failed attempts by reason, in words.
    pub failure_reasons: BTreeMap<String, u64>,
    /// Length of the measuring window in seconds (summed over trials).
    pub duration_s: f64,
    /// Complete responses per second.
    pub rps: f64,
    /// Complete responses with an expected status, per second.
    pub goodput_rps: f64,
    /// Open loop: of the requests that came due, the share that the generator
    /// turned to while its schedule lasted; 1 when the rate was kept. Null for a
    /// closed loop.
    #[serde(default)]
    pub rate_achieved_ratio: Option<f64>,
    /// Share of attempts without an expected answer, aborted ones left out; null without attempts.
    pub error_ratio: Option<f64>,
    /// Share of complete responses whose status is not 2xx; null without responses.
    pub non_2xx_ratio: Option<f64>,
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Connections.
    pub connections: Connections,
    /// Done − intended start of complete responses.
    pub latency_ms: LatencySummary,
    /// The same with failed attempts, timeouts at their limit.
    pub latency_all_ms: LatencySummary,
    /// TCP connects.
    pub connect_ms: LatencySummary,
    /// TLS handshakes.
    pub tls_ms: LatencySummary,
    /// First byte − sent.
    pub ttfb_ms: LatencySummary,
    /// Done − sent.
    pub service_ms: LatencySummary,
    /// Sent − intended start, the wait for a connection included; only an open loop
    /// has it.
    pub lateness_ms: LatencySummary,
    /// The generator's own part of lateness: from when a request was due and a
    /// connection free for it until it was begun; only an open loop has it.
    #[serde(default)]
    pub dispatch_ms: LatencySummary,
    /// Why the run ended.
    pub ended: EndReason,
    /// What the server is and what it counted.
    pub server: ServerResult,
    /// What the kernel of the generator's host counted from the opening of the
    /// connections to the end, over all trials; null when it was not read.
    #[serde(default)]
    pub kernel: Option<KernelCounts>,
    /// Where it was measured.
    pub environment: Environment,
    /// Remarks for the reader: limits met, what the figures leave out.
    pub notes: Vec<String>,
    /// Each trial on its own.
    pub trials: Vec<TrialResult>,
    /// How far the trials lie apart, by metric; empty with fewer than two.
    #[serde(default)]
    pub spread: BTreeMap<String, Spread>,
    /// Where to find the parts.
    pub links: BTreeMap<String, String>,
}

/// One metric over the trials of a job, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Spread {
    /// Half of the trials lie at or below it; the mean of the middle two when
    /// their number is even.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Coefficient of variation: the sample standard deviation as a share of the
    /// mean; null when the mean is 0.
    pub cv: Option<f64>,
    /// Trials that have a figure.
    pub n: u32,
}

/// The load as it was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadResult {
    /// `closed` or `open`.
    pub model: String,
    /// Requests per second asked for; null for a closed loop.
    #[serde(default)]
    pub rate: Option<f64>,
    /// `constant` or `poisson`; null for a closed loop.
    #[serde(default)]
    pub arrivals: Option<String>,
    /// Connections asked for.
    pub connections: u32,
    /// Connections open at the same time, at most.
    pub connections_achieved: u32,
    /// `http1`, `http10` or `h2`.
    pub protocol: String,
    /// Requests in flight on each connection that were asked for.
    #[serde(default)]
    pub streams: u32,
    /// Requests in flight on one connection, at most: fewer when the server allows
    /// no more (SETTINGS_MAX_CONCURRENT_STREAMS).
    #[serde(default)]
    pub streams_achieved: u32,
    /// Whether connections were kept.
    pub keepalive: bool,
    /// Which driver ran (`tokio`).
    pub driver: String,
    /// Generator threads.
    pub threads: u32,
    /// What happened towards each address, by address; empty when the run
    /// came to no end.
    #[serde(default)]
    pub addresses: Vec<AddressResult>,
}

/// What happened towards one address of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddressResult {
    /// The address, or `unix:` and the path of a socket.
    #[schema(example = "127.0.0.1:8088")]
    pub address: String,
    /// Connections opened to it, those before the measuring window included.
    pub opened: u64,
    /// Complete responses from it.
    pub ok: u64,
    /// Attempts towards it that failed.
    pub failures: u64,
}

/// What the server is and what it counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServerResult {
    /// The `Server` header of the first good response.
    pub software: Option<String>,
    /// Body length of the first good response in bytes.
    pub document_bytes: Option<u64>,
    /// TLS version and cipher suite.
    pub tls: Option<String>,
    /// nginx's own counters over the job; null when it has no stub_status.
    pub stub_status: Option<StubStatusResult>,
}

/// nginx's counters over the job, our polls subtracted. Null where the page was
/// not read often enough to tell: a counter takes two readings in each trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StubStatusResult {
    /// Connections accepted, the poller's left out.
    pub accepts: Option<u64>,
    /// Connections that got a slot, the poller's left out.
    pub handled: Option<u64>,
    /// Requests, our polls left out: exactly the load, warm-up included, when
    /// nobody else asked.
    pub requests: Option<u64>,
    /// `accepts - handled`: connections dropped for want of a slot.
    pub dropped: Option<u64>,
    /// Most open connections seen, the poller's included.
    pub active_max: Option<u64>,
    /// Most connections seen whose request was being read.
    #[serde(default)]
    pub reading_max: Option<u64>,
    /// Most connections seen that were being answered, the poll's left out.
    #[serde(default)]
    pub writing_max: Option<u64>,
    /// Most idle or silent connections seen.
    #[serde(default)]
    pub waiting_max: Option<u64>,
    /// Every poll made for the job.
    pub polls: u64,
    /// Polls that brought no page.
    pub polls_failed: u64,
    /// Requests that nginx counted and this job did not send.
    pub foreign_requests: Option<u64>,
    /// Times a counter fell: nginx was restarted.
    pub restarts: u32,
}

/// One trial on its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialResult {
    /// The trial, from 1.
    pub trial: u32,
    /// Attempts by class.
    pub counts: Counts,
    /// Length of its measuring window in seconds.
    pub duration_s: f64,
    /// Complete responses per second.
    pub rps: f64,
    /// Complete responses with an expected status, per second.
    pub goodput_rps: f64,
    /// Share of attempts without an expected answer.
    pub error_ratio: Option<f64>,
    /// Latency of complete responses.
    pub latency_ms: LatencySummary,
    /// CPU time of the generator's threads per thread and second, 0 to 1.
    pub generator_cpu_ratio: Option<f64>,
    /// Time the generator's threads waited for a processor, per thread and
    /// second, 0 to 1.
    pub generator_wait_ratio: Option<f64>,
    /// Why it ended.
    pub ended: EndReason,
}
