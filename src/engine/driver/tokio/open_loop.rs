//! The open loop of one thread: which slots are free, which requests they are
//! given, and when to wake up for the next one.

use super::alarm::Alarm;
use super::slots::Slots;
use crate::clock::{Clock, Nanos};
use crate::record::Recorder;
use crate::schedule::{Claim, Turn};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;

/// What a free slot is told.
#[derive(Clone, Copy, Debug, Default)]
enum Given {
    /// To wait.
    #[default]
    Nothing,
    /// To make the request that was intended to start then.
    Request(Nanos),
    /// That there are no more requests.
    End,
}

/// What the slots of one thread do in an open loop. A free slot is in the queue
/// of the free, or has been given something.
#[derive(Debug)]
pub(super) struct OpenLoop {
    claim: RefCell<Option<Claim>>,
    /// Longest first, so that every connection gets its turn.
    free: RefCell<VecDeque<usize>>,
    given: Vec<Cell<Given>>,
    alarm: Alarm,
}

impl OpenLoop {
    pub(super) fn new(slots: usize, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            claim: RefCell::new(None),
            free: RefCell::new(VecDeque::with_capacity(slots)),
            given: (0..slots).map(|_| Cell::default()).collect(),
            alarm: Alarm::new(clock)?,
        })
    }

    /// The schedule begins.
    pub(super) fn begin(&self, claim: Option<Claim>) {
        self.claim.replace(claim);
    }

    /// Slot `index` is free at `now`: tells it what to do at once, or lets it wait.
    pub(super) fn release(
        &self,
        index: usize,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> Option<Turn> {
        let mut claim = self.claim.borrow_mut();
        let mut free = self.free.borrow_mut();
        if free.is_empty() {
            match claim.as_mut()?.turn(now, 0, recorder) {
                Turn::Wait(until) => self.alarm.set(until),
                turn => return Some(turn),
            }
        }
        free.push_back(index);
        None
    }

    /// What the free slot `index` has been given meanwhile.
    pub(super) fn given(&self, index: usize) -> Option<Turn> {
        match self.given[index].take() {
            Given::Nothing => None,
            Given::Request(intended) => Some(Turn::Begin(intended)),
            Given::End => Some(Turn::Over),
        }
    }

    /// Gives the free slots what is due at `now`.
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
            match claim.turn(now, free.len(), recorder) {
                Turn::Begin(intended) => {
                    free.pop_front();
                    self.given[index].set(Given::Request(intended));
                    slots.wake(index);
                }
                Turn::Wait(until) => return self.alarm.set(until),
                Turn::Over => {
                    for index in free.drain(..) {
                        self.given[index].set(Given::End);
                        slots.wake(index);
                    }
                }
            }
        }
    }

    /// Counts what is lost while all slots are taken.
    pub(super) fn settle(&self, now: Nanos, recorder: &mut Recorder) {
        if let Some(claim) = self.claim.borrow().as_ref().filter(|claim| claim.ahead().is_none()) {
            claim.settle(now, self.free.borrow().len(), recorder);
        }
    }

    /// Waits until it may be time to dispatch.
    pub(super) async fn due(&self) {
        self.alarm.rings().await;
    }

    /// Counts what is never begun.
    pub(super) fn close(&self, now: Nanos, recorder: &mut Recorder) {
        let given = self.given.iter().filter_map(|given| match given.take() {
            Given::Request(intended) => Some(intended),
            _ => None,
        });
        if let Some(claim) = self.claim.borrow_mut().as_mut() {
            claim.close(now, given, recorder);
        }
    }
}
