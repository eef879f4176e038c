//! A row of `jobs` and the job it stands for.

use crate::StoreError;
use crate::document::from_column;
use benchd_model::job::Progress;
use benchd_model::{Job, JobId, JobSpec, JobState, Phase, Timestamp};
use std::collections::BTreeMap;
use std::str::FromStr;
use uuid::Uuid;

/// The columns of [`JobRow`], for `SELECT` and `RETURNING`.
macro_rules! job_columns {
    () => {
        "jobs.id, jobs.state, jobs.phase, jobs.progress, jobs.spec, jobs.verdict, jobs.summary, \
         jobs.error, jobs.error_code, jobs.created_at, jobs.started_at, jobs.finished_at"
    };
}
pub(crate) use job_columns;

/// What lists and look-ups read of a job.
#[derive(sqlx::FromRow)]
pub(crate) struct JobRow {
    pub(crate) id: Uuid,
    pub(crate) state: String,
    phase: Option<String>,
    progress: String,
    spec: String,
    verdict: Option<String>,
    summary: Option<String>,
    error: Option<String>,
    error_code: Option<String>,
    created_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
}

impl JobRow {
    /// True when the job waits.
    pub(crate) fn is_queued(&self) -> bool {
        self.state == JobState::Queued.name()
    }

    /// How large its spec is, which may hold a body.
    pub(crate) fn spec_bytes(&self) -> usize {
        self.spec.len()
    }

    /// When the job was posted, in epoch microseconds.
    pub(crate) fn created_us(&self) -> i64 {
        self.created_at
    }

    /// The job as it may be shown. `queue_position` counts only when it waits.
    pub(crate) fn into_job(self, queue_position: Option<u64>) -> Result<Job, StoreError> {
        let spec: JobSpec = from_column(&self.spec, "spec")?;
        Ok(Job {
            id: JobId(self.id),
            state: read(&self.state, "state")?,
            phase: self.phase.as_deref().map(read_phase).transpose()?,
            progress: from_column::<Progress>(&self.progress, "progress")?,
            queue_position,
            spec: spec.redacted(),
            verdict: self.verdict.as_deref().map(|text| read(text, "verdict")).transpose()?,
            summary: self.summary,
            error: self.error,
            error_code: self
                .error_code
                .as_deref()
                .map(|text| read(text, "error code"))
                .transpose()?,
            created_at: Timestamp::from_micros(self.created_at),
            started_at: self.started_at.map(Timestamp::from_micros),
            finished_at: self.finished_at.map(Timestamp::from_micros),
            links: BTreeMap::new(),
        })
    }
}

fn read<T: FromStr<Err = String>>(text: &str, what: &'static str) -> Result<T, StoreError> {
    text.parse().map_err(|reason| StoreError::Corrupt { what, reason })
}

fn read_phase(text: &str) -> Result<Phase, StoreError> {
    const PHASES: [Phase; 5] = [
        Phase::Preparing,
        Phase::WarmingUp,
        Phase::Measuring,
        Phase::CoolingDown,
        Phase::Collecting,
    ];
    PHASES.into_iter().find(|phase| phase.name() == text).ok_or_else(|| StoreError::Corrupt {
        what: "phase",
        reason: format!("{text:?} is no phase"),
    })
}
