//! Attempts that take too long: what they lack, and whether their connection is
//! to blame.

use super::super::session::Session;
use super::Users;
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use benchd_model::Outcome;

impl Users {
    /// Ends attempts whose time has passed.
    pub(super) fn look_at_time(&mut self) {
        let now = self.local.now();
        for user in 0..self.users.len() {
            if self.local.slots.passed(self.slot_of(user)) && self.is_busy(user) {
                self.give_up(user, now);
            }
        }
    }

    fn is_busy(&self, user: usize) -> bool {
        self.users[user].stream.is_some() || self.waiting.contains(&user)
    }

    /// The time limit of a user's attempt has passed.
    fn give_up(&mut self, user: usize, now: Nanos) {
        let shared = self.local.shared.clone();
        let too_slow = |lack| Failure::too_slow(&shared, Outcome::Timeout, lack);
        let failure = match self.users[user].stream.take() {
            Some(mut stream) => {
                stream.cancel();
                let dead = |session: &mut Session| session.is_dead(&stream, now);
                if self.session_of(&stream).is_some_and(dead)
                    && self.session.as_ref().is_some_and(|s| s.number == stream.session)
                {
                    self.retire();
                }
                self.release(&stream);
                too_slow(stream.lack())
            }
            None => {
                self.waiting.retain(|waiting| *waiting != user);
                match &self.opening {
                    _ if self.session.is_some() => too_slow("no free stream"),
                    Some(opening) => opening.stage.get().too_slow(&shared),
                    None => too_slow("no HTTP/2 connection"),
                }
            }
        };
        self.fail(user, &failure, now);
    }
}
