//! The users of one connection slot in an open loop: which requests of the schedule
//! they take.

use super::Users;
use crate::clock::Nanos;
use crate::schedule::Turn;

impl Users {
    /// Begins what is due and given to this connection, or waits for it.
    pub(super) fn begin_due(&mut self, now: Nanos) {
        let local = self.local.clone();
        let Some(open_loop) = &local.open_loop else { return };
        local.dispatch(now);
        loop {
            let turn = open_loop.given(self.index).or_else(|| {
                let room = self.room_at_rate(now);
                open_loop.offer(self.index, room, now, &mut local.recorder.borrow_mut())
            });
            match turn {
                Some(Turn::Begin(intended)) => self.begin_intended(intended, now),
                Some(Turn::Over) => {
                    self.exhausted = true;
                    return;
                }
                Some(Turn::Wait(_)) | None => return,
            }
        }
    }

    /// How many requests this connection would take. While there is no session, one
    /// of them opens it; further ones are left to connections with a free stream.
    fn room_at_rate(&mut self, now: Nanos) -> usize {
        let room = match &self.session {
            _ if self.exhausted => 0,
            None => self.idle.len().min(usize::from(self.waiting.is_empty())),
            Some(_) => self.room(),
        };
        self.free = (room > 0).then(|| self.free.unwrap_or(now));
        room
    }

    fn begin_intended(&mut self, intended: Nanos, now: Nanos) {
        let Some(window) = self.local.window() else { return };
        let (measured, free) = (intended >= window.start, self.free.unwrap_or(now));
        self.local.recorder.borrow_mut().begun(measured, intended, free, now);
        self.begin(intended, measured);
    }
}
