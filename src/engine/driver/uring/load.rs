//! The load of one thread: which slot does what next. Completions of the
//! kernel are taken apart in `events`; connections are made in `connect`.

use super::completion::Token;
use super::open_loop::OpenLoop;
use super::ring::{Ring, Wait};
use super::slot::{Slot, Stage};
use crate::budget::Budget;
use crate::clock::{NEVER, Nanos, nanos};
use crate::driver::Reporter;
use crate::driver::failure::Failure;
use crate::driver::pace::{
    FIN_PATIENCE, FINS_TO_MISS, back_off, outstanding_connects, tick_period,
};
use crate::endpoint::Endpoint;
use crate::http1::HeadCache;
use crate::record::{Exchange, Recorder, ThreadEnd};
use crate::shared::{Shared, Window};
use benchd_model::Outcome;
use rustix::net::Shutdown;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// So many completions are handled, and so many slots begin, before what they
/// have queued goes out and what has come meanwhile is stamped: requests leave
/// when their stamps say so.
pub(super) const AT_ONCE: usize = 16;

/// The largest request that a socket with nothing to send takes whole, by far.
const SMALL: usize = 4096;

/// Everything of one thread.
pub(super) struct Load {
    // Dropped first: it waits until the kernel is done with everything.
    pub(super) ring: Ring,
    pub(super) shared: Arc<Shared>,
    /// The number of slot 0 among all connections of the run.
    pub(super) first: usize,
    pub(super) slots: Vec<Slot>,
    /// By slot; apart from the slots, so that looking at all costs little.
    pub(super) deadlines: Vec<Nanos>,
    budget: Budget,
    /// There when the load has a rate and has begun.
    pub(super) open_loop: Option<OpenLoop>,
    pub(super) recorder: Recorder,
    pub(super) heads: HeadCache,
    /// Connections of this thread that are open.
    pub(super) open: Rc<Cell<u32>>,
    /// Connections in a row whose FIN did not come in time.
    pub(super) fins_missed: u32,
    pub(super) timeout: Nanos,
    /// The request is sent in one piece.
    pub(super) small: bool,
    /// Nobody need look at a body: it comes plain, and by TCP.
    pub(super) discards: bool,
    /// The last response did not come in one piece, but with a length: the next
    /// one's body need not be looked at. None before the first one.
    pub(super) bulky: Option<bool>,
    pub(super) window: Option<Window>,
    window_over: bool,
    /// Slots that have work to do.
    pub(super) busy: usize,
    /// The first slot that has not yet begun its stage.
    unbegun: usize,
    /// Connects that may yet begin before the window.
    pub(super) permits: usize,
    pub(super) tick_due: bool,
    /// Slots whose request cannot be sent, to be judged when nothing that has
    /// come is unread.
    pub(super) doubtful: Vec<usize>,
    /// Connections under TLS whose request has yet to go out.
    pub(super) unsealed: Vec<Token>,
}

impl Load {
    pub(super) fn new(shared: &Arc<Shared>, thread: u32, reporter: Reporter) -> io::Result<Self> {
        let prepared = &shared.prepared;
        let plan = &prepared.plan;
        let share = prepared.connections_of(thread);
        let open = Rc::new(Cell::new(0));
        Ok(Self {
            ring: Ring::new(shared, tick_period(plan.timeout))?,
            first: share.start,
            slots: share.clone().map(|_| Slot::default()).collect(),
            deadlines: vec![NEVER; share.len()],
            budget: Budget::new(shared.pool.clone()),
            open_loop: None,
            recorder: Recorder::new(shared.clone(), reporter, open.clone()),
            heads: HeadCache::new(&plan.request.method, prepared.speaks_http10()),
            open,
            fins_missed: 0,
            timeout: nanos(plan.timeout),
            small: prepared.request.len() <= SMALL,
            discards: !plan.is_tls() && !plan.endpoints.iter().any(Endpoint::is_unix),
            bulky: None,
            window: None,
            window_over: false,
            busy: 0,
            unbegun: share.len(),
            permits: outstanding_connects(prepared.threads),
            tick_due: false,
            doubtful: Vec::new(),
            unsealed: Vec::new(),
            shared: shared.clone(),
        })
    }

    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// Opens the connections ahead of time, if that is wanted.
    pub(super) fn preconnect(&mut self) -> io::Result<()> {
        let plan = &self.shared.prepared.plan;
        if plan.preconnect && plan.keepalive {
            (self.busy, self.unbegun) = (self.slots.len(), 0);
            self.run_until_idle()?;
        }
        Ok(())
    }

    /// Makes the load.
    pub(super) fn make(&mut self, window: Window) -> io::Result<()> {
        self.begin_window(window);
        self.run_until_idle()
    }

