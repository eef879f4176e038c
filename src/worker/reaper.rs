//! Ends the jobs of workers that died: each becomes `interrupted`, with a
//! result of what it had stored; one that lies in the spool ends as it did.

use crate::judge::{self, Found};
use crate::{Worker, baseline_rule, lease, spool};
use benchd_model::job::{Failure, FailureCode};
use benchd_model::{JobId, JobState, RunResult, Timestamp};
use benchd_store::{Finish, Lease, RunningLease, StoreError};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often dead workers are looked for.
const REAP_EVERY: Duration = Duration::from_secs(2);

/// A lease that is not renewed for this long stands still: longer than a
/// living worker ever waits between two attempts to renew it.
const STILL: Duration = Duration::from_secs(4);

/// Reaps at once and then regularly, until `shutdown`.
pub(crate) async fn run(worker: &Worker, shutdown: &CancellationToken) {
    let mut reaper = Reaper::new(worker);
    let mut rounds = interval(REAP_EVERY);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            _ = rounds.tick() => reaper.round().await,
        }
    }
}

/// Looks for dead workers, and remembers what it saw.
pub(crate) struct Reaper<'a> {
    worker: &'a Worker,
    seen: Sightings,
    next_round: Instant,
}

impl<'a> Reaper<'a> {
    pub(crate) fn new(worker: &'a Worker) -> Self {
        Self { worker, seen: Sightings::default(), next_round: Instant::now() }
    }

    /// One round, unless the last one was a moment ago.
    pub(crate) async fn round_if_due(&mut self) {
        if self.next_round <= Instant::now() {
            self.round().await;
            self.next_round = Instant::now() + REAP_EVERY;
        }
    }

    /// One round. What fails is tried again in the next one.
    async fn round(&mut self) {
        let mut running = match self.worker.store.running().await {
            Ok(running) => running,
            Err(error) => {
                tracing::warn!(%error, "running jobs cannot be listed; trying again");
                return;
            }
        };
        // A store that was away longer than the lease makes a worker's own
        // jobs look abandoned.
        running.retain(|lease| !self.worker.running.contains(lease.job, lease.attempt));
        self.seen.look(&running, Instant::now());
        for lease in &running {
            let dead = self.seen.is_abandoned(lease, self.worker.config.lease, Timestamp::now())
                || lease::is_dead(&lease.worker);
            if dead {
                self.end(lease).await;
            }
        }
    }

    async fn end(&self, abandoned: &RunningLease) {
        let RunningLease { job, worker, .. } = abandoned;
        // On the heap, or every caller's future would hold all of it.
        match Box::pin(end(self.worker, abandoned)).await {
            Ok(true) => tracing::info!(%job, %worker, "its worker is dead; interrupted"),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%job, %error, "an abandoned job could not be ended; trying again");
            }
        }
    }
}

/// Since when each running lease stands still. Ends of leases are times of
/// other hosts' clocks, which may be wrong, and after a store was away all
/// leases have run out; so what a lease does counts more than what it says.
#[derive(Default)]
struct Sightings(HashMap<(JobId, i64), Sighting>);

#[derive(Clone, Copy)]
struct Sighting {
    lease_until: Timestamp,
    still_since: Instant,
    still_for: Duration,
}

impl Sightings {
    /// Notes all leases there are at `now`, and forgets the others.
    fn look(&mut self, running: &[RunningLease], now: Instant) {
        let sighting = |lease: &RunningLease| {
            let (key, lease_until) = ((lease.job, lease.attempt), lease.lease_until);
            let known = self.0.get(&key).filter(|seen| seen.lease_until == lease_until);
            let still_since = known.map_or(now, |seen| seen.still_since);
            let still_for = now.duration_since(still_since);
            (key, Sighting { lease_until, still_since, still_for })
        };
        self.0 = running.iter().map(sighting).collect();
    }

