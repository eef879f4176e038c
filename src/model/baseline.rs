//! A stored baseline: the finished job that `within N% of baseline` speaks of.

use crate::{JobId, RunResult};

/// The name of a baseline that has none.
pub const DEFAULT_BASELINE: &str = "default";

/// The figures of a baseline, as whoever judges a job looked them up for its
/// project, scenario and environment.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineFigures {
    /// Its name; [`DEFAULT_BASELINE`] unless another one was given.
    pub name: String,
    /// The job it points to.
    pub job_id: JobId,
    /// The fingerprint of the environment it was measured in.
    pub environment: String,
    /// What that job measured.
    pub result: RunResult,
}
