//! How a running job is told to stop: by its user, by the worker's shutdown,
//! because its lease is lost, or because a criterion is beyond rescue. The
//! first reason stands.

use benchd_engine::Stop;
use benchd_model::recording::EndReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// The stop switch of one job, shared by everything that runs for it.
#[derive(Clone, Default)]
pub(crate) struct Halt {
    stop: Stop,
    halted: CancellationToken,
    lost: Arc<AtomicBool>,
}

impl Halt {
    /// The user asked for it.
    pub(crate) fn cancel(&self) {
        self.stop.cancel();
        self.halted.cancel();
    }

    /// The worker is shutting down.
    pub(crate) fn interrupt(&self) {
        self.stop.interrupt();
        self.halted.cancel();
    }

    /// A criterion of the job is beyond rescue.
    pub(crate) fn abort(&self) {
        self.stop.abort();
    }

    /// Another worker has the job now: stop, and write nothing more.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        self.interrupt();
    }

    /// Why the job was told to stop, if it was.
    pub(crate) fn requested(&self) -> Option<EndReason> {
        self.stop.requested()
    }

    /// True when the lease is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Resolves when the job is told to stop.
    pub(crate) fn halted(&self) -> WaitForCancellationFuture<'_> {
        self.halted.cancelled()
    }

    /// The engine's end of the switch.
    pub(crate) fn engine(&self) -> Stop {
        self.stop.clone()
    }

    /// Interrupts the job when the guard goes away, so that no engine outlives
    /// a worker future that was dropped.
    pub(crate) fn interrupt_on_drop(&self) -> InterruptOnDrop {
        InterruptOnDrop(self.clone())
    }
}

/// See [`Halt::interrupt_on_drop`].
pub(crate) struct InterruptOnDrop(Halt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

#[cfg(test)]
mod tests {
    use super::Halt;
    use benchd_model::recording::EndReason;

    #[test]
    fn the_first_reason_stands() {
        let halt = Halt::default();
        assert_eq!(halt.requested(), None);
        halt.cancel();
        halt.interrupt();
        assert_eq!(halt.requested(), Some(EndReason::Cancelled));
        assert!(!halt.is_lost());
    }

    #[test]
    fn an_aborted_job_is_not_cancelled_afterwards() {
        let halt = Halt::default();
        halt.abort();
        halt.cancel();
        assert_eq!(halt.requested(), Some(EndReason::Aborted));
    }

    #[test]
    fn a_lost_lease_stops_the_engine() {
        let halt = Halt::default();
        halt.lose();
        assert_eq!(halt.engine().requested(), Some(EndReason::Interrupted));
        assert!(halt.is_lost());
    }

    #[test]
    fn dropping_the_guard_stops_the_engine() {
        let halt = Halt::default();
        drop(halt.interrupt_on_drop());
        assert_eq!(halt.requested(), Some(EndReason::Interrupted));
    }
}
