//! The schedule of an open loop: when requests are due, which of them wait for
//! a connection, and which are lost. One for all threads and connections. It
//! does no I/O and looks at no clock: every call says what time it is.
//!
//! A request leaves the schedule in one of three ways. A thread that has a free
//! connection *claims* the next one ahead of time and sends it when it is due.
//! One that no thread has claimed when it comes due waits, and the next
//! connection to come free, on whatever thread, takes it. What finds too many
//! waiting before it, or waits longer than the time limit, is dropped.
//!
//! Nothing is dropped while a thread has a claim: it has a connection free, and
//! is only late.

mod arrivals;
mod claim;

use crate::clock::Nanos;
use crate::plan::Rate;
use crate::shared::Window;
use arrivals::Arrivals;
use std::collections::VecDeque;

pub(crate) use claim::{Claim, Turn};

/// What happened since it was last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Measured requests that came due.
    pub(crate) due: u64,
    /// Measured requests that were lost.
    pub(crate) measured: Losses,
    /// Those of the warm-up.
    pub(crate) warmup: Losses,
}

/// Requests that came due and were never begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Too many were waiting before them.
    pub(crate) crowded_out: u64,
    /// They waited as long as a request may take.
    pub(crate) outwaited: u64,
    /// They were waiting when the run ended.
    pub(crate) left_over: u64,
}

#[derive(Clone, Copy, Debug)]
enum Loss {
    CrowdedOut,
    Outwaited,
    LeftOver,
}

/// A request that left the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is due.
    Due(Nanos),
    /// It will be, then.
    Claim(Nanos),
}

/// When each request of a run is due, and what became of it so far.
#[derive(Debug)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    /// The first request that has neither come due nor been claimed.
    next: Option<Nanos>,
    /// Intended starts of the requests that wait, ascending.
    waiting: VecDeque<Nanos>,
    max_queued: usize,
    /// How long a request may wait.
    patience: Nanos,
    window: Window,
    /// Measured requests that the schedule may yet have.
    left: Option<u64>,
    /// When the request after the last one would have been due.
    over: Option<Nanos>,
    /// Threads that have claimed a request ahead of time.
    claims: usize,
    /// When the first thread saw the run end.
    ended: Option<Nanos>,
    news: News,
}

impl Schedule {
    /// The schedule of `rate` from `origin`, where the warm-up begins, to the
    /// window's end or until `requests` were due within the window.
    pub(crate) fn new(
        rate: &Rate,
        origin: Nanos,
        window: Window,
        requests: Option<u64>,
        patience: Nanos,
    ) -> Self {
        let mut schedule = Self {
            arrivals: Arrivals::new(rate, origin),
            next: None,
            waiting: VecDeque::new(),
            max_queued: usize::try_from(rate.max_queued).unwrap_or(usize::MAX),
            patience,
            window,
            left: requests,
            over: None,
            claims: 0,
            ended: None,
            news: News::default(),
        };
        schedule.advance();
        schedule
    }

    /// Takes the request that a connection which is free at `now` shall make:
    /// the one that has waited longest, else the next one as a claim. None when
    /// there are no more. `idle` connections of the caller have been free for a
    /// while.
    pub(crate) fn take(&mut self, now: Nanos, idle: usize) -> Option<Taken> {
        self.settle(now, idle);
        // Another thread, whose clock was read later, may have filed it as due.
        if let Some(intended) = self.waiting.pop_front() {
            return Some(Taken::Due(intended));
        }
        let next = self.next?;
        self.claims += 1;
        self.advance();
        Some(Taken::Claim(next))
    }

    /// Until when the schedule lasts, as far as it is known: a run by time covers
    /// its time, and n requests at a rate the time that n of them take.
    pub(crate) fn lasts_until(&self) -> Nanos {
        self.over.map_or(self.window.end, |over| over.min(self.window.end))
    }

    /// True when there is nothing left to wait for.
    pub(crate) fn is_over(&self, now: Nanos) -> bool {
        self.ended.is_some() || now >= self.lasts_until()
    }

    /// A claim ends: the request has come due by `now`. False when that was too
    /// long ago to begin it.
    pub(crate) fn redeem(&mut self, intended: Nanos, now: Nanos) -> bool {
        self.claims -= 1;
        self.news.due += u64::from(self.is_measured(intended));
        let in_time = intended.saturating_add(self.patience) > now;
        if !in_time {
            self.lose(intended, Loss::Outwaited);
        }
        in_time
    }

    /// Files what has come due by `now` under the waiting or the lost.
    /// `idle` connections of the caller have been free for a while.
    pub(crate) fn settle(&mut self, now: Nanos, idle: usize) {
        let room = self.max_queued.saturating_add(idle);
        while let Some(due) = self.next.filter(|next| *next <= now) {
            self.outwait(due);
            self.news.due += u64::from(self.is_measured(due));
            if self.claims > 0 || self.waiting.len() < room {
                self.waiting.push_back(due);
            } else {
                self.lose(due, Loss::CrowdedOut);
            }
            self.advance();
        }
        self.outwait(now);
    }

    /// The run ends at `now`, or has before: what waits is never begun, nor are
    /// `given`, which the caller has taken, and what it has `claimed`.
    pub(crate) fn close(
        &mut self,
        now: Nanos,
        claimed: Option<Nanos>,
        given: impl Iterator<Item = Nanos>,
    ) {
        let end = *self.ended.get_or_insert(now);
        self.settle(end, 0);
        self.next = None;
        if let Some(intended) = claimed {
            self.claims -= 1;
            if intended <= end {
                self.news.due += u64::from(self.is_measured(intended));
                self.lose(intended, Loss::LeftOver);
            }
        }
        let waiting = std::mem::take(&mut self.waiting);
        given.chain(waiting).for_each(|intended| self.lose(intended, Loss::LeftOver));
    }

    /// What happened since the last call.
    pub(crate) fn news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// Loses those whose patience ends by `now`.
    fn outwait(&mut self, now: Nanos) {
        let patience = self.patience;
        let ended = |intended: &Nanos| intended.saturating_add(patience) <= now;
        while let Some(intended) = self.waiting.front().copied().filter(ended) {
            self.waiting.pop_front();
            self.lose(intended, Loss::Outwaited);
        }
    }

    fn lose(&mut self, intended: Nanos, loss: Loss) {
        let measured = self.is_measured(intended);
        let losses = if measured { &mut self.news.measured } else { &mut self.news.warmup };
        *match loss {
            Loss::CrowdedOut => &mut losses.crowded_out,
            Loss::Outwaited => &mut losses.outwaited,
            Loss::LeftOver => &mut losses.left_over,
        } += 1;
    }

    const fn is_measured(&self, intended: Nanos) -> bool {
        intended >= self.window.start
    }

    /// Moves on to the next request, if the schedule has one more.
    fn advance(&mut self) {
        let next = self.arrivals.next();
        self.next = (next < self.window.end).then_some(next);
        if let (Some(left), true) = (&mut self.left, next >= self.window.start) {
            match left.checked_sub(1) {
                Some(rest) => *left = rest,
                None => {
                    self.next = None;
                    self.over.get_or_insert(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
