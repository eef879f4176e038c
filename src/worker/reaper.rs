//! Ends the jobs of workers that died: each becomes `interrupted`, with a
//! result of what it had stored.

use crate::{Worker, lease};
use benchd_model::assemble::{Evidence, assemble};
use benchd_model::{JobId, JobState, RunResult, Timestamp};
use benchd_store::{Finish, Lease, RunningLease, StoreError};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often dead workers are looked for.
pub(crate) const REAP_EVERY: Duration = Duration::from_secs(5);

/// Reaps at once and then regularly, until `shutdown`.
pub(crate) async fn run(worker: &Worker, shutdown: &CancellationToken) {
    let mut rounds = interval(REAP_EVERY);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            _ = rounds.tick() => reap(worker).await,
        }
    }
}

/// One round. What fails is tried again in the next one.
pub(crate) async fn reap(worker: &Worker) {
    let running = match worker.store.running().await {
        Ok(running) => running,
        Err(error) => {
            tracing::warn!(%error, "running jobs cannot be listed; trying again");
            return;
        }
    };
    let now = Timestamp::now();
    for abandoned in running.iter().filter(|running| is_abandoned(running, worker, now)) {
        let job = abandoned.job;
        match end(worker, abandoned).await {
            Ok(true) => {
                tracing::info!(%job, worker = abandoned.worker, "its worker is dead; interrupted")
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%job, %error, "an abandoned job could not be ended; trying again")
            }
        }
    }
}

fn is_abandoned(running: &RunningLease, worker: &Worker, now: Timestamp) -> bool {
    // A store that was away longer than the lease makes a worker's own jobs
    // look abandoned.
    let own = worker.running.contains(running.job, running.attempt);
    !own && (running.lease_until < now || lease::is_dead(&running.worker))
}

/// Takes the job over, so that a worker that is not dead after all can write
/// nothing more, and ends it. False when somebody else was first.
async fn end(worker: &Worker, abandoned: &RunningLease) -> Result<bool, StoreError> {
    let Worker { store, config, .. } = worker;
    let RunningLease { job, attempt, .. } = *abandoned;
    let now = Timestamp::now();
    let Some(lease) = store.take_over(job, attempt, &config.name, now, config.lease).await? else {
        return Ok(false);
    };
    let result = result_of(worker, &lease).await?;
    let end = Finish {
        state: JobState::Interrupted,
        result: result.as_ref(),
        error: None,
        at: Timestamp::now(),
    };
    store.finish(&lease, end).await?;
    Ok(true)
}

async fn result_of(worker: &Worker, lease: &Lease) -> Result<Option<RunResult>, StoreError> {
    let job = lease.job;
    let recordings = worker.store.recordings(job).await?;
    let (host, same_host) = worker.store.host(job).await?.unwrap_or_default();
    let spec = lease.spec.clone();
    let assembling = tokio::task::spawn_blocking(move || {
        assemble(&Evidence {
            job_id: job,
            spec: &spec,
            state: JobState::Interrupted,
            recordings: &recordings,
            host,
            same_host,
        })
    });
    Ok(assembling.await.inspect_err(|error| log_defect(job, error)).ok())
}

fn log_defect(job: JobId, error: &tokio::task::JoinError) {
    tracing::error!(%job, %error, "the result could not be assembled");
}
