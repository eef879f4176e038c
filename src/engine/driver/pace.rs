//! The times and numbers by which every driver paces itself.

use crate::clock::Nanos;
use std::time::Duration;

pub(super) const MILLISECOND: Nanos = 1_000_000;

/// Connects of the whole run outstanding at the same time before the window:
/// half of nginx's backlog of 511, so that opening does not end in dropped SYNs
/// and their retransmissions. Within the window nothing is paced: what a full
/// backlog does to its users is a part of the measurement.
const OUTSTANDING_CONNECTS: u32 = 256;

/// How long a closing server may take to send its FIN.
pub(super) const FIN_PATIENCE: Nanos = 20 * MILLISECOND;

/// After so many servers in a row that never closed, nobody waits any more.
pub(super) const FINS_TO_MISS: u32 = 3;

const SHORTEST_PERIOD: Duration = Duration::from_millis(1);
const LONGEST_PERIOD: Duration = Duration::from_millis(20);

/// Connects that one of `threads` may have outstanding before the window.
pub(super) fn outstanding_connects(threads: u32) -> usize {
    (OUTSTANDING_CONNECTS / threads).max(1) as usize
}

/// How often to look at the time: often enough to notice timeouts of this
/// length within 2 %, but never more often than every 1 ms.
pub(super) fn tick_period(timeout: Duration) -> Duration {
    (timeout / 50).clamp(SHORTEST_PERIOD, LONGEST_PERIOD)
}

/// How long a user waits after `refusals` before this one. The more users a
/// thread has, the longer, so that a closed port costs little CPU.
pub(super) fn back_off(refusals: u32, users: usize) -> Nanos {
    let longest = (users as u64).clamp(50, 2000) * MILLISECOND;
    ((10 * MILLISECOND) << refusals.min(8)).min(longest)
}
