//! One thread's recorder: plain integers and histograms, no locks, no
//! allocation per request. Events are filed under the second they end in.

mod open_loop;

use super::Row;
use super::cpu::CpuMeter;
use super::in_flight::InFlight;
use super::second::Second;
use crate::clock::Nanos;
use crate::driver::{Report, Reporter};
use crate::http1::Completed;
use crate::shared::{Shared, Window};
use benchd_model::recording::{AddressCounts, FirstResponse};
use benchd_model::{Counts, Outcome};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Nanos = 1_000_000_000;

/// Reasons beyond so many different ones are summed up.
const MOST_REASONS: usize = 64;

/// A complete exchange with its stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// The number of the endpoint that answered.
    pub(crate) endpoint: u32,
    pub(crate) start: Nanos,
    pub(crate) sent: Nanos,
    pub(crate) first_byte: Nanos,
    pub(crate) done: Nanos,
    pub(crate) completed: Completed,
    /// The connection had carried a request before.
    pub(crate) reused: bool,
    /// The connection stays open.
    pub(crate) kept: bool,
}

/// A TLS handshake that succeeded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) lasted: Nanos,
    /// It resumed an earlier session.
    pub(crate) resumed: bool,
}

/// What a thread knows when it has ended.
#[derive(Debug, Default)]
pub(crate) struct ThreadEnd {
    pub(crate) warmup: Counts,
    pub(crate) opened_before: u64,
    pub(crate) reasons: BTreeMap<String, u64>,
    pub(crate) notes: BTreeSet<String>,
    pub(crate) rows: Vec<Row>,
    /// By number of the endpoint.
    pub(crate) endpoints: Vec<AddressCounts>,
}

/// The recorder of one thread.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    reporter: Reporter,
    /// The thread's open connections, kept by the driver.
    open: Rc<Cell<u32>>,
    window: Option<Window>,
    second_start: Nanos,
    second_end: Nanos,
    current: Box<Second>,
    in_flight: InFlight,
    cpu: CpuMeter,
    cpu_started: bool,
    last_event: Nanos,
    last_complete: Nanos,
    /// Body length of the run's first good response, once it is known.
    document_bytes: Option<u64>,
    /// Bytes given as sent that had not been, to be taken back.
    overstated: u64,
    /// When the schedule of an open loop is over; none in a closed one.
    schedule_over: Option<Nanos>,
    end: ThreadEnd,
}

impl Recorder {
    pub(crate) fn new(shared: Arc<Shared>, reporter: Reporter, open: Rc<Cell<u32>>) -> Self {
        let endpoints = vec![AddressCounts::default(); shared.prepared.plan.endpoints.len()];
        Self {
            shared,
            reporter,
            open,
            window: None,
            second_start: 0,
            second_end: 0,
            current: Second::new(0),
            in_flight: InFlight::default(),
            cpu: CpuMeter::of_this_thread(),
            cpu_started: false,
            last_event: 0,
            last_complete: 0,
            document_bytes: None,
            overstated: 0,
            schedule_over: None,
            end: ThreadEnd { endpoints, ..ThreadEnd::default() },
        }
    }

    /// The window is known from here on; before it only connections count.
    pub(crate) fn begin(&mut self, window: Window, now: Nanos) {
        self.window = Some(window);
        self.second_start = window.start;
        self.second_end = window.start + SECOND;
        self.in_flight.close(window.start, self.second_end.min(window.end));
        self.last_event = window.start;
        self.last_complete = window.start;
        self.advance(now);
    }

    /// Files everything up to `now`. Called between events, too, so that idle
    /// seconds are reported while they pass. What happens after the window's
    /// end extends it only by being complete.
    pub(crate) fn advance(&mut self, now: Nanos) {
        let Some(window) = self.window else { return };
        if !self.cpu_started && now >= window.start {
            self.cpu_started = true;
            self.cpu.lap();
        }
        self.roll_to(now.min(window.end));
    }

