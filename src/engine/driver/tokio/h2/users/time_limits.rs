//! Attempts that take too long: what they lack, and whether their connection is
//! to blame.

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
        self.users[user].flight.is_some() || self.waiting.contains(&user)
    }

    /// The time limit of a user's attempt has passed.
    fn give_up(&mut self, user: usize, now: Nanos) {
        let shared = self.local.shared.clone();
        let too_slow = |lack| Failure::too_slow(&shared, Outcome::Timeout, lack);
        let failure = match self.users[user].flight.take() {
            Some(flight) => {
                let current = self.session.as_deref_mut().into_iter();
                let mut sessions = current.chain(&mut self.draining);
                let carrier = sessions.find(|session| session.number == flight.session);
                let (lack, is_dead) = match carrier {
                    Some(session) => session.give_up(&flight, now),
                    None => ("no response", false),
                };
                if is_dead && self.session.as_ref().is_some_and(|s| s.number == flight.session) {
                    self.retire();
                }
                too_slow(lack)
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
