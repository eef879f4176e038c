//! Takes jobs from the queue: woken when it changes, and looking by itself now
//! and then in case it was not told.

use crate::execute::execute;
use crate::reaper::{self, Reaper};
use crate::{Worker, WorkerError};
use benchd_model::{JobId, JobState, Timestamp};
use benchd_store::{CancelOutcome, StoreError};
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How often the queue is looked at without being told.
const LOOK_EVERY: Duration = Duration::from_secs(1);

type Ended = Result<JobState, WorkerError>;

/// See [`Worker::run`].
pub(crate) async fn run(worker: &Worker, shutdown: &CancellationToken) {
    tokio::join!(claim_and_run(worker, shutdown), reaper::run(worker, shutdown));
}

async fn claim_and_run(worker: &Worker, shutdown: &CancellationToken) {
    let mut jobs: JoinSet<Ended> = JoinSet::new();
    let mut changes = worker.store.changes();
    while !shutdown.is_cancelled() {
        if let Err(error) = claim_all(worker, shutdown, &mut jobs).await {
            tracing::warn!(%error, "the queue cannot be read; trying again");
            let pause = tokio::time::sleep(LOOK_EVERY);
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = pause => continue,
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(ended) = jobs.join_next() => report(ended),
            () = changes.wait(LOOK_EVERY) => {}
        }
    }
    while let Some(ended) = jobs.join_next().await {
        report(ended);
    }
}

/// Starts jobs until the queue has none that may run, or the worker is full.
async fn claim_all(
    worker: &Worker,
    shutdown: &CancellationToken,
    jobs: &mut JoinSet<Ended>,
) -> Result<(), StoreError> {
    let Worker { store, config, .. } = worker;
    while jobs.len() < config.at_once && !shutdown.is_cancelled() {
        let claimed = store.claim(&config.name, None, Timestamp::now(), config.lease).await?;
        let Some(lease) = claimed else { break };
        let (worker, shutdown) = (worker.clone(), shutdown.clone());
        jobs.spawn(async move { Box::pin(execute(&worker, lease, &shutdown)).await });
    }
    Ok(())
}

/// See [`Worker::run_one`].
pub(crate) async fn run_one(worker: &Worker, job: JobId, shutdown: &CancellationToken) -> Ended {
    let Worker { store, config, .. } = worker;
    let mut changes = store.changes();
    // The host may be held by a job whose worker is dead.
    let mut reaper = Reaper::new(worker);
    loop {
        reaper.round_if_due().await;
        let now = Timestamp::now();
        if let Some(lease) = store.claim(&config.name, Some(job), now, config.lease).await? {
            return Box::pin(execute(worker, lease, shutdown)).await;
        }
        let found = store.job(job).await?.ok_or(WorkerError::UnknownJob(job))?;
        if found.state.is_finished() {
            return Ok(found.state);
        }
        tokio::select! {
            () = shutdown.cancelled() => return give_up(worker, job).await,
            () = changes.wait(LOOK_EVERY) => {}
        }
    }
}

/// Nobody waits for the job any more, so it must not start some day.
async fn give_up(worker: &Worker, job: JobId) -> Ended {
    match worker.store.cancel(job, Timestamp::now()).await? {
        CancelOutcome::Cancelled(job)
        | CancelOutcome::Requested(job)
        | CancelOutcome::AlreadyFinished(job) => Ok(job.state),
        CancelOutcome::NotFound => Err(WorkerError::UnknownJob(job)),
    }
}

fn report(ended: Result<Ended, JoinError>) {
    match ended {
        Ok(Ok(_)) => {}
        Ok(Err(error @ (WorkerError::Spooled { .. } | WorkerError::Lost { .. }))) => {
            tracing::error!("{error}");
        }
        Ok(Err(error)) => tracing::warn!("{error}"),
        // Its lease runs out, and the reaper ends the job.
        Err(error) => tracing::error!(%error, "a job's task broke off"),
    }
}
