//! What only an open loop records: how late requests are, and which are lost.

use super::Recorder;
use crate::clock::Nanos;
use crate::schedule::{Losses, News};
use benchd_model::{Outcome, Span};
use std::time::Duration;

/// So much later than when a schedule by count is over its last requests may be
/// begun and are in time: what it takes to be woken.
const IN_TIME: Nanos = 1_000_000;

impl Recorder {
    /// The schedule lasts until then, as far as it is known.
    #[inline]
    pub(crate) fn schedule_lasts_until(&mut self, over: Nanos) {
        self.schedule_over = Some(over);
    }

    /// A request is begun at `now`, on a connection that is free since `free`.
    #[inline]
    pub(crate) fn begun(&mut self, measured: bool, intended: Nanos, free: Nanos, now: Nanos) {
        self.begins(now);
        if !measured {
            return;
        }
        let window_end = self.window_end();
        let tally = &mut self.current.tally;
        let over = self.schedule_over.unwrap_or(window_end);
        tally.begun += u64::from(now < window_end && now < over.saturating_add(IN_TIME));
        let possible = intended.max(free);
        tally.dispatch.record(Duration::from_nanos(now.saturating_sub(possible)));
    }

    /// A request goes out.
    #[inline]
    pub(crate) fn sent_late(&mut self, measured: bool, intended: Nanos, sent: Nanos) {
        if measured {
            self.roll_to(sent.min(self.window_end()));
            let lateness = sent.saturating_sub(intended);
            self.current.tally.lateness.record(Duration::from_nanos(lateness));
        }
    }

    /// What the schedule has found out by `now`. What waited when the run ended
    /// had its chance, unless the run was stopped.
    pub(crate) fn scheduled(&mut self, news: &News, now: Nanos) {
        self.roll_to(now.min(self.window_end()));
        self.current.tally.due += news.due;
        let stopped = self.shared.must_stop();
        let plan = &self.shared.prepared.plan;
        let most = plan.rate.map_or(0, |rate| rate.max_queued);
        let limit = Span::from(plan.timeout);
        let taken = if plan.is_http2() { "stream" } else { "connection" };
        let Losses { crowded_out, outwaited, left_over } = news.measured;
        self.dropped(crowded_out, &format!("no {taken} free, and {most} requests waiting for one"));
        self.dropped(outwaited, &format!("no {taken} free within {limit}"));
        let Losses { crowded_out, outwaited, left_over: warmup_left_over } = news.warmup;
        (0..crowded_out + outwaited).for_each(|_| self.end.warmup.add(Outcome::Dropped));
        if stopped {
            return self.abort(left_over, warmup_left_over);
        }
        self.dropped(left_over, &format!("no {taken} free before the run was over"));
        (0..warmup_left_over).for_each(|_| self.end.warmup.add(Outcome::Dropped));
    }

    /// Requests that were never sent. Nobody knows how long their users would
    /// have waited: at least the time limit.
    fn dropped(&mut self, times: u64, reason: &str) {
        if times == 0 {
            return;
        }
        let limit = self.shared.prepared.plan.timeout;
        for _ in 0..times {
            self.current.tally.counts.add(Outcome::Dropped);
            self.current.tally.failed.record(limit);
        }
        self.add_reason(reason, times);
    }
}
