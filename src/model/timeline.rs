//! The run second by second: client figures beside stub_status.

use crate::limits::{Signs, signs};
use crate::seconds::{Second, merged, threads};
use crate::spec::LoadSpec;
use crate::stub_status::{PollMoment, StubStatus, StubStatusPoll, in_order};
use crate::verdict::LimitedBy;
use crate::{Timestamp, TrialRecording};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One second of the measuring window. Null where there is no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineRow {
    /// End of the second, wall clock.
    pub time: Timestamp,
    /// Seconds from the start of the measuring window to the end of this row.
    pub elapsed_s: f64,
    /// The trial, from 1.
    pub trial: u32,
    /// Attempts that ended in this second.
    pub issued: u64,
    /// Complete responses.
    pub ok: u64,
    /// Failed attempts and unexpected statuses.
    pub errors: u64,
    /// Complete responses per second.
    pub rps: f64,
    /// Complete responses with an expected status, per second.
    pub goodput_rps: f64,
    /// Share of attempts without an expected answer, 0 to 1.
    pub error_ratio: Option<f64>,
    /// Open connections at the end of the second.
    pub connections: u64,
    /// Median latency of complete responses.
    pub latency_p50_ms: Option<f64>,
    /// 90th percentile.
    pub latency_p90_ms: Option<f64>,
    /// 99th percentile.
    pub latency_p99_ms: Option<f64>,
    /// Largest latency.
    pub latency_max_ms: Option<f64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// CPU time of the generator's threads per thread and second, 0 to 1.
    pub generator_cpu_ratio: Option<f64>,
    /// Time the generator's threads waited for a processor, per thread and
    /// second, 0 to 1.
    #[serde(default)]
    pub generator_wait_ratio: Option<f64>,
    /// Share of the second in which the busiest of them worked or waited for a
    /// processor.
    #[serde(default)]
    pub generator_busy_ratio: Option<f64>,
    /// Share of the connections' time in which no request was in flight.
    #[serde(default)]
    pub connections_idle_ratio: Option<f64>,
    /// TCP segments that the generator's host sent again.
    #[serde(default)]
    pub tcp_retransmits: Option<u64>,
    /// Connections that found an accept queue of this host full.
    #[serde(default)]
    pub listen_overflows: Option<u64>,
    /// What held this second back; null when nothing was asked in it.
    #[serde(default)]
    pub limited_by: Option<LimitedBy>,
    /// Open client connections as nginx counts them, without the poller's.
    pub nginx_active: Option<u64>,
    /// Connections whose request nginx is reading.
    pub nginx_reading: Option<u64>,
    /// Connections nginx is answering, without the poll itself.
    pub nginx_writing: Option<u64>,
    /// Idle or silent connections.
    pub nginx_waiting: Option<u64>,
    /// Connections accepted per second.
    pub nginx_accepts_per_s: Option<f64>,
    /// Requests per second, without the polls.
    pub nginx_requests_per_s: Option<f64>,
    /// Connections accepted and dropped for want of a slot, in this second.
    pub nginx_dropped: Option<u64>,
    /// Open loop: requests dropped for want of a free connection.
    #[serde(default)]
    pub dropped: Option<u64>,
    /// Open loop: 99th percentile of sent − intended start.
    #[serde(default)]
    pub lateness_p99_ms: Option<f64>,
}

/// The rows of every trial of a job with that `load`, in order.
#[must_use]
pub fn all(recordings: &[TrialRecording], load: &LoadSpec) -> Vec<TimelineRow> {
    let mut trials: Vec<u32> = recordings.iter().map(|r| r.trial).collect();
    trials.sort_unstable();
    trials.dedup();
    trials
        .into_iter()
        .flat_map(|trial| {
            let generators: Vec<_> = recordings.iter().filter(|r| r.trial == trial).collect();
            trial_rows(&generators, load)
        })
        .collect()
}

