//! A timer that wakes the thread at one moment, to the microsecond: the runtime
//! sees it as one more descriptor.

use crate::clock::{Clock, Nanos};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Goes off once for each time that it is set.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    clock: Clock,
    set_to: Cell<Nanos>,
}

impl Alarm {
    pub(super) fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "the successor is unsafe for types that may swap their descriptor; OwnedFd cannot"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Self { timer, clock, set_to: Cell::new(0) })
    }

    /// Lets it go off at `moment` and at no other one.
    pub(super) fn set(&self, moment: Nanos) {
        if self.set_to.replace(moment) == moment {
            return;
        }
        let (seconds, nanos) = self.clock.absolute(moment);
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let moment = Timespec { tv_sec: seconds.cast_signed(), tv_nsec: nanos.into() };
        let once = Itimerspec { it_interval: never, it_value: moment };
        let set = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
        set.expect("an open timer takes every time after the start of the clock");
    }

    /// Waits until it has gone off.
    pub(super) async fn rings(&self) {
        if let Ok(mut ready) = self.timer.readable().await {
            // Setting it anew takes the expiration back; there is nothing to read.
            ready.clear_ready();
        }
    }
}
