//! What a job tells its listeners while it lives.

use crate::timeline::TimelineRow;
use crate::{JobState, Phase, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of a job. Events are numbered per job from 1 and kept, so that a
/// listener that comes late or back reads the same story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobEvent {
    /// Its number within the job.
    pub sequence: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: JobEventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum JobEventKind {
    /// The job changed its state.
    State {
        /// The new state.
        state: JobState,
    },
    /// The job entered a phase of a trial.
    Phase {
        /// The trial, from 1.
        trial: u32,
        /// The phase.
        phase: Phase,
    },
    /// A second of the measuring window is over.
    Second {
        /// The trial, from 1.
        trial: u32,
        /// The row that the timeline will show for it.
        row: Box<TimelineRow>,
    },
    /// The job is finished; the last event.
    Finished {
        /// The final state.
        state: JobState,
        /// The verdict.
        verdict: Option<Verdict>,
        /// One sentence.
        summary: Option<String>,
    },
}

impl JobEventKind {
    /// The name used as the SSE event type.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::State { .. } => "state",
            Self::Phase { .. } => "phase",
            Self::Second { .. } => "second",
            Self::Finished { .. } => "finished",
        }
    }
}
