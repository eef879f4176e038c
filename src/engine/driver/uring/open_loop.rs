//! The open loop of one thread: which slots are free, and which requests they
//! get.

use super::load::{AT_ONCE, Load};
use super::ring::Wait;
use super::slot::Stage;
use crate::clock::{NEVER, Nanos};
use crate::schedule::{Claim, Turn};
use std::collections::VecDeque;

/// What an open loop adds to a thread.
pub(super) struct OpenLoop {
    claim: Claim,
    /// Free slots, longest first, so that every connection gets its turn.
    free: VecDeque<usize>,
    /// Slots with the request that each is to begin, and since when it is free.
    given: VecDeque<(usize, Nanos, Nanos)>,
}

impl OpenLoop {
    pub(super) fn new(claim: Claim, slots: usize) -> Self {
        Self { claim, free: VecDeque::with_capacity(slots), given: VecDeque::new() }
    }
}

impl Load {
    /// Slot `index` is free at `now`: it is given what waits, or waits itself.
    pub(super) fn release(&mut self, index: usize, now: Nanos) {
        let Some(open_loop) = &mut self.open_loop else { return };
        self.deadlines[index] = NEVER;
        self.slots[index].stage = Stage::Free(now);
        if open_loop.free.is_empty() {
            match open_loop.claim.turn(now, 0, &mut self.recorder) {
                Turn::Begin(intended) => return open_loop.given.push_back((index, intended, now)),
                Turn::Wait(_) => {}
                Turn::Over => return self.rest(index),
            }
        }
        open_loop.free.push_back(index);
    }

    /// Begins what free slots have been given and what has come due since, but
    /// not so much that the answers wait for it.
    #[inline]
    pub(super) fn dispatch(&mut self) {
        for _ in 0..AT_ONCE {
            let Some((index, intended, free)) = self.take_due() else { return };
            self.begin_due(index, intended, free);
        }
    }

    /// A slot with the request that it is to begin now, and since when it is free.
    fn take_due(&mut self) -> Option<(usize, Nanos, Nanos)> {
        let open_loop = self.open_loop.as_mut()?;
        if let Some(given) = open_loop.given.pop_front() {
            return Some(given);
        }
        let index = open_loop.free.front().copied()?;
        let now = self.shared.clock.now();
        match open_loop.claim.turn(now, open_loop.free.len(), &mut self.recorder) {
            Turn::Begin(intended) => {
                open_loop.free.pop_front();
                let Stage::Free(since) = self.slots[index].stage else { return None };
                Some((index, intended, since))
            }
            Turn::Wait(_) => None,
            Turn::Over => {
                let free = std::mem::take(&mut open_loop.free);
                free.into_iter().for_each(|index| self.rest(index));
                None
            }
        }
    }

    /// Begins the request that was intended to start at `intended` on slot
    /// `index`, free since `free`.
    fn begin_due(&mut self, index: usize, intended: Nanos, free: Nanos) {
        if self.is_unwatched(index) {
            self.drop_if_closed(index, free);
        }
        let now = self.now();
        let Some(window) = self.window else { return };
        let measured = intended >= window.start;
        let deadline = intended.saturating_add(self.timeout);
        self.recorder.begun(measured, intended, free, now);
        self.slots[index].talk.begin(intended, now, deadline, measured);
        self.deadlines[index] = deadline;
        if self.slots[index].socket.is_some() {
            self.goes_out(index);
            return self.exchange(index);
        }
        self.connect_for_attempt(index);
    }

    /// Records when the request of an open loop goes out.
    #[inline]
    pub(super) fn goes_out(&mut self, index: usize) {
        if self.open_loop.is_some() {
            self.slots[index].talk.goes_out(&mut self.recorder);
        }
    }

    /// How long to wait for something to happen.
    #[inline]
    pub(super) fn patience(&self) -> Wait {
        let Some(open_loop) = &self.open_loop else { return Wait::ForCompletion };
        match open_loop.claim.ahead() {
            _ if !open_loop.given.is_empty() => Wait::Not,
            Some(ahead) => Wait::Until(ahead),
            None if open_loop.free.is_empty() => Wait::ForCompletion,
            None => Wait::Not,
        }
    }

    /// Counts what is lost while all slots are taken.
    pub(super) fn settle(&mut self, now: Nanos) {
        if let Some(open_loop) = &self.open_loop
            && open_loop.claim.ahead().is_none()
        {
            open_loop.claim.settle(now, open_loop.free.len(), &mut self.recorder);
        }
    }

    /// Counts what is never begun.
    pub(super) fn close_schedule(&mut self) {
        let now = self.now();
        if let Some(open_loop) = &mut self.open_loop {
            let given = open_loop.given.drain(..).map(|(_, intended, _)| intended);
            open_loop.claim.close(now, given, &mut self.recorder);
        }
    }
}
