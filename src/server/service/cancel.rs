//! Cancelling and deleting jobs.

use benchd_model::{Job, JobId, JobState, Timestamp};
use benchd_store::{CancelOutcome, Store, StoreError};

/// What became of the wish to cancel.
pub(crate) enum Cancelled {
    /// The job is over; what was measured is kept.
    Now(Job),
    /// Its worker was told and will end it within a heartbeat.
    Requested(Job),
    /// It had ended by itself before.
    TooLate(Job),
    /// There is no such job.
    NotFound,
}

/// Cancels a job. Cancelling a cancelled job again changes nothing and is fine.
pub(crate) async fn cancel(
    store: &Store,
    id: JobId,
    now: Timestamp,
) -> Result<Cancelled, StoreError> {
    Ok(match store.cancel(id, now).await? {
        CancelOutcome::Cancelled(job) => Cancelled::Now(job),
        CancelOutcome::Requested(job) => Cancelled::Requested(job),
        CancelOutcome::AlreadyFinished(job) if job.state == JobState::Cancelled => {
            Cancelled::Now(job)
        }
        CancelOutcome::AlreadyFinished(job) => Cancelled::TooLate(job),
        CancelOutcome::NotFound => Cancelled::NotFound,
    })
}
