//! Jobs from the side of those who post them: create, look up, cancel, delete.

use crate::document::to_column;
use crate::history::positions;
use crate::row::{JobRow, job_columns};
use crate::targets::spellings;
use crate::{Store, StoreError, on_backend};
use benchd_model::event::JobEventKind;
use benchd_model::job::Progress;
use benchd_model::{Job, JobId, JobSpec, JobState, Timestamp};
use sqlx::Row as _;

/// The most jobs that may wait at the same time.
pub const MAX_QUEUED: u64 = 10_000;

/// How long an idempotency key is remembered: seven days, in microseconds.
const KEY_KEPT_US: i64 = 7 * 24 * 3600 * 1_000_000;

/// What a job cancelled in the queue says.
const CANCELLED_UNSTARTED: &str = "cancelled before it was started";

const INSERT_JOB: &str = "INSERT INTO jobs \
     (id, project, scenario, target_host, baseline_host, state, progress, spec, created_at, \
     last_event) VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8, 1)";
const INSERT_LABEL: &str =
    "INSERT INTO job_labels (job_id, name, value, created_at) VALUES ($1, $2, $3, $4)";
const INSERT_TARGET: &str =
    "INSERT INTO job_targets (job_id, spelling, created_at) VALUES ($1, $2, $3)";
pub(crate) const INSERT_EVENT: &str =
    "INSERT INTO events (job_id, sequence, at, kind) VALUES ($1, $2, $3, $4)";
const COUNT_QUEUED: &str = "SELECT COUNT(*) FROM jobs WHERE state = 'queued'";

const FORGET_KEYS: &str = "DELETE FROM idempotency WHERE created_at < $1";
const SELECT_KEY: &str = "SELECT body_hash, job_id FROM idempotency WHERE key = $1";
const INSERT_KEY: &str = "INSERT INTO idempotency (key, body_hash, job_id, created_at) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING";

const SELECT_JOB: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1");
const SELECT_STATE: &str = "SELECT state FROM jobs WHERE id = $1";

const CANCEL_QUEUED: &str = "UPDATE jobs SET state = 'cancelled', cancel_requested = 1, \
     finished_at = $2, summary = $3, last_event = last_event + 1 \
     WHERE id = $1 AND state = 'queued' RETURNING last_event";
const CANCEL_RUNNING: &str =
    "UPDATE jobs SET cancel_requested = 1 WHERE id = $1 AND state = 'running'";
const DELETE_FINISHED: &str =
    "DELETE FROM jobs WHERE id = $1 AND state NOT IN ('queued', 'running')";

/// A job about to be created.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its identity.
    pub id: JobId,
    /// What is asked for, secrets included: the worker needs them.
    pub spec: JobSpec,
    /// The lock key, see [`JobSpec`]'s `target_host`.
    pub target_host: String,
    /// When it was posted.
    pub created_at: Timestamp,
    /// The request's key, when it has one.
    pub idempotency: Option<Idempotency>,
}

/// What tells a repeated request from a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The client's key.
    pub key: String,
    /// A digest of the request body.
    pub body_hash: Vec<u8>,
}

/// A job that exists now.
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    /// The job.
    pub job: Job,
    /// True when the key was known and `job` is the one it made before.
    pub replayed: bool,
}

/// What came of a wish to cancel.
#[derive(Clone, Debug, PartialEq)]
pub enum CancelOutcome {
    /// It waited and is cancelled now.
    Cancelled(Job),
    /// It runs; its worker learns of it with its next heartbeat.
    Requested(Job),
    /// It had ended already.
    AlreadyFinished(Job),
    /// There is no such job.
    NotFound,
}

/// What came of a wish to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The job and its data are gone.
    Deleted,
    /// It waits or runs; cancel it first.
    NotFinished,
    /// There is no such job.
    NotFound,
}

impl Store {
    /// Puts a job into the queue and writes its first event, `state: queued`.
    /// A known idempotency key with the same body hash gives the job it made
    /// before, even when the queue is full. Keys are kept for seven days, or
    /// until their job is deleted.
    ///
    /// # Errors
    /// [`StoreError::IdempotencyMismatch`], [`StoreError::QueueFull`], or the
    /// database's.
    pub async fn create_job(&self, new: NewJob) -> Result<Created, StoreError> {
        refuse_nul(&new)?;
        // Twice suffices unless the winner's job is deleted in between.
        for _ in 0..3 {
            let (id, replayed) = match self.try_create(&new).await? {
                Attempt::Created => {
                    self.announce();
                    (new.id, false)
                }
                Attempt::Replayed(id) => (id, true),
                Attempt::KeyTakenMeanwhile => continue,
            };
            if let Some(job) = self.job(id).await? {
                return Ok(Created { job, replayed });
            }
        }
        Err(StoreError::IdempotencyMismatch)
    }

