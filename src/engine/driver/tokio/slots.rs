//! What the thread keeps per connection slot outside its task: one deadline,
//! whether an attempt is in flight, and how to wake the task. Arming a deadline
//! is one store; a sweep over all of them finds those that have passed.

use crate::clock::{NEVER, Nanos};
use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

/// A deadline that the sweep has found to have passed.
const PASSED: Nanos = 0;

/// What a slot is doing, as the end of the run must know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flight {
    /// No attempt is in flight.
    #[default]
    None,
    /// One of the warm-up.
    Warmup,
    /// One that is measured.
    Measured,
}

/// The slots of one thread.
#[derive(Debug)]
pub(super) struct Slots {
    deadlines: Vec<Cell<Nanos>>,
    flights: Vec<Cell<Flight>>,
    wakers: RefCell<Vec<Waker>>,
    passings: Cell<u64>,
}

impl Slots {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            deadlines: (0..slots).map(|_| Cell::new(NEVER)).collect(),
            flights: (0..slots).map(|_| Cell::default()).collect(),
            wakers: RefCell::new(vec![Waker::noop().clone(); slots]),
            passings: Cell::new(0),
        }
    }

    /// Remembers how to wake slot `index`; its task keeps one waker for life.
    pub(super) fn enter(&self, index: usize, context: &Context<'_>) {
        self.wakers.borrow_mut()[index].clone_from(context.waker());
    }

    #[inline]
    pub(super) fn take_off(&self, index: usize, measured: bool, deadline: Nanos) {
        self.deadlines[index].set(deadline);
        self.flights[index].set(if measured { Flight::Measured } else { Flight::Warmup });
    }

    #[inline]
    pub(super) fn land(&self, index: usize) {
        self.flights[index].set(Flight::None);
    }

    pub(super) fn arm(&self, index: usize, deadline: Nanos) {
        self.deadlines[index].set(deadline);
    }

    pub(super) fn disarm(&self, index: usize) {
        self.deadlines[index].set(NEVER);
    }

    /// The deadline of slot `index` has passed.
    #[inline]
    pub(super) fn passed(&self, index: usize) -> bool {
        self.deadlines[index].get() == PASSED
    }

    /// How many deadlines have ever passed.
    #[inline]
    pub(super) fn passings(&self) -> u64 {
        self.passings.get()
    }

    /// Finds deadlines that have passed and wakes their slots.
    pub(super) fn sweep(&self, now: Nanos) {
        for (index, deadline) in self.deadlines.iter().enumerate() {
            if (PASSED + 1..=now).contains(&deadline.get()) {
                deadline.set(PASSED);
                self.passings.set(self.passings.get() + 1);
                self.wake(index);
            }
        }
    }

    pub(super) fn wake(&self, index: usize) {
        self.wakers.borrow()[index].wake_by_ref();
    }

    pub(super) fn wake_all(&self) {
        self.wakers.borrow().iter().for_each(Waker::wake_by_ref);
    }

    pub(super) fn in_flight(&self, which: Flight) -> u64 {
        self.flights.iter().filter(|flight| flight.get() == which).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Flight, Slots};

    #[test]
    fn a_sweep_finds_what_has_passed_and_only_that() {
        let slots = Slots::new(3);
        slots.take_off(0, true, 100);
        slots.take_off(1, false, 101);
        slots.sweep(100);
        assert_eq!([0, 1, 2].map(|slot| slots.passed(slot)), [true, false, false]);
        slots.take_off(0, true, 300);
        slots.sweep(200);
        assert_eq!([0, 1, 2].map(|slot| slots.passed(slot)), [false, true, false]);
        assert_eq!(slots.passings(), 2);
    }

    #[test]
    fn attempts_in_flight_are_known_by_kind() {
        let slots = Slots::new(4);
        slots.take_off(0, true, 1);
        slots.take_off(1, true, 1);
        slots.take_off(2, false, 1);
        slots.land(1);
        assert_eq!((slots.in_flight(Flight::Measured), slots.in_flight(Flight::Warmup)), (1, 1));
    }
}