    /// A connection to `endpoint` is open (and, under TLS, ready) at `now`.
    pub(crate) fn connected(
        &mut self,
        endpoint: u32,
        now: Nanos,
        connect: Nanos,
        tls: Option<Handshake>,
    ) {
        self.end.endpoints[endpoint as usize].opened += 1;
        let before = self.window.is_none_or(|window| now < window.start);
        if before {
            self.end.opened_before += 1;
            // Without keep-alive it serves a warm-up request alone.
            if !self.shared.prepared.plan.keepalive {
                return;
            }
        } else {
            self.roll_to(now.min(self.window_end()));
            self.current.tally.connections.opened += 1;
        }
        self.current.tally.connect.record(Duration::from_nanos(connect));
        if let Some(Handshake { lasted, resumed }) = tls {
            self.current.tally.tls.record(Duration::from_nanos(lasted));
            self.current.tally.connections.tls_resumed += u64::from(resumed);
            self.current.tally.connections.tls_full += u64::from(!resumed);
        }
    }

    /// A kept connection was found closed before anything was sent on it.
    pub(crate) fn idle_closed(&mut self, measured: bool) {
        if measured {
            self.current.tally.connections.idle_closed += 1;
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, measured: bool, bytes: usize) {
        if measured {
            self.current.tally.bytes.sent += bytes as u64;
        }
    }

    /// So many bytes that were given as sent had not been.
    #[cold]
    pub(crate) fn unsent(&mut self, measured: bool, bytes: usize) {
        if measured {
            self.overstated += bytes as u64;
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, measured: bool, bytes: usize) {
        if measured {
            self.current.tally.bytes.received += bytes as u64;
        }
    }

    /// An attempt of a closed loop begins, measured or not.
    #[inline]
    pub(crate) fn begins(&mut self, now: Nanos) {
        self.roll_to(now.min(self.window_end()));
        self.in_flight.began(now);
    }

    /// A measured attempt ended well.
    #[inline]
    pub(crate) fn complete(&mut self, exchange: &Exchange) {
        let Exchange { endpoint, start, sent, first_byte, done, completed, reused, kept } =
            *exchange;
        self.end.endpoints[endpoint as usize].ok += 1;
        self.roll_to(done);
        self.in_flight.ended(done);
        self.last_event = self.last_event.max(done);
        self.last_complete = self.last_complete.max(done);
        let second = &mut *self.current;
        second.tally.counts.add(Outcome::Ok);
        second.tally.connections.reused_requests += u64::from(reused);
        second.tally.kept_alive += u64::from(kept);
        second.tally.bytes.body += completed.body;
        second.statuses[usize::from(completed.status)] += 1;
        let expected = self.shared.prepared.is_expected(completed.status);
        second.tally.unexpected_status += u64::from(!expected);
        if let Some(length) = self.document_bytes {
            second.tally.length_differs += u64::from(length != completed.body);
        }
        let latency = Duration::from_nanos(done - start);
        match (start == sent, first_byte == done) {
            (true, true) => second.undivided.record(latency),
            (true, false) => {
                second.unconnected.record(latency);
                second.tally.ttfb.record(Duration::from_nanos(first_byte - sent));
            }
            (false, _) => {
                second.tally.latency.record(latency);
                second.tally.service.record(Duration::from_nanos(done - sent));
                second.tally.ttfb.record(Duration::from_nanos(first_byte - sent));
            }
        }
        if self.end.rows.len() < self.shared.prepared.plan.keep_rows {
            self.keep_row(exchange);
        }
    }

    /// True until the run's first good response is known to this thread.
    #[inline]
    pub(crate) fn wants_first_response(&self) -> bool {
        self.document_bytes.is_none()
    }

    /// Offers a good response as the run's first; another thread's may have
    /// come before.
    #[cold]
    pub(crate) fn offer_first_response(
        &mut self,
        status: u16,
        first: impl FnOnce() -> FirstResponse,
    ) {
        let known = &self.shared.first_response;
        let first = if self.shared.prepared.is_expected(status) {
            Some(known.get_or_init(first))
        } else {
            known.get()
        };
        self.document_bytes = first.map(|first| first.document_bytes);
    }

    /// A measured attempt towards `endpoint` failed at `end`.
    pub(crate) fn failed(
        &mut self,
        endpoint: u32,
        outcome: Outcome,
        reason: &str,
        start: Nanos,
        end: Nanos,
    ) {
        self.end.endpoints[endpoint as usize].failures += 1;
        self.roll_to(end.min(self.window_end()));
        self.in_flight.ended(end);
        self.last_event = self.last_event.max(end);
        self.current.tally.counts.add(outcome);
        let lasted = match outcome {
            Outcome::Timeout => self.shared.prepared.plan.timeout,
            _ => Duration::from_nanos(end.saturating_sub(start)),
        };
        self.current.tally.failed.record(lasted);
        self.add_reason(reason, 1);
    }

    fn add_reason(&mut self, reason: &str, times: u64) {
        if let Some(count) = self.end.reasons.get_mut(reason) {
            *count += times;
            return;
        }
        let full = self.end.reasons.len() >= MOST_REASONS;
        let reason = if full { "other reasons" } else { reason };
        *self.end.reasons.entry(reason.to_owned()).or_default() += times;
    }

    /// An attempt of the warm-up ended at `now`.
    pub(crate) fn warmed_up(&mut self, outcome: Outcome, now: Nanos) {
        self.in_flight.ended(now);
        self.end.warmup.add(outcome);
    }

    /// Says once what the result should say about the generator's limits.
    pub(crate) fn note(&mut self, note: String) {
        self.end.notes.insert(note);
    }

    /// Attempts still in flight when the run ends.
    pub(crate) fn abort(&mut self, measured: u64, warmup: u64) {
        self.current.tally.counts.issued += measured;
        self.current.tally.counts.aborted += measured;
        self.end.warmup.issued += warmup;
        self.end.warmup.aborted += warmup;
    }

    /// Files the rest. The window ends when the time was over, or with the
    /// last complete response after that; otherwise when the run was stopped,
    /// or with the last attempt, but not before a schedule by count is over.
    pub(crate) fn finish(&mut self, now: Nanos, stopped: bool) -> ThreadEnd {
        if let Some(window) = self.window.filter(|window| now >= window.start) {
            let end = if now >= window.end {
                window.end.max(self.last_complete)
            } else if stopped {
                now
            } else {
                let over = self.schedule_over.map_or(0, |over| over.min(now));
                self.last_event.max(over)
            };
            self.roll_to(end);
            let rest = end.saturating_sub(self.second_start);
            if rest > 0 || !self.current.is_empty() {
                self.close_second(rest);
            }
        }
        std::mem::take(&mut self.end)
    }

    fn window_end(&self) -> Nanos {
        self.window.map_or(Nanos::MAX, |window| window.end)
    }

    #[inline]
    fn roll_to(&mut self, now: Nanos) {
        while now > self.second_end && self.window.is_some() {
            self.close_second(SECOND);
        }
    }

    #[cold]
    fn close_second(&mut self, span: Nanos) {
        let next = Second::new(self.current.index + 1);
        let mut second = std::mem::replace(&mut self.current, next);
        let lap = self.cpu.lap();
        second.tally.generator_cpu_us = lap.cpu_us;
        second.tally.generator_wait_us = lap.wait_us;
        let taken_back = self.overstated.min(second.tally.bytes.sent);
        second.tally.bytes.sent -= taken_back;
        self.overstated -= taken_back;
        second.tally.span_us = (span + 500) / 1000;
        second.tally.generator_busiest_us = lap.busy_us(second.tally.span_us);
        second.open = self.open.get();
        let end = self.second_start + span;
        self.second_start += SECOND;
        self.second_end += SECOND;
        let until = self.second_end.min(self.window_end());
        second.tally.in_flight_us = self.in_flight.close(end, until) / 1000;
        self.reporter.report(Report::Second(second));
    }

    fn keep_row(&mut self, exchange: &Exchange) {
        let micros = |from: Nanos, to: Nanos| {
            u32::try_from(to.saturating_sub(from) / 1000).unwrap_or(u32::MAX)
        };
        let origin = self.window.map_or(0, |window| window.start);
        self.end.rows.push(Row {
            start_us: exchange.start.saturating_sub(origin) / 1000,
            connect_us: micros(exchange.start, exchange.sent),
            wait_us: micros(exchange.sent, exchange.first_byte),
            total_us: micros(exchange.start, exchange.done),
        });
    }
}

#[cfg(test)]
mod tests;