/// The rows of one trial; its generators are merged.
fn trial_rows(generators: &[&TrialRecording], load: &LoadSpec) -> Vec<TimelineRow> {
    let seconds = merged(generators);
    let signs = signs(&seconds, load, threads(generators, load));
    let started_us = generators.iter().filter_map(|g| g.started_us).min().unwrap_or(0);
    let trial = generators.first().map_or(0, |g| g.trial);
    let polls = in_order(generators.iter().flat_map(|g| &g.polls));
    let mut rows = Vec::with_capacity(seconds.len());
    let over_us = over_us(seconds.iter().map(|second| second.tally.span_us).sum(), load);
    let mut end_us = 0;
    for (second, signs) in seconds.iter().zip(&signs) {
        let start_us = end_us;
        end_us += second.tally.span_us;
        let nginx = NginxSecond::between(&polls, start_us as i64, end_us as i64, over_us);
        let time = Timestamp::from_micros(started_us + end_us as i64);
        rows.push(row(time, end_us, trial + 1, second, signs, &nginx));
    }
    rows
}

/// The row of one second on its own, for live progress.
#[must_use]
pub fn live_row(
    recording: &TrialRecording,
    second: &crate::SecondRecord,
    load: &LoadSpec,
) -> TimelineRow {
    let started_us = recording.started_us.unwrap_or(0);
    let start_us = u64::from(second.index) * 1_000_000;
    let end_us = start_us + second.tally.span_us;
    let polls = in_order(&recording.polls);
    // Only the last second is a short one; a whole one may have others behind it.
    let known_us = if second.tally.span_us < 1_000_000 { end_us } else { u64::MAX };
    let over_us = over_us(known_us, load);
    let nginx = NginxSecond::between(&polls, start_us as i64, end_us as i64, over_us);
    let time = Timestamp::from_micros(started_us + end_us as i64);
    let second = Second::from(second);
    let signs = signs(std::slice::from_ref(&second), load, threads(&[recording], load));
    row(time, end_us, recording.trial + 1, &second, &signs[0], &nginx)
}

/// When connections may begin to close, of a window that was measured for so long.
fn over_us(measured_us: u64, load: &LoadSpec) -> i64 {
    let asked = load.duration.map_or(u128::MAX, |duration| duration.duration().as_micros());
    i64::try_from(asked.min(measured_us.into())).unwrap_or(i64::MAX)
}

fn row(
    time: Timestamp,
    end_us: u64,
    trial: u32,
    second: &Second,
    signs: &Signs,
    nginx: &NginxSecond,
) -> TimelineRow {
    let Second { connections, tally, kernel, .. } = second;
    let span_s = tally.span_s();
    let per_second = |count: u64| {
        if span_s > 0.0 { count as f64 / span_s } else { 0.0 }
    };
    let is_open = tally.due > 0 || tally.counts.dropped > 0 || !tally.lateness.is_empty();
    let percentile = |p| tally.latency.percentile_us(p).map(|us| us as f64 / 1000.0);
    TimelineRow {
        time,
        elapsed_s: end_us as f64 / 1e6,
        trial,
        issued: tally.counts.issued,
        ok: tally.counts.ok,
        errors: tally.counts.failures() + tally.unexpected_status,
        rps: per_second(tally.counts.ok),
        goodput_rps: per_second(tally.good()),
        error_ratio: tally.error_ratio(),
        connections: *connections,
        latency_p50_ms: percentile(50.0),
        latency_p90_ms: percentile(90.0),
        latency_p99_ms: percentile(99.0),
        latency_max_ms: percentile(100.0),
        received_bytes: tally.bytes.received,
        generator_cpu_ratio: signs.worked,
        generator_wait_ratio: signs.waited,
        generator_busy_ratio: signs.busy,
        connections_idle_ratio: signs.idle,
        tcp_retransmits: kernel.and_then(|counts| counts.tcp_retransmits),
        listen_overflows: kernel.and_then(|counts| counts.listen_overflows),
        limited_by: signs.limited_by(),
        nginx_active: nginx.gauges.map(|s| s.active.saturating_sub(1)),
        nginx_reading: nginx.gauges.map(|s| s.reading),
        nginx_writing: nginx.gauges.map(|s| s.writing.saturating_sub(1)),
        nginx_waiting: nginx.gauges.map(|s| s.waiting),
        nginx_accepts_per_s: nginx.accepts_per_s,
        nginx_requests_per_s: nginx.requests_per_s,
        nginx_dropped: nginx.dropped,
        dropped: is_open.then_some(tally.counts.dropped),
        lateness_p99_ms: tally.lateness.percentile_us(99.0).map(|us| us as f64 / 1000.0),
    }
}

