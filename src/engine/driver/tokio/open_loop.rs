//! The open loop of one thread: which connections have room for a request, which
//! requests they are given, and when to wake up for the next one.

use super::alarm::Alarm;
use super::slots::Slots;
use crate::clock::{Clock, Nanos};
use crate::record::Recorder;
use crate::schedule::{Claim, Turn};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;

/// What the connections of one thread do in an open loop: with HTTP/1 each has
/// room for one request, with HTTP/2 for as many as it has free streams.
#[derive(Debug)]
pub(super) struct OpenLoop {
    claim: RefCell<Option<Claim>>,
    /// Connections with room, longest first, so that each gets its turn.
    free: RefCell<VecDeque<usize>>,
    desks: Vec<Desk>,
    /// The room of all of them.
    room: Cell<usize>,
    /// There are no more requests.
    over: Cell<bool>,
    /// Slots per connection; its first one wakes it.
    stride: usize,
    alarm: Alarm,
}

/// One connection's part.
#[derive(Debug, Default)]
struct Desk {
    /// Requests that it would take.
    room: Cell<usize>,
    /// Intended starts of those that it has been given and not yet begun.
    given: RefCell<VecDeque<Nanos>>,
}

impl OpenLoop {
    pub(super) fn new(connections: usize, stride: usize, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            claim: RefCell::new(None),
            free: RefCell::new(VecDeque::with_capacity(connections)),
            desks: (0..connections).map(|_| Desk::default()).collect(),
            room: Cell::new(0),
            over: Cell::new(false),
            stride,
            alarm: Alarm::new(clock)?,
        })
    }

    /// The schedule begins.
    pub(super) fn begin(&self, claim: Option<Claim>) {
        self.claim.replace(claim);
    }

    /// Connection `index` has `room` at `now`: tells what it is to do at once, or
    /// lets it wait for what it will be given. One that begins a request by this
    /// has no room until it says so again.
    pub(super) fn offer(
        &self,
        index: usize,
        room: usize,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> Option<Turn> {
        let waits = self.set_room(index, room) > 0;
        let mut free = self.free.borrow_mut();
        if room == 0 && waits {
            free.retain(|other| *other != index);
        }
        if room == 0 || waits {
            return None;
        }
        if free.is_empty() {
            match self.claim.borrow_mut().as_mut()?.turn(now, 0, recorder) {
                Turn::Wait(until) => self.alarm.set(until),
                turn => {
                    self.set_room(index, 0);
                    return Some(turn);
                }
            }
        }
        free.push_back(index);
        None
    }

    /// What connection `index` has been given meanwhile.
    pub(super) fn given(&self, index: usize) -> Option<Turn> {
        let given = self.desks[index].given.borrow_mut().pop_front().map(Turn::Begin);
        given.or_else(|| self.over.get().then_some(Turn::Over))
    }

    /// Gives the connections with room what is due at `now`.
    #[inline]
    pub(super) fn dispatch(&self, now: Nanos, slots: &Slots, recorder: &RefCell<Recorder>) {
        let due = |claim: &Claim| claim.ahead().is_some_and(|ahead| ahead <= now);
        if self.claim.borrow().as_ref().is_some_and(due) {
            self.give_due(now, slots, &mut recorder.borrow_mut());
        }
    }

    fn give_due(&self, now: Nanos, slots: &Slots, recorder: &mut Recorder) {
        let mut claim = self.claim.borrow_mut();
        let Some(claim) = claim.as_mut() else { return };
        let mut free = self.free.borrow_mut();
        while let Some(index) = free.front().copied() {
            match claim.turn(now, self.room.get(), recorder) {
                Turn::Begin(intended) => {
                    free.pop_front();
                    let desk = &self.desks[index];
                    desk.given.borrow_mut().push_back(intended);
                    if self.set_room(index, desk.room.get() - 1) > 1 {
                        free.push_back(index);
                    }
                    slots.wake(index * self.stride);
                }
                Turn::Wait(until) => return self.alarm.set(until),
                Turn::Over => {
                    self.over.set(true);
                    for index in free.drain(..) {
                        self.set_room(index, 0);
                        slots.wake(index * self.stride);
                    }
                }
            }
        }
    }

    /// The room that it had before.
    fn set_room(&self, index: usize, room: usize) -> usize {
        let before = self.desks[index].room.replace(room);
        self.room.set(self.room.get() - before + room);
        before
    }

    /// Counts what is lost while no connection has room.
    pub(super) fn settle(&self, now: Nanos, recorder: &mut Recorder) {
        if let Some(claim) = self.claim.borrow().as_ref().filter(|claim| claim.ahead().is_none()) {
            claim.settle(now, self.room.get(), recorder);
        }
    }

    /// Waits until it may be time to dispatch.
    pub(super) async fn due(&self) {
        self.alarm.rings().await;
    }

    /// Counts what is never begun.
    pub(super) fn close(&self, now: Nanos, recorder: &mut Recorder) {
        let given = self.desks.iter().flat_map(|desk| desk.given.take());
        if let Some(claim) = self.claim.borrow_mut().as_mut() {
            claim.close(now, given, recorder);
        }
    }
}
