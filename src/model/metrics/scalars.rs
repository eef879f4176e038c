//! Metrics that are one figure of the result.

use super::Better;
use crate::KernelCounts;
use crate::result::{RunResult, StubStatusResult};

/// A metric that is one figure of the result.
#[derive(Debug)]
pub(crate) struct Scalar {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) source: Source,
    pub(crate) meaning: &'static str,
    pub(crate) read: fn(&RunResult) -> Option<f64>,
}

/// What a figure is made of, and so what it takes and whether seconds have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Attempts of the load.
    Attempts,
    /// Requests that came due in an open loop.
    Schedule,
    /// The run as a whole; no second has it.
    Run,
    /// The accounts of the generator's threads and connections.
    Generator,
    /// The generator's kernel.
    Kernel,
    /// Counters of the status page, from one reading to the next.
    Counters,
    /// What single readings of the status page show.
    Readings,
    /// Counters of the status page against our own, over the whole run.
    Reconciled,
}

impl Source {
    /// How many samples a figure takes.
    pub(crate) const fn min_samples(self) -> u64 {
        match self {
            Self::Counters | Self::Reconciled => 2,
            _ => 1,
        }
    }

    /// True when single seconds have such a figure, too.
    pub(crate) const fn has_seconds(self) -> bool {
        !matches!(self, Self::Run | Self::Reconciled)
    }

    /// True when it takes a status page.
    pub(crate) const fn is_nginx(self) -> bool {
        matches!(self, Self::Counters | Self::Readings | Self::Reconciled)
    }

    /// Why there is no figure.
    pub(crate) fn missing(self, result: &RunResult) -> &'static str {
        match self {
            Self::Attempts | Self::Run => "no request came to an end",
            Self::Schedule if result.load.rate.is_none() => "a closed loop has no schedule",
            Self::Schedule => "no request came due",
            Self::Generator => "the generator kept no account of it",
            Self::Kernel => "the generator's kernel does not count it for this target",
            _ if result.server.stub_status.is_none() => "the status page was not asked",
            Self::Readings => "the status page was never read",
            Self::Counters | Self::Reconciled => {
                "the status page was not read both before and after the load"
            }
        }
    }
}

macro_rules! scalars {
    ($($name:literal $unit:literal $better:ident $source:ident $meaning:literal $read:expr;)*) => {
        &[$(Scalar {
            name: $name,
            unit: $unit,
            better: Better::$better,
            source: Source::$source,
            meaning: $meaning,
            read: $read,
        }),*]
    };
}