/// What nginx did in a stretch of the window, and what it looked like in it.
#[derive(Default)]
struct NginxSecond {
    gauges: Option<StubStatus>,
    accepts_per_s: Option<f64>,
    requests_per_s: Option<f64>,
    dropped: Option<u64>,
}

/// A poll is due at the end of each second; one that is up to this late (or
/// early) still stands for that end.
const LATE_US: i64 = 500_000;

impl NginxSecond {
    /// `over_us` is when the load was over.
    fn between(polls: &[&StubStatusPoll], start_us: i64, end_us: i64, over_us: i64) -> Self {
        let gauges = gauges(polls, start_us, end_us, over_us);
        let (Some((first, a)), Some((last, b))) =
            (poll_at(polls, start_us), poll_at(polls, end_us))
        else {
            return Self { gauges, ..Self::default() };
        };
        if last <= first {
            return Self { gauges, ..Self::default() };
        }
        let own = polls.iter().filter(|p| p.sent && p.offset_us > first && p.offset_us <= last);
        let own = own.count() as u64;
        let per_second = |count: u64| count as f64 * 1e6 / (last - first) as f64;
        // A counter that fell belongs to another nginx: no rate spans the restart.
        let delta = |from: u64, to: u64| to.checked_sub(from);
        let dropped = |s: &StubStatus| s.accepts.saturating_sub(s.handled);
        Self {
            gauges,
            accepts_per_s: delta(a.accepts, b.accepts).map(per_second),
            requests_per_s: delta(a.requests, b.requests)
                .map(|count| per_second(count.saturating_sub(own))),
            dropped: delta(dropped(&a), dropped(&b)),
        }
    }
}

/// The counters at a moment: of the poll nearest to it, when that is near
/// enough, else of the last one before it.
fn poll_at(polls: &[&StubStatusPoll], moment_us: i64) -> Option<(i64, StubStatus)> {
    let good = || polls.iter().filter_map(|p| Some((p.offset_us, p.moment, p.status?)));
    let measured = || {
        good().filter(|(_, moment, _)| {
            matches!(moment, PollMoment::Start | PollMoment::During | PollMoment::After)
        })
    };
    let distance = |offset: i64| (offset - moment_us).abs();
    measured()
        .filter(|(offset, ..)| distance(*offset) <= LATE_US)
        .min_by_key(|(offset, ..)| distance(*offset))
        .or_else(|| measured().rfind(|(offset, ..)| *offset < moment_us))
        .map(|(offset, _, status)| (offset, status))
}

/// The gauges of the last poll answered under load in a stretch. After the load
/// they say nothing about it: a poll that is due at its very end finds the
/// connections closed.
fn gauges(
    polls: &[&StubStatusPoll],
    start_us: i64,
    end_us: i64,
    over_us: i64,
) -> Option<StubStatus> {
    let stretch = start_us - LATE_US..=(end_us + LATE_US - 1).min(over_us);
    polls
        .iter()
        .filter(|p| matches!(p.moment, PollMoment::Start | PollMoment::During))
        .rfind(|p| p.status.is_some() && stretch.contains(&p.offset_us))
        .and_then(|p| p.status)
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
