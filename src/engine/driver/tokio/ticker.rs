//! The thread's only timer: a periodic one that the runtime sees as one more
//! descriptor. Tokio's own timers would cost every poll two looks at the clock.

use crate::driver::pace::tick_period;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Fires periodically; missed periods are one tick.
#[derive(Debug)]
pub(super) struct Ticker {
    timer: AsyncFd<OwnedFd>,
}

impl Ticker {
    /// A ticker that is fine enough for timeouts of this length.
    pub(super) fn for_timeout(timeout: Duration) -> io::Result<Self> {
        let period = tick_period(timeout);
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let nanos = i64::from(period.subsec_nanos());
        let period = Timespec { tv_sec: 0, tv_nsec: nanos };
        let every = Itimerspec { it_interval: period, it_value: period };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &every)?;
        #[expect(
            deprecated,
            reason = "the successor is unsafe for types that may swap their descriptor; OwnedFd cannot"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Self { timer })
    }

    /// Waits for the next period.
    pub(super) async fn tick(&mut self) {
        if let Ok(mut ready) = self.timer.readable().await {
            let mut fired = [0; 8];
            // Whatever it reads, the period is over and the next one armed.
            rustix::io::read(ready.get_inner(), &mut fired).ok();
            ready.clear_ready();
        }
    }
}
