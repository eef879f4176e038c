//! Baselines: named pointers to the job that others are compared with, for a
//! project, a scenario and an environment.

use crate::{JobId, JobState, RunResult, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;
use uuid::Uuid;

/// The name of a baseline that has none.
pub const DEFAULT_BASELINE: &str = "default";

const LONGEST_NAME: usize = 64;

/// A baseline's identity. It stays when the baseline moves on to another job.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = Uuid)]
pub struct BaselineId(pub Uuid);

impl BaselineId {
    /// A fresh id.
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl Default for BaselineId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for BaselineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for BaselineId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = text.parse().map(Self);
        id.map_err(|_| format!("{text:?} is no id of a baseline: those are UUIDs"))
    }
}

/// A named pointer to the job that others of its project, scenario and
/// environment are compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Baseline {
    /// Its identity.
    pub id: BaselineId,
    /// The project of its job.
    #[schema(example = "shop")]
    pub project: String,
    /// The scenario of its job.
    #[schema(example = "home page")]
    pub scenario: String,
    /// The fingerprint of the environment in which its job was measured: only there
    /// others are compared with it.
    pub environment: String,
    /// What criteria call it.
    #[schema(example = "default")]
    pub name: String,
    /// The job it points to.
    pub job_id: JobId,
    /// When it was made to point there.
    pub set_at: Timestamp,
}

/// The baseline that a result was judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BaselineUsed {
    /// Its name.
    #[schema(example = "default")]
    pub name: String,
    /// The job it pointed to.
    pub job_id: JobId,
    /// The fingerprint of the environment of both jobs.
    pub environment: String,
}

/// The figures of a baseline, as whoever judges a job looked them up for its
/// project, scenario and environment.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineFigures {
    /// Its name; [`DEFAULT_BASELINE`] unless another one was given.
    pub name: String,
    /// The job it points to.
    pub job_id: JobId,
    /// The fingerprint of the environment it was measured in. One of another
    /// environment than the judged job's is told of, and judges nothing.
    pub environment: String,
    /// What that job measured.
    pub result: RunResult,
}

/// What looking a baseline up came to: its figures, or why nobody knows them.
pub type BaselineLookup = Result<BaselineFigures, String>;

/// Checks what a baseline is to be called, which criteria must be able to write.
///
/// # Errors
/// What a name looks like.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!(
        "{name:?} is no name of a baseline: letters, digits, \"-\", \"_\" and \".\", at most {LONGEST_NAME}"
    ))
}

/// Whether a job may become a baseline without being forced: it is completed and
/// its verdict is `pass`.
#[must_use]
pub fn is_fit(state: JobState, verdict: Option<Verdict>) -> bool {
    state == JobState::Completed && verdict == Some(Verdict::Pass)
}
