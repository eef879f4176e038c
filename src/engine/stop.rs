//! A request from outside to end a run early.

use benchd_model::recording::EndReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const CANCELLED: u8 = 1;
const INTERRUPTED: u8 = 2;
const ABORTED: u8 = 3;

/// Ends a run early. Clones share one flag; the first request wins. Generator
/// threads look at it at least every 20 ms.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Somebody does not want the run any more.
    pub fn cancel(&self) {
        self.request(CANCELLED);
    }

    /// The generator is being stopped.
    pub fn interrupt(&self) {
        self.request(INTERRUPTED);
    }

    /// A criterion of the job is beyond rescue.
    pub fn abort(&self) {
        self.request(ABORTED);
    }

    /// Why the run is to end, if it is.
    #[must_use]
    pub fn requested(&self) -> Option<EndReason> {
        match self.0.load(Ordering::Relaxed) {
            CANCELLED => Some(EndReason::Cancelled),
            INTERRUPTED => Some(EndReason::Interrupted),
            ABORTED => Some(EndReason::Aborted),
            _ => None,
        }
    }

    fn request(&self, how: u8) {
        // Losing the race means that another request came first.
        self.0.compare_exchange(0, how, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}
