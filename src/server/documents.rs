//! Documents that only the API speaks; everything else is the model's.

use benchd_model::baseline::Baseline;
use benchd_model::criteria::CriterionOutcome;
use benchd_model::{Job, JobId, JobState, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A page of the history, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct JobList {
    /// The jobs.
    pub(crate) items: Vec<Job>,
    /// Pass it as `cursor` to get the next page; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Baselines.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct BaselineList {
    /// The baselines, by project, scenario, name and environment.
    pub(crate) items: Vec<Baseline>,
}

/// An open gate.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Gate {
    /// The job.
    pub(crate) job_id: JobId,
    /// Its state.
    pub(crate) state: JobState,
    /// `pass`, or `inconclusive` when the job lets that through.
    pub(crate) verdict: Verdict,
    /// One sentence a reviewer can read in a log.
    pub(crate) summary: Option<String>,
    /// Each criterion with what was observed.
    pub(crate) criteria: Vec<CriterionOutcome>,
    /// Where to find the parts.
    pub(crate) links: BTreeMap<String, String>,
}

/// What is where.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Index {
    /// Always `benchd`.
    pub(crate) service: String,
    /// Its version.
    pub(crate) version: String,
    /// Paths relative to the service.
    pub(crate) links: BTreeMap<String, String>,
}

/// The service lives, or is ready.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`; everything else is a problem.
    pub(crate) status: String,
}

impl Health {
    pub(crate) fn ok() -> Self {
        Self { status: "ok".to_owned() }
    }
}
