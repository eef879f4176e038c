//! Monotonic time as nanoseconds since the run's own origin: small enough to
//! keep several stamps per connection.

use std::time::{Duration, Instant};

/// Nanoseconds since the origin of a [`Clock`].
pub(crate) type Nanos = u64;

/// A moment that never comes.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// The clock that all threads of one run share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    #[inline]
    pub(crate) fn now(self) -> Nanos {
        nanos(self.origin.elapsed())
    }
}

/// `duration` in nanoseconds; what does not fit (580 years) is [`NEVER`].
#[inline]
pub(crate) fn nanos(duration: Duration) -> Nanos {
    duration
        .as_secs()
        .checked_mul(1_000_000_000)
        .and_then(|seconds| seconds.checked_add(u64::from(duration.subsec_nanos())))
        .unwrap_or(NEVER)
}
