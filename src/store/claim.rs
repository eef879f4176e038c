//! The queue: which job a worker may have, and whose it is.
//!
//! Two rules hold whatever workers do at the same time. A job is taken by one
//! worker: taking it is an update of a row that must still be queued. And one
//! job loads a host at a time, that of a baseline included: claims are made one
//! after the other. (A partial unique index over the running jobs' target hosts
//! would refuse a second one besides.)

use crate::database::Database;
use crate::document::{from_column, to_column};
use crate::jobs::INSERT_EVENT;
use crate::{Finish, Store, StoreError, on_backend};
use benchd_model::event::JobEventKind;
use benchd_model::job::{Failure, FailureCode};
use benchd_model::{JobId, JobSpec, JobState, Timestamp};
use std::time::Duration;
use uuid::Uuid;

/// How often a lost race is run again before the worker comes back later.
const RACES: u32 = 8;

/// True of a job whose hosts no running job loads.
macro_rules! hosts_are_free {
    () => {
        "NOT EXISTS (SELECT 1 FROM jobs AS busy WHERE busy.state = 'running' \
             AND (busy.target_host IN (jobs.target_host, jobs.baseline_host) \
             OR busy.baseline_host IN (jobs.target_host, jobs.baseline_host)))"
    };
}

/// The oldest queued job of each host that no running job loads; the oldest of
/// those. The last condition keeps a host's jobs in order.
const NEXT: &str = concat!(
    "SELECT jobs.id FROM jobs WHERE jobs.state = 'queued' AND ",
    hosts_are_free!(),
    " AND NOT EXISTS (SELECT 1 FROM jobs AS earlier WHERE earlier.state = 'queued' \
         AND earlier.target_host = jobs.target_host AND earlier.id < jobs.id) \
     ORDER BY jobs.id LIMIT 1"
);

/// One certain job. It need not wait for others in the queue, which may have
/// no worker at all, but for the running one.
const THAT_ONE: &str = concat!(
    "SELECT jobs.id FROM jobs WHERE jobs.id = $1 AND jobs.state = 'queued' AND ",
    hosts_are_free!()
);

// The fork. Nobody may claim between the look at the running jobs and the
// update. SQLite: BEGIN IMMEDIATE admits one writer at a time. Postgres: a lock
// of this name does the same for claims, and for nothing else.
const ONE_AT_A_TIME_SQLITE: &str = "SELECT 1";
const ONE_AT_A_TIME_POSTGRES: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('benchd: claim', 0))";

const TAKE: &str = "UPDATE jobs SET state = 'running', phase = 'preparing', \
     attempt = attempt + 1, worker = $2, lease_until = $3, started_at = $4, \
     last_event = last_event + 1 \
     WHERE id = $1 AND state = 'queued' RETURNING attempt, spec, last_event";

const RUNNING: &str = "SELECT id, attempt, worker, lease_until FROM jobs \
     WHERE state = 'running' ORDER BY id";

const TAKE_OVER: &str = "UPDATE jobs SET attempt = attempt + 1, worker = $3, lease_until = $4 \
     WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING attempt, spec";

/// A worker's right to a job. Whoever holds it may write to the job until its
/// attempt is over: by finishing, or by somebody taking over.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// The fencing token: writes of an older attempt are refused.
    pub attempt: i64,
    /// What to measure, secrets included.
    pub spec: JobSpec,
    /// Who holds it.
    pub worker: String,
}

/// Who holds a running job, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningLease {
    /// The job.
    pub job: JobId,
    /// The attempt under way.
    pub attempt: i64,
    /// Who holds it.
    pub worker: String,
    /// Until when it is surely held; past it, the worker is taken for dead.
    pub lease_until: Timestamp,
}

impl Store {
    /// Takes the next job whose target host no running job loads, or only the
    /// job `only`, if it is queued and its host is free. Writes the event
    /// `state: running`.
    ///
    /// # Errors
    /// The database's.
    pub async fn claim(
        &self,
        worker: &str,
        only: Option<JobId>,
        now: Timestamp,
        lease_for: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        for _ in 0..RACES {
            match self.try_claim(worker, only, now, lease_for).await? {
                Claim::Nothing => return Ok(None),
                Claim::LostRace => {}
                Claim::Taken { job, attempt, spec } => {
                    self.announce();
                    match from_column(&spec, "spec") {
                        Ok(spec) => {
                            let worker = worker.to_owned();
                            return Ok(Some(Lease { job, attempt, spec, worker }));
                        }
                        // Left in the queue it would be the next one for ever.
                        Err(error) => self.fail(job, attempt, &error, now).await?,
                    }
                }
            }
        }
        Ok(None)
    }

