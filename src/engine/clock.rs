//! Monotonic time as nanoseconds since the run's own origin: small enough to
//! keep several stamps per connection.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Nanoseconds since the origin of a [`Clock`].
pub(crate) type Nanos = u64;

const SECOND: Nanos = 1_000_000_000;

/// A moment that never comes.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// The clock that all threads of one run share: `CLOCK_MONOTONIC`, which the
/// kernel's timers go by, too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Nanos,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: monotonic() }
    }

    #[inline]
    pub(crate) fn now(self) -> Nanos {
        monotonic() - self.origin
    }

    /// (seconds, nanoseconds) of `moment` as the kernel's timers take it.
    pub(crate) const fn absolute(self, moment: Nanos) -> (u64, u32) {
        let moment = self.origin.saturating_add(moment);
        (moment / SECOND, (moment % SECOND) as u32)
    }
}

#[inline]
fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * SECOND + now.tv_nsec.unsigned_abs()
}

/// `duration` in nanoseconds; what does not fit (580 years) is [`NEVER`].
#[inline]
pub(crate) fn nanos(duration: Duration) -> Nanos {
    duration
        .as_secs()
        .checked_mul(SECOND)
        .and_then(|seconds| seconds.checked_add(u64::from(duration.subsec_nanos())))
        .unwrap_or(NEVER)
}
