//! How much time attempts have been in flight in a second: the sum over all of
//! them, those that began before it or end after it included. Two additions an
//! attempt; nobody looks at those that are still in flight.

use crate::clock::Nanos;

/// The attempts in flight of one thread.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    attempts: i64,
    /// The second began.
    from: Nanos,
    /// What is known now to lie in the second.
    until: Nanos,
    /// Ends less begins, each counted from the second's begin.
    balance: i64,
    /// What happened after `until`, and by how much it changes `attempts`.
    ahead: Vec<(Nanos, i64)>,
}

impl InFlight {
    #[inline]
    pub(crate) fn began(&mut self, at: Nanos) {
        self.change(at, 1);
    }

    #[inline]
    pub(crate) fn ended(&mut self, at: Nanos) {
        self.change(at, -1);
    }

    /// Closes the second at `end`; the next one lasts `until` then, as far as is
    /// known. The time in flight in the one closed.
    pub(crate) fn close(&mut self, end: Nanos, until: Nanos) -> Nanos {
        let ahead = std::mem::take(&mut self.ahead);
        let (now, later) = ahead.into_iter().partition(|(at, _)| *at <= end);
        self.ahead = later;
        let now: Vec<(Nanos, i64)> = now;
        now.into_iter().for_each(|(at, by)| self.apply(at, by));
        let lasted = end.saturating_sub(self.from).cast_signed();
        let spent = self.balance + self.attempts * lasted;
        (self.from, self.until, self.balance) = (end, until, 0);
        u64::try_from(spent).unwrap_or(0)
    }

    #[inline]
    fn change(&mut self, at: Nanos, by: i64) {
        if at > self.until {
            return self.ahead.push((at, by));
        }
        self.apply(at, by);
    }

    #[inline]
    fn apply(&mut self, at: Nanos, by: i64) {
        self.attempts += by;
        self.balance -= by * at.saturating_sub(self.from).cast_signed();
    }
}

#[cfg(test)]
mod tests {
    use super::InFlight;

    /// A second from 100 to 200, and nothing before it.
    fn second() -> InFlight {
        let mut in_flight = InFlight::default();
        assert_eq!(in_flight.close(100, 200), 0);
        in_flight
    }

    #[test]
    fn an_attempt_counts_in_every_second_for_its_part_of_it() {
        let mut in_flight = second();
        in_flight.began(130);
        in_flight.began(150);
        in_flight.ended(160);
        assert_eq!(in_flight.close(200, 300), 70 + 10);
        assert_eq!(in_flight.close(300, 400), 100);
        in_flight.ended(310);
        assert_eq!(in_flight.close(400, 500), 10);
        assert_eq!(in_flight.close(500, 600), 0);
    }

    #[test]
    fn what_began_before_the_first_second_counts_from_its_begin() {
        let mut in_flight = InFlight::default();
        in_flight.began(30);
        in_flight.began(40);
        in_flight.ended(50);
        in_flight.close(100, 200);
        in_flight.ended(120);
        assert_eq!(in_flight.close(200, 300), 20);
    }

    #[test]
    fn what_ends_after_the_window_counts_up_to_where_the_second_ends() {
        for (end, spent) in [(200, 100), (240, 140), (260, 150)] {
            let mut in_flight = second();
            in_flight.began(100);
            in_flight.ended(250);
            assert_eq!(in_flight.close(end, end), spent, "{end}");
        }
    }

    #[test]
    fn what_begins_after_the_window_counts_from_then_on() {
        let mut in_flight = second();
        in_flight.began(210);
        in_flight.ended(230);
        assert_eq!(in_flight.close(200, 300), 0);
        assert_eq!(in_flight.close(220, 220), 10);
    }
}