    async fn try_claim(
        &self,
        worker: &str,
        only: Option<JobId>,
        now: Timestamp,
        lease_for: Duration,
    ) -> Result<Claim, StoreError> {
        let running = JobEventKind::State { state: JobState::Running };
        let one_at_a_time = match &self.inner.database {
            Database::Sqlite(_) => ONE_AT_A_TIME_SQLITE,
            Database::Postgres(_) => ONE_AT_A_TIME_POSTGRES,
        };
        let candidate = if only.is_some() { THAT_ONE } else { NEXT };
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            sqlx::query(one_at_a_time).execute(&mut *tx).await?;
            let mut query = sqlx::query_scalar(candidate);
            if let Some(only) = only {
                query = query.bind(only.0);
            }
            let found: Option<Uuid> = query.fetch_optional(&mut *tx).await?;
            let Some(id) = found else { return Ok(Claim::Nothing) };
            let taken: Result<Option<(i64, String, i64)>, _> = sqlx::query_as(TAKE)
                .bind(id)
                .bind(worker)
                .bind(lease_until(now, lease_for))
                .bind(now.as_micros())
                .fetch_optional(&mut *tx)
                .await;
            let (attempt, spec, sequence) = match taken {
                Ok(Some(taken)) => taken,
                Ok(None) => return Ok(Claim::LostRace),
                Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                    return Ok(Claim::LostRace);
                }
                Err(error) => return Err(error.into()),
            };
            sqlx::query(INSERT_EVENT)
                .bind(id)
                .bind(sequence)
                .bind(now.as_micros())
                .bind(to_column(&running))
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
            Ok(Claim::Taken { job: JobId(id), attempt, spec })
        })
    }

    async fn fail(
        &self,
        job: JobId,
        attempt: i64,
        why: &StoreError,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let error = Failure { code: FailureCode::Internal, message: why.to_string() };
        let finish = Finish { state: JobState::Failed, result: None, error: Some(&error), at };
        self.finish_attempt(job, attempt, &finish).await
    }

    /// Every running job with its holder, oldest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn running(&self) -> Result<Vec<RunningLease>, StoreError> {
        let rows: Vec<(Uuid, i64, Option<String>, Option<i64>)> =
            on_backend!(self, |db| { sqlx::query_as(RUNNING).fetch_all(db.reader()).await? });
        let lease =
            |(id, attempt, worker, until): (Uuid, i64, Option<String>, Option<i64>)| RunningLease {
                job: JobId(id),
                attempt,
                worker: worker.unwrap_or_default(),
                lease_until: Timestamp::from_micros(until.unwrap_or(i64::MIN)),
            };
        Ok(rows.into_iter().map(lease).collect())
    }

    /// Takes a running job from a holder that is dead, and fences that one off:
    /// none of its writes counts any more. Nothing when the job is no longer
    /// running under that attempt. Whether the holder is dead, the caller judges.
    ///
    /// # Errors
    /// The database's.
    pub async fn take_over(
        &self,
        job: JobId,
        attempt: i64,
        worker: &str,
        now: Timestamp,
        lease_for: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let taken: Option<(i64, String)> = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let taken = sqlx::query_as(TAKE_OVER)
                .bind(job.0)
                .bind(attempt)
                .bind(worker)
                .bind(lease_until(now, lease_for))
                .fetch_optional(&mut *tx)
                .await?;
            tx.commit().await?;
            taken
        });
        let Some((attempt, spec)) = taken else { return Ok(None) };
        match from_column(&spec, "spec") {
            Ok(spec) => Ok(Some(Lease { job, attempt, spec, worker: worker.to_owned() })),
            // Nobody can assemble a result for it, and running it would be for ever.
            Err(error) => {
                self.fail(job, attempt, &error, now).await?;
                Ok(None)
            }
        }
    }
}

enum Claim {
    Nothing,
    LostRace,
    Taken { job: JobId, attempt: i64, spec: String },
}

/// The end of a lease in epoch microseconds.
pub(crate) fn lease_until(now: Timestamp, lease_for: Duration) -> i64 {
    now.plus_micros(i64::try_from(lease_for.as_micros()).unwrap_or(i64::MAX)).as_micros()
}
