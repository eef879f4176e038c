//! Waiting for something to become true of a job.

use crate::config::App;
use benchd_model::{Job, JobId};
use benchd_store::StoreError;
use std::time::Duration;
use tokio::time::Instant;

/// Look again at least this often, should a notice get lost.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Waits until `done` holds, at most `at_most`, and returns the job as it then
/// is; none when it does not exist (any more). A stopping service waits for
/// nobody.
pub(crate) async fn wait_for(
    app: &App,
    id: JobId,
    at_most: Duration,
    done: impl Fn(&Job) -> bool,
) -> Result<Option<Job>, StoreError> {
    let deadline = Instant::now() + at_most;
    // Taken before the first look, so that no change in between is missed.
    let mut changes = app.store.changes();
    loop {
        let Some(job) = app.store.job(id).await? else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || app.shutdown.is_cancelled() || done(&job) {
            return Ok(Some(job));
        }
        tokio::select! {
            () = changes.wait(left.min(LOOK_AGAIN)) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}