    /// True when nobody renews the lease any more: it stands still and has run
    /// out, by `now` or by having stood still for longer than `lease_for`.
    fn is_abandoned(&self, lease: &RunningLease, lease_for: Duration, now: Timestamp) -> bool {
        let still_for =
            self.0.get(&(lease.job, lease.attempt)).map_or(Duration::ZERO, |seen| seen.still_for);
        (still_for >= STILL && lease.lease_until < now) || still_for >= lease_for + STILL
    }
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
    if let Some(spooled) = spooled(worker, job).await {
        store.append(&lease, &spooled.records()).await?;
        let (result, error) = (spooled.result.as_deref(), spooled.error.as_deref());
        let end = Finish { state: spooled.state, result, error, at: Timestamp::now() };
        store.finish(&lease, end).await?;
        let verdict = result.map(|result| result.verdict);
        baseline_rule::apply(worker, job, &lease.spec, spooled.state, verdict).await;
        if let Some(result) = result.filter(|_| lease.spec.compare.is_some()) {
            keep_noise_floors(worker, &lease, spooled.state, result).await;
        }
        if let Err(error) = spool::remove(&config.spool, job) {
            tracing::warn!(%job, %error, "the job is stored, and its spool file stays behind");
        }
        return Ok(true);
    }
    let at = Timestamp::now();
    match result_of(worker, &lease).await {
        Ok(result) => {
            let (state, result) = (JobState::Interrupted, result.as_ref());
            store.finish(&lease, Finish { state, result, error: None, at }).await?;
        }
        // It will not become readable: a job that never ended would keep its
        // target from all others for ever.
        Err(error @ (StoreError::Corrupt { .. } | StoreError::UnknownVersion { .. })) => {
            let message =
                format!("its worker died, and no result can be made of the rest: {error}");
            tracing::warn!(%job, message);
            let error = Failure { code: FailureCode::Internal, message };
            let (state, error) = (JobState::Failed, Some(&error));
            store.finish(&lease, Finish { state, result: None, error, at }).await?;
        }
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// The job as its worker left it in the spool of this host, if it did.
async fn spooled(worker: &Worker, job: JobId) -> Option<spool::Spooled<'static>> {
    let folder = worker.config.spool.clone();
    let reading = tokio::task::spawn_blocking(move || spool::read(&folder, job));
    let read = reading.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    let log = |error: &_| tracing::warn!(%job, %error, "its spool file cannot be used");
    read.inspect_err(log).ok().flatten()
}

async fn result_of(worker: &Worker, lease: &Lease) -> Result<Option<RunResult>, StoreError> {
    let found = found(worker, lease, JobState::Interrupted).await?;
    Ok(found.judged(&worker.store).await.result)
}

/// Keeps what a job that compares a target with itself shows. The job itself is
/// stored by then, so what fails here is told and nothing more.
async fn keep_noise_floors(worker: &Worker, lease: &Lease, state: JobState, result: &RunResult) {
    match found(worker, lease, state).await {
        Ok(found) => {
            let floors = Arc::new(found).noise_floors(result).await;
            judge::keep(&worker.store, &floors).await;
        }
        Err(error) => tracing::warn!(job = %lease.job, %error, "the noise floor is not stored"),
    }
}

/// What is stored of the job.
async fn found(worker: &Worker, lease: &Lease, state: JobState) -> Result<Found, StoreError> {
    let job = lease.job;
    let recordings = worker.store.recordings(job).await?;
    let (host, same_host) = worker.store.host(job).await?.unwrap_or_default();
    let spec = Arc::new(lease.spec.clone());
    Ok(Found { job, spec, state, host, same_host, recordings })
}

#[cfg(test)]
mod tests {
    use super::{STILL, Sightings};
    use benchd_model::{JobId, Timestamp};
    use benchd_store::RunningLease;
    use std::time::Duration;
    use tokio::time::Instant;

    const LEASE: Duration = Duration::from_secs(20);
    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    /// A lease that ends `seconds` after [`NOW`].
    fn lease(job: JobId, seconds: i64) -> RunningLease {
        let lease_until = NOW.plus_micros(seconds * 1_000_000);
        RunningLease { job, attempt: 1, worker: "elsewhere:1:1".into(), lease_until }
    }

    /// What comes of a lease with these ends, seen every `STILL`.
    fn abandoned(ends: &[i64]) -> Vec<bool> {
        let (mut seen, job, start) = (Sightings::default(), JobId::new(), Instant::now());
        let look = |(round, end): (u32, &i64)| {
            let lease = lease(job, *end);
            seen.look(std::slice::from_ref(&lease), start + STILL * round);
            seen.is_abandoned(&lease, LEASE, NOW)
        };
        (0..).zip(ends).map(look).collect()
    }

    #[test]
    fn a_lease_that_ran_out_is_abandoned_once_it_is_seen_to_stand_still() {
        assert_eq!(abandoned(&[-1, -1]), [false, true]);
    }

    #[test]
    fn a_lease_that_is_renewed_is_alive_whatever_its_clock_says() {
        assert_eq!(abandoned(&[-90, -86, -82, -78]), [false; 4]);
    }

    #[test]
    fn a_lease_that_has_not_run_out_is_left_alone_for_its_whole_length() {
        assert_eq!(abandoned(&[9000; 7]), [false, false, false, false, false, false, true]);
    }

    #[test]
    fn a_new_attempt_is_looked_at_anew() {
        let (mut seen, job, start) = (Sightings::default(), JobId::new(), Instant::now());
        seen.look(&[lease(job, -1)], start);
        let renewed = RunningLease { attempt: 2, ..lease(job, -1) };
        seen.look(std::slice::from_ref(&renewed), start + STILL);
        assert!(!seen.is_abandoned(&renewed, LEASE, NOW));
    }
}
