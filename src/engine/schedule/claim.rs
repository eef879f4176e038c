//! One thread's hand in the schedule that all threads share.

use super::{News, Schedule, Taken};
use crate::clock::Nanos;
use crate::record::Recorder;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a thread with a free connection is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Begin the request that was intended to start at that time.
    Begin(Nanos),
    /// Nothing before that time, when the request is due that the thread has
    /// claimed.
    Wait(Nanos),
    /// Nothing any more: the schedule is over.
    Over,
}

/// A thread's way to the schedule. It locks once per request, for some 20 ns:
/// to hand blocks of requests out ahead of time would tie each to a thread whose
/// connections may all be taken when it comes due, while another's are free.
#[derive(Debug)]
pub(crate) struct Claim {
    schedule: Arc<Mutex<Schedule>>,
    /// The request that this thread will begin when it is due.
    ahead: Option<Nanos>,
    /// What lies ahead is no request, but the end.
    closing: bool,
}

impl Claim {
    pub(crate) fn new(schedule: Arc<Mutex<Schedule>>) -> Self {
        Self { schedule, ahead: None, closing: false }
    }

    /// When the claimed request is due.
    pub(crate) fn ahead(&self) -> Option<Nanos> {
        self.ahead
    }

    /// What a thread is to do at `now` with a connection that is free; `idle`
    /// of its connections have been for a while.
    pub(crate) fn turn(&mut self, now: Nanos, idle: usize, recorder: &mut Recorder) -> Turn {
        if let Some(ahead) = self.ahead.filter(|ahead| *ahead > now) {
            return Turn::Wait(ahead);
        }
        let mut schedule = lock(&self.schedule);
        let claimed = self.ahead.take().filter(|_| !self.closing);
        let taken = match claimed {
            Some(due) if schedule.redeem(due, now) => Some(Taken::Due(due)),
            _ => schedule.take(now, idle),
        };
        let (news, end, over) = (schedule.news(), schedule.lasts_until(), schedule.is_over(now));
        drop(schedule);
        tell(&news, recorder, now);
        recorder.schedule_lasts_until(end);
        match taken {
            Some(Taken::Due(intended)) => Turn::Begin(intended),
            Some(Taken::Claim(ahead)) => {
                self.ahead = Some(ahead);
                Turn::Wait(ahead)
            }
            None if !over => {
                (self.ahead, self.closing) = (Some(end), true);
                Turn::Wait(end)
            }
            None => Turn::Over,
        }
    }

    /// Called now and then by a thread that has claimed nothing, so that what is
    /// lost meanwhile is counted when it is.
    pub(crate) fn settle(&self, now: Nanos, idle: usize, recorder: &mut Recorder) {
        let mut schedule = lock(&self.schedule);
        schedule.settle(now, idle);
        let news = schedule.news();
        drop(schedule);
        tell(&news, recorder, now);
    }

    /// The run is over for this thread at `now`, and for all others about then.
    /// The `given` are requests that it has taken and not begun.
    pub(crate) fn close(
        &mut self,
        now: Nanos,
        given: impl Iterator<Item = Nanos>,
        recorder: &mut Recorder,
    ) {
        let mut schedule = lock(&self.schedule);
        schedule.close(now, self.ahead.take().filter(|_| !self.closing), given);
        let news = schedule.news();
        drop(schedule);
        tell(&news, recorder, now);
    }
}

/// Files what happened. No lock is held by then: that may close a second, and
/// other threads are not to wait for it.
fn tell(news: &News, recorder: &mut Recorder, now: Nanos) {
    if *news != News::default() {
        recorder.scheduled(news, now);
    }
}

/// A thread that panicked ends the run anyway.
fn lock(schedule: &Mutex<Schedule>) -> MutexGuard<'_, Schedule> {
    schedule.lock().unwrap_or_else(PoisonError::into_inner)
}
