//! Seconds of several threads become seconds of the run: each is handed out
//! once, in order, as soon as every thread is past it.

use super::second::Second;
use benchd_model::{SecondRecord, Tally};
use std::collections::BTreeMap;

/// Merges the seconds of all threads.
#[derive(Debug)]
pub(crate) struct Merger {
    /// Per thread: how many seconds it has delivered.
    delivered: Vec<u32>,
    /// Per thread: its connections open at its last second.
    open: Vec<u32>,
    pending: BTreeMap<u32, Pending>,
    next: u32,
}

#[derive(Debug, Default)]
struct Pending {
    tally: Tally,
    open: Vec<(usize, u32)>,
}

impl Merger {
    pub(crate) fn new(threads: u32) -> Self {
        let threads = threads as usize;
        Self {
            delivered: vec![0; threads],
            open: vec![0; threads],
            pending: BTreeMap::new(),
            next: 0,
        }
    }

    pub(crate) fn add(&mut self, thread: u32, second: Second) {
        let thread = thread as usize;
        self.delivered[thread] = second.index + 1;
        let pending = self.pending.entry(second.index).or_default();
        pending.open.push((thread, second.open));
        pending.tally.merge_parallel(&second.into_tally());
    }

    /// The thread delivers nothing more.
    pub(crate) fn ended(&mut self, thread: u32) {
        self.delivered[thread as usize] = u32::MAX;
    }

    /// The next second, if every thread is past it. A thread delivers a shorter
    /// one only at its end, so that the longest span is the second's own.
    pub(crate) fn next(&mut self) -> Option<SecondRecord> {
        let past = self.delivered.iter().copied().min().unwrap_or(0);
        let last = self.pending.last_key_value().map(|(index, _)| *index)?;
        if self.next >= past || self.next > last {
            return None;
        }
        let index = self.next;
        self.next += 1;
        let mut pending = self.pending.remove(&index).unwrap_or_default();
        for (thread, open) in pending.open {
            self.open[thread] = open;
        }
        pending.tally.compact();
        let connections_open = self.open.iter().sum();
        Some(SecondRecord { index, connections_open, tally: pending.tally, kernel: None })
    }
}

#[cfg(test)]
mod tests {
    use super::{Merger, Second};
    use benchd_model::Outcome;

    fn second(index: u32, ok: u64, span_us: u64, open: u32) -> Second {
        let mut second = *Second::new(index);
        (0..ok).for_each(|_| second.tally.counts.add(Outcome::Ok));
        second.tally.span_us = span_us;
        second.open = open;
        second
    }

    fn drain(merger: &mut Merger) -> Vec<(u32, u64, u64, u32)> {
        std::iter::from_fn(|| merger.next())
            .map(|r| (r.index, r.tally.counts.ok, r.tally.span_us, r.connections_open))
            .collect()
    }

    #[test]
    fn a_second_waits_for_every_thread() {
        let mut merger = Merger::new(2);
        merger.add(0, second(0, 3, 1_000_000, 5));
        merger.add(0, second(1, 1, 1_000_000, 5));
        assert_eq!(drain(&mut merger), []);
        merger.add(1, second(0, 4, 1_000_000, 6));
        assert_eq!(drain(&mut merger), [(0, 7, 1_000_000, 11)]);
        merger.add(1, second(1, 1, 300_000, 6));
        assert_eq!(drain(&mut merger), [(1, 2, 1_000_000, 11)]);
    }

    #[test]
    fn threads_that_end_early_leave_whole_seconds_and_only_the_last_is_short() {
        let mut merger = Merger::new(2);
        merger.add(0, second(0, 1, 200_000, 1));
        merger.ended(0);
        merger.add(1, second(0, 1, 1_000_000, 1));
        merger.add(1, second(1, 1, 1_000_000, 1));
        merger.add(1, second(2, 1, 7, 1));
        merger.ended(1);
        assert_eq!(drain(&mut merger), [(0, 2, 1_000_000, 2), (1, 1, 1_000_000, 2), (2, 1, 7, 2)]);
        assert_eq!(drain(&mut merger), []);
    }

    #[test]
    fn the_last_second_is_short_before_anybody_says_that_it_is_the_last() {
        let mut merger = Merger::new(1);
        merger.add(0, second(0, 1, 1_000_000, 1));
        merger.add(0, second(1, 1, 9_000, 1));
        assert_eq!(drain(&mut merger), [(0, 1, 1_000_000, 1), (1, 1, 9_000, 1)]);
    }

    #[test]
    fn nothing_recorded_is_no_second() {
        let mut merger = Merger::new(1);
        merger.ended(0);
        assert_eq!(drain(&mut merger), []);
    }
}
