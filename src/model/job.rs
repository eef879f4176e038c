//! Jobs: a request to measure, with a state.

use crate::{JobSpec, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;
use uuid::Uuid;

/// A job's identity: a UUIDv7, so that ids sort by creation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = Uuid)]
pub struct JobId(pub Uuid);

impl JobId {
    /// The id of figures that belong to no job yet.
    pub(crate) const fn nil() -> Self {
        Self(Uuid::nil())
    }

    /// A fresh id.
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl Default for JobId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("{text:?} is no job id: job ids are UUIDs"))
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waiting for a worker, or for its target host to be free.
    Queued,
    /// A worker has it.
    Running,
    /// It was measured to its end.
    Completed,
    /// It could not be run; `error` says why.
    Failed,
    /// Somebody cancelled it; what was measured is kept.
    Cancelled,
    /// Its worker died or was stopped; what was measured is kept.
    Interrupted,
}

impl JobState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// True when nothing more will happen to the job.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// The state as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

impl FromStr for JobState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name);
        Self::ALL
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| format!("{text:?} is no job state: one of {}", known.join(", ")))
    }
}

/// Why a job could not be run, for clients to match on. Codes are never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// It asks for what its worker's host cannot do, such as a source address that
    /// is not of that host.
    InvalidJob,
    /// The target policy forbids its target, or so much load.
    TargetRefused,
    /// The worker's host knows no address of the target.
    TargetUnresolved,
    /// The load could not be made.
    LoadFailed,
    /// Something broke inside benchd.
    Internal,
}

impl FailureCode {
    /// The code as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidJob => "invalid_job",
            Self::TargetRefused => "target_refused",
            Self::TargetUnresolved => "target_unresolved",
            Self::LoadFailed => "load_failed",
            Self::Internal => "internal",
        }
    }
}

impl FromStr for FailureCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let codes = [
            Self::InvalidJob,
            Self::TargetRefused,
            Self::TargetUnresolved,
            Self::LoadFailed,
            Self::Internal,
        ];
        let found = codes.into_iter().find(|code| code.name() == text);
        found.ok_or_else(|| format!("{text:?} is no code of a failed job"))
    }
}

/// Why a job could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// For programs.
    pub code: FailureCode,
    /// For people.
    pub message: String,
}

/// What a running job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Resolving the target, opening connections.
    Preparing,
    /// Loading without recording.
    WarmingUp,
    /// The measuring window.
    Measuring,
    /// Waiting for requests in flight.
    CoolingDown,
    /// Computing the result.
    Collecting,
}

impl Phase {
    /// The phase as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::WarmingUp => "warming_up",
            Self::Measuring => "measuring",
            Self::CoolingDown => "cooling_down",
            Self::Collecting => "collecting",
        }
    }
}

/// How far a running job is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Done share of the whole job, 0 to 1.
    pub ratio: f64,
    /// The trial under way, from 1.
    pub trial: u32,
    /// How many trials there will be.
    pub trials: u32,
    /// Seconds measured in this trial.
    pub elapsed_s: f64,
    /// Requests issued in this trial.
    pub issued: u64,
    /// Complete responses in this trial.
    pub ok: u64,
    /// Failed attempts and unexpected statuses in this trial.
    pub errors: u64,
    /// Complete responses per second in the last second.
    pub rps: f64,
}

/// A job as the API shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its identity.
    pub id: JobId,
    /// Where it stands.
    pub state: JobState,
    /// What it is doing; null unless it runs.
    pub phase: Option<Phase>,
    /// How far it is.
    pub progress: Progress,
    /// Jobs that come before it, from 0; null unless it is queued.
    pub queue_position: Option<u64>,
    /// What was asked for. Secrets are shown as `[redacted]`.
    pub spec: JobSpec,
    /// The verdict; null until it is finished.
    pub verdict: Option<Verdict>,
    /// One sentence on the outcome; null until it is finished.
    pub summary: Option<String>,
    /// Why the job could not be run; null unless it failed.
    pub error: Option<String>,
    /// The same for programs; null unless it failed.
    #[serde(default)]
    pub error_code: Option<FailureCode>,
    /// When it was posted.
    pub created_at: Timestamp,
    /// When a worker took it.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Where to find its parts.
    pub links: BTreeMap<String, String>,
}

impl Job {
    /// Why it does not become a baseline, and what would help, in a sentence.
    #[must_use]
    pub fn why_no_baseline(&self) -> String {
        let Self { id, state, verdict, .. } = self;
        let state = state.name();
        match verdict {
            _ if !self.state.is_finished() => {
                format!("job {id} is {state}: it becomes a baseline when it is finished")
            }
            None => format!("job {id} is {state} and has no result to compare with"),
            Some(verdict) => format!(
                "job {id} is {state} with the verdict {verdict}: only a completed job that passed \
                 becomes a baseline, unless that is forced"
            ),
        }
    }
}