    /// Lets all slots begin.
    pub(super) fn begin_window(&mut self, window: Window) {
        self.window = Some(window);
        self.recorder.begin(window, self.now());
        let slots = self.slots.len();
        self.open_loop = self.shared.claim(window).map(|claim| OpenLoop::new(claim, slots));
        (self.busy, self.unbegun) = (self.slots.len(), 0);
    }

    /// Counts what is in flight as aborted and closes the books.
    pub(super) fn finish(&mut self) -> ThreadEnd {
        let stopped = self.shared.must_stop();
        self.close_schedule();
        // What is still queued has not been sent.
        for slot in self.slots.iter().filter(|slot| slot.stage == Stage::Exchanging) {
            if self.ring.holds(slot.asked) {
                self.recorder.unsent(slot.talk.attempt.measured, slot.talk.attempt.written);
            }
        }
        let in_flight = |measured: bool| {
            let slots = self.slots.iter().filter(|slot| slot.stage.in_flight());
            slots.filter(|slot| slot.talk.attempt.measured == measured).count() as u64
        };
        self.recorder.abort(in_flight(true), in_flight(false));
        self.recorder.finish(self.now(), stopped)
    }

    /// Lets the slots work until all of them rest or time is up.
    fn run_until_idle(&mut self) -> io::Result<()> {
        while self.busy > 0 {
            let all_begun = self.begin_some();
            if self.busy == 0 {
                break;
            }
            self.send_sealed();
            self.ring.enter(if all_begun { self.patience() } else { Wait::Not })?;
            self.handle_some();
            self.judge_doubtful();
            self.dispatch();
            if std::mem::take(&mut self.tick_due) {
                self.ring.tick();
                if self.tick() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Handles some of what has come.
    fn handle_some(&mut self) {
        let mut handled = 0;
        while let Some(done) = self.ring.completion() {
            self.handle(done);
            handled += 1;
            // Doubts, and whether it is too late, are decided when nothing that
            // has come is unread.
            if handled >= AT_ONCE && self.doubtful.is_empty() && !self.tick_due {
                break;
            }
        }
    }

    /// Lets some more slots begin their stage. True when there are none left
    /// that could.
    pub(super) fn begin_some(&mut self) -> bool {
        let until = self.slots.len().min(self.unbegun + AT_ONCE);
        while self.unbegun < until {
            let index = self.unbegun;
            if self.window.is_none() {
                if self.permits == 0 {
                    return true;
                }
                self.permits -= 1;
                self.unbegun += 1;
                self.open_ahead(index);
            } else {
                self.unbegun += 1;
                if self.slots[index].stage == Stage::Waiting {
                    self.next(index, self.now());
                }
            }
        }
        self.unbegun == self.slots.len()
    }

    /// Slot `index` makes its next attempt, or rests.
    #[inline]
    pub(super) fn next(&mut self, index: usize, now: Nanos) {
        if self.open_loop.is_none() && self.is_unwatched(index) {
            self.drop_if_closed(index, now);
        }
        self.go_on(index, now);
    }

    /// True when no completion will tell what may have come on the connection.
    #[inline]
    pub(super) fn is_unwatched(&mut self, index: usize) -> bool {
        let slot = &mut self.slots[index];
        let quiet = slot.tls.as_mut().is_none_or(|tls| tls.is_quiet());
        slot.socket.is_some() && !(slot.receiving && quiet)
    }

    /// As `next`, but the connection, if there is one, is known to be of use.
    #[inline]
    fn go_on(&mut self, index: usize, now: Nanos) {
        if self.open_loop.is_some() {
            return self.release(index, now);
        }
        if self.slots[index].socket.is_some() {
            if !self.begin(index, now) {
                return self.rest(index);
            }
            return self.exchange(index);
        }
        if !self.begin(index, self.now()) {
            return self.rest(index);
        }
        self.connect_for_attempt(index);
    }

    pub(super) fn rest(&mut self, index: usize) {
        self.deadlines[index] = NEVER;
        self.slots[index].stage = Stage::Resting;
        self.busy -= 1;
    }

    /// Takes the next attempt, if there is one.
    #[inline]
    fn begin(&mut self, index: usize, now: Nanos) -> bool {
        let Some(window) = self.window else { return false };
        if now >= window.end {
            return false;
        }
        let measured = now >= window.start;
        if measured && !self.budget.take() {
            return false;
        }
        self.recorder.begins(now);
        let deadline = now.saturating_add(self.timeout);
        self.slots[index].talk.begin(now, now, deadline, measured);
        self.deadlines[index] = deadline;
        true
    }

    /// A response is complete. There may be more to read when `unread`.
    #[inline]
    pub(super) fn completed(&mut self, index: usize, exchange: &Exchange, unread: bool) {
        let slot = &mut self.slots[index];
        let tls = slot.tls.as_ref();
        slot.talk.settle(exchange, &mut self.recorder, &self.heads, || tls?.describe());
        if !exchange.kept {
            return self.part(index, exchange.completed.excess);
        }
        // Free since the response was there; what follows begins now.
        let now = if self.open_loop.is_some() { exchange.done } else { self.now() };
        if unread { self.next(index, now) } else { self.go_on(index, now) }
    }

    /// The attempt of a connected slot has failed.
    #[cold]
    pub(super) fn failed(&mut self, index: usize, failure: &Failure) {
        let now = self.now();
        self.fail(index, failure, now);
        self.next(index, now);
    }

    /// Records a failed attempt and closes its connection.
    fn fail(&mut self, index: usize, failure: &Failure, now: Nanos) {
        self.slots[index].talk.fail(failure, &mut self.recorder, now);
        self.disconnect(index);
    }

    /// Records an attempt that found no connection and waits a while. When
    /// others are in and there is no room for it, this user stands down.
    #[cold]
    pub(super) fn give_up_on(&mut self, index: usize, failure: &Failure) {
        self.fail(index, failure, self.now());
        if failure.no_room && self.slots[index].talk.attempt.measured && self.open.get() > 0 {
            return self.rest(index);
        }
        // In an open loop the schedule sets the pace, whatever the answers are.
        let paced = self.open_loop.is_some();
        if paced || !matches!(failure.outcome, Outcome::Connect | Outcome::Local) {
            return self.next(index, self.now());
        }
        let pause = back_off(self.slots[index].refusals, self.slots.len());
        self.slots[index].refusals += 1;
        self.slots[index].stage = Stage::BackingOff;
        self.deadlines[index] = self.now() + pause;
    }

    /// Closes after the server has, so that TIME_WAIT stays on its side and
    /// does not use our ports up. A server that does not close is not awaited
    /// for long.
    fn part(&mut self, index: usize, excess: bool) {
        let talk = &self.slots[index].talk;
        let lingers = !self.shared.prepared.endpoint(talk.endpoint).is_unix();
        if excess || talk.attempt.closed || !lingers || self.fins_missed >= FINS_TO_MISS {
            return self.parted(index);
        }
        self.slots[index].stage = Stage::Parting;
        self.deadlines[index] = self.now() + FIN_PATIENCE;
        if self.slots[index].tls.is_some() {
            return self.heed(index);
        }
        self.receive(index);
    }

    pub(super) fn parted(&mut self, index: usize) {
        self.disconnect(index);
        self.next(index, self.now());
    }

    /// Everything that depends on time alone. True when the stage is over
    /// whatever the slots are doing.
    fn tick(&mut self) -> bool {
        if self.shared.must_stop() {
            return true;
        }
        let now = self.now();
        for index in 0..self.slots.len() {
            if self.deadlines[index] <= now {
                self.deadlines[index] = NEVER;
                self.too_late(index);
            }
        }
        self.recorder.advance(now);
        self.settle(now);
        let Some(window) = self.window else { return false };
        if now >= window.end && !std::mem::replace(&mut self.window_over, true) {
            for index in 0..self.slots.len() {
                if self.slots[index].stage == Stage::BackingOff {
                    self.next(index, now);
                }
            }
        }
        now >= window.grace_end
    }

    /// The deadline of slot `index` has passed.
    #[cold]
    fn too_late(&mut self, index: usize) {
        match self.slots[index].stage {
            Stage::Preconnecting => {
                self.shared.gauge.missed();
                self.disconnect(index);
                self.opened_ahead(index);
            }
            Stage::Connecting => {
                let failure = match &self.slots[index].tls {
                    None => Failure::no_connection_in_time(&self.shared),
                    Some(_) => Failure::no_handshake_in_time(&self.shared),
                };
                self.give_up_on(index, &failure);
            }
            Stage::Exchanging => {
                let failure = self.slots[index].talk.too_slow(&self.shared);
                self.failed(index, &failure);
            }
            Stage::Parting => {
                self.fins_missed += 1;
                self.parted(index);
            }
            Stage::BackingOff => self.next(index, self.now()),
            Stage::Waiting | Stage::Free(_) | Stage::Resting => {}
        }
    }
}

impl Drop for Load {
    /// Ends what is under way on every connection, for the ring to come to rest.
    fn drop(&mut self) {
        for socket in self.slots.iter().filter_map(|slot| slot.socket.as_ref()) {
            // One that is not connected any more has nothing under way.
            rustix::net::shutdown(socket, Shutdown::Both).ok();
        }
    }
}