    async fn try_create(&self, new: &NewJob) -> Result<Attempt, StoreError> {
        let (id, at) = (new.id.0, new.created_at.as_micros());
        let spec = &new.spec;
        let progress = Progress { trials: spec.trials, ..Progress::default() };
        let queued = JobEventKind::State { state: JobState::Queued };
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            if let Some(Idempotency { key, body_hash }) = &new.idempotency {
                sqlx::query(FORGET_KEYS).bind(at - KEY_KEPT_US).execute(&mut *tx).await?;
                let known = sqlx::query(SELECT_KEY).bind(key).fetch_optional(&mut *tx).await?;
                if let Some(row) = known {
                    let same = row.try_get::<Vec<u8>, _>("body_hash")? == *body_hash;
                    let job = JobId(row.try_get("job_id")?);
                    return if same {
                        Ok(Attempt::Replayed(job))
                    } else {
                        Err(StoreError::IdempotencyMismatch)
                    };
                }
            }
            let waiting: i64 = sqlx::query_scalar(COUNT_QUEUED).fetch_one(&mut *tx).await?;
            if waiting.cast_unsigned() >= MAX_QUEUED {
                return Err(StoreError::QueueFull(waiting.cast_unsigned()));
            }
            sqlx::query(INSERT_JOB)
                .bind(id)
                .bind(&spec.project)
                .bind(&spec.scenario)
                .bind(&new.target_host)
                .bind(spec.baseline_host())
                .bind(to_column(&progress))
                .bind(to_column(spec))
                .bind(at)
                .execute(&mut *tx)
                .await?;
            if let Some(Idempotency { key, body_hash }) = &new.idempotency {
                let inserted = sqlx::query(INSERT_KEY)
                    .bind(key)
                    .bind(body_hash)
                    .bind(id)
                    .bind(at)
                    .execute(&mut *tx)
                    .await?;
                if inserted.rows_affected() == 0 {
                    return Ok(Attempt::KeyTakenMeanwhile);
                }
            }
            for (name, value) in &spec.labels {
                sqlx::query(INSERT_LABEL)
                    .bind(id)
                    .bind(name)
                    .bind(value)
                    .bind(at)
                    .execute(&mut *tx)
                    .await?;
            }
            for spelling in spellings(spec, &new.target_host) {
                sqlx::query(INSERT_TARGET)
                    .bind(id)
                    .bind(spelling)
                    .bind(at)
                    .execute(&mut *tx)
                    .await?;
            }
            sqlx::query(INSERT_EVENT)
                .bind(id)
                .bind(1_i64)
                .bind(at)
                .bind(to_column(&queued))
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        });
        Ok(Attempt::Created)
    }

    /// The job as it may be shown: secrets in its spec redacted, links empty.
    ///
    /// # Errors
    /// The database's.
    pub async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let row: Option<JobRow> = on_backend!(self, |db| {
            sqlx::query_as(SELECT_JOB).bind(id.0).fetch_optional(db.reader()).await?
        });
        let Some(row) = row else { return Ok(None) };
        let position = positions(self, std::slice::from_ref(&row)).await?.remove(&row.id);
        row.into_job(position).map(Some)
    }

    /// Cancels a job: a waiting one ends at once with its `finished` event, a
    /// running one is told through its worker's next heartbeat. May be repeated.
    ///
    /// # Errors
    /// The database's.
    pub async fn cancel(&self, id: JobId, now: Timestamp) -> Result<CancelOutcome, StoreError> {
        let finished = JobEventKind::Finished {
            state: JobState::Cancelled,
            verdict: None,
            summary: Some(CANCELLED_UNSTARTED.to_owned()),
        };
        let (ended, asked) = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let event: Option<i64> = sqlx::query_scalar(CANCEL_QUEUED)
                .bind(id.0)
                .bind(now.as_micros())
                .bind(CANCELLED_UNSTARTED)
                .fetch_optional(&mut *tx)
                .await?;
            let mut asked = false;
            if let Some(sequence) = event {
                sqlx::query(INSERT_EVENT)
                    .bind(id.0)
                    .bind(sequence)
                    .bind(now.as_micros())
                    .bind(to_column(&finished))
                    .execute(&mut *tx)
                    .await?;
            } else {
                let told = sqlx::query(CANCEL_RUNNING).bind(id.0).execute(&mut *tx).await?;
                asked = told.rows_affected() > 0;
            }
            tx.commit().await?;
            (event.is_some(), asked)
        });
        if ended || asked {
            self.announce();
        }
        Ok(match self.job(id).await? {
            None => CancelOutcome::NotFound,
            Some(job) if ended => CancelOutcome::Cancelled(job),
            Some(job) if asked => CancelOutcome::Requested(job),
            Some(job) => CancelOutcome::AlreadyFinished(job),
        })
    }

    /// Removes a finished job with everything recorded of it.
    ///
    /// # Errors
    /// The database's.
    pub async fn delete(&self, id: JobId) -> Result<DeleteOutcome, StoreError> {
        let (deleted, exists) = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let deleted = sqlx::query(DELETE_FINISHED).bind(id.0).execute(&mut *tx).await?;
            let state: Option<String> =
                sqlx::query_scalar(SELECT_STATE).bind(id.0).fetch_optional(&mut *tx).await?;
            tx.commit().await?;
            (deleted.rows_affected() > 0, state.is_some())
        });
        if deleted {
            self.announce();
        }
        Ok(match (deleted, exists) {
            (true, _) => DeleteOutcome::Deleted,
            (false, true) => DeleteOutcome::NotFinished,
            (false, false) => DeleteOutcome::NotFound,
        })
    }
}

enum Attempt {
    Created,
    Replayed(JobId),
    /// Another request with this key committed between our look and our insert.
    KeyTakenMeanwhile,
}

/// Postgres text holds no NUL; SQLite's does, and the two must not differ.
fn refuse_nul(new: &NewJob) -> Result<(), StoreError> {
    let spec = &new.spec;
    let labels = spec.labels.iter().flat_map(|(name, value)| [name, value]);
    let key = new.idempotency.as_ref().map(|idempotency| &idempotency.key);
    let texts = [
        ("project", &spec.project),
        ("scenario", &spec.scenario),
        ("target", &spec.target.url),
        ("target host", &new.target_host),
    ];
    let named = texts
        .into_iter()
        .chain(spec.target.name.as_ref().map(|name| ("target", name)))
        .chain(labels.map(|text| ("label", text)))
        .chain(key.map(|key| ("idempotency key", key)));
    for (what, text) in named {
        if text.contains('\0') {
            return Err(StoreError::Unstorable(what));
        }
    }
    Ok(())
}