pub(crate) const SCALARS: &[Scalar] = scalars! {
    "rps" "1/s" Higher Attempts "complete responses per second" |r| measured(r, r.rps);
    "goodput_rps" "1/s" Higher Attempts "complete responses with an expected status, per second" |r| measured(r, r.goodput_rps);
    "received_bytes_per_s" "bytes/s" Higher Attempts "bytes received per second, heads included" |r| measured(r, r.bytes.received as f64 / r.duration_s);
    "error_ratio" "ratio" Lower Attempts "share of attempts without an expected answer, aborted ones left out" |r| r.error_ratio;
    "non_2xx_ratio" "ratio" Lower Attempts "share of complete responses whose status is not 2xx" |r| r.non_2xx_ratio;
    "rate_achieved_ratio" "ratio" Higher Schedule "open loop: share of the requests that came due which were begun while the schedule lasted" |r| r.rate_achieved_ratio;
    "issued" "requests" Neither Attempts "attempts made" |r| Some(r.counts.issued as f64);
    "ok" "requests" Higher Attempts "complete responses, whatever their status" |r| Some(r.counts.ok as f64);
    "failures" "requests" Lower Attempts "failed attempts of every class" |r| Some(r.counts.failures() as f64);
    "failures_connect" "requests" Lower Attempts "attempts that found no TCP connection" |r| Some(r.counts.connect as f64);
    "failures_tls" "requests" Lower Attempts "failed TLS handshakes" |r| Some(r.counts.tls as f64);
    "failures_send" "requests" Lower Attempts "requests that could not be written" |r| Some(r.counts.send as f64);
    "failures_reset" "requests" Lower Attempts "connections reset or closed before the first response byte" |r| Some(r.counts.reset as f64);
    "failures_truncated" "requests" Lower Attempts "responses cut short" |r| Some(r.counts.truncated as f64);
    "failures_protocol" "requests" Lower Attempts "answers that are no HTTP" |r| Some(r.counts.protocol as f64);
    "failures_local" "requests" Lower Attempts "attempts that failed on the generator itself" |r| Some(r.counts.local as f64);
    "timeouts" "requests" Lower Attempts "attempts past their time limit" |r| Some(r.counts.timeout as f64);
    "dropped" "requests" Lower Schedule "open loop: requests that came due and were never sent, for want of a free connection" |r| Some(r.counts.dropped as f64);
    "aborted" "requests" Neither Attempts "attempts in flight when the run ended" |r| Some(r.counts.aborted as f64);
    "status_2xx" "responses" Higher Attempts "complete responses with a status from 200 to 299" |r| statuses(r, '2');
    "status_3xx" "responses" Neither Attempts "complete responses with a status from 300 to 399" |r| statuses(r, '3');
    "status_4xx" "responses" Lower Attempts "complete responses with a status from 400 to 499" |r| statuses(r, '4');
    "status_5xx" "responses" Lower Attempts "complete responses with a status from 500 to 599" |r| statuses(r, '5');
    "duration_s" "s" Neither Run "length of the measuring window over all trials" |r| Some(r.duration_s);
    "received_bytes" "bytes" Neither Attempts "bytes received, heads included" |r| Some(r.bytes.received as f64);
    "body_bytes" "bytes" Neither Attempts "body bytes received" |r| Some(r.bytes.body as f64);
    "sent_bytes" "bytes" Neither Attempts "bytes sent" |r| Some(r.bytes.sent as f64);
    "connections_achieved" "connections" Higher Run "connections open at the same time, at most" |r| Some(f64::from(r.load.connections_achieved));
    "connections_opened" "connections" Neither Attempts "TCP connections opened" |r| Some(r.connections.opened as f64);
    "connections_idle_closed" "connections" Lower Attempts "connections the server closed while no request was in flight" |r| Some(r.connections.idle_closed as f64);
    "generator_cpu_ratio" "ratio" Lower Generator "CPU time of the generator's threads per thread and second" |r| r.validity.generator_cpu_ratio;
    "generator_wait_ratio" "ratio" Lower Generator "time the generator's threads waited for a processor, per thread and second" |r| r.validity.generator_wait_ratio;
    "generator_busy_ratio" "ratio" Lower Generator "share of the time in which the busiest generator thread worked or waited for a processor" |r| r.validity.generator_busy_ratio;
    "connections_idle_ratio" "ratio" Lower Generator "share of the connections' time in which no request was in flight" |r| r.validity.connections_idle_ratio;
    "tcp_retransmits" "segments" Lower Kernel "TCP segments that the generator's host sent again, SYNs included" |r| kernel(r, |k| k.tcp_retransmits);
    "tcp_syn_retransmits" "segments" Lower Kernel "SYNs that the generator's host sent again" |r| kernel(r, |k| k.tcp_syn_retransmits);
    "listen_overflows" "connections" Lower Kernel "connections that found an accept queue of this host full; no data when the target is elsewhere" |r| kernel(r, |k| k.listen_overflows);
    "softnet_drops" "packets" Lower Kernel "packets that the generator's host dropped because a processor's input queue was full" |r| kernel(r, |k| k.softnet_drops);
    "socket_drops" "segments" Lower Kernel "TCP segments that the generator's host dropped because a socket's receive queue was full" |r| kernel(r, |k| k.socket_drops);
    "cpu_throttled_ms" "ms" Lower Kernel "time in which its CPU quota stopped the generator's control group, summed over processors" |r| kernel(r, |k| k.throttled_us).map(|us| us / 1000.0);
    "cpu_stolen_ms" "ms" Lower Kernel "time in which a hypervisor withheld processors, summed over them" |r| kernel(r, |k| k.stolen_us).map(|us| us / 1000.0);
    "nginx_accepts" "connections" Neither Counters "connections nginx accepted, the poller's left out" |r| stub(r, |s| s.accepts);
    "nginx_handled" "connections" Neither Counters "connections nginx found a slot for" |r| stub(r, |s| s.handled);
    "nginx_requests" "requests" Neither Counters "requests nginx counted, our polls left out" |r| stub(r, |s| s.requests);
    "nginx_dropped" "connections" Lower Counters "connections nginx accepted and dropped for want of a slot" |r| stub(r, |s| s.dropped);
    "nginx_active_max" "connections" Neither Readings "most open connections seen on the status page, the poller's included" |r| stub(r, |s| s.active_max);
    "nginx_reading_max" "connections" Neither Readings "most connections seen whose request nginx was reading" |r| stub(r, |s| s.reading_max);
    "nginx_writing_max" "connections" Neither Readings "most connections seen that nginx was answering, the poll's left out" |r| stub(r, |s| s.writing_max);
    "nginx_waiting_max" "connections" Neither Readings "most idle or silent connections seen" |r| stub(r, |s| s.waiting_max);
    "nginx_polls_failed" "polls" Lower Readings "polls of the status page that brought no page" |r| stub(r, |s| Some(s.polls_failed));
    "nginx_restarts" "restarts" Lower Counters "times a counter of nginx fell" |r| stub(r, |s| s.requests.map(|_| u64::from(s.restarts)));
    "nginx_foreign_requests" "requests" Lower Reconciled "requests nginx counted that this job did not send" |r| stub(r, |s| s.foreign_requests);
};

fn measured(result: &RunResult, figure: f64) -> Option<f64> {
    (result.counts.issued > result.counts.aborted && result.duration_s > 0.0).then_some(figure)
}

fn statuses(result: &RunResult, class: char) -> Option<f64> {
    let of_class = result.status_codes.iter().filter(|(status, _)| status.starts_with(class));
    Some(of_class.map(|(_, count)| *count).sum::<u64>() as f64)
}

fn stub(result: &RunResult, figure: fn(&StubStatusResult) -> Option<u64>) -> Option<f64> {
    result.server.stub_status.as_ref().and_then(figure).map(|count| count as f64)
}

fn kernel(result: &RunResult, figure: fn(&KernelCounts) -> Option<u64>) -> Option<f64> {
    result.kernel.as_ref().and_then(figure).map(|count| count as f64)
}
