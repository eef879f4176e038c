//! From what a job recorded to its outcome. What others measured before, and
//! the job is judged by, is looked up here.

use crate::Outcome;
use benchd_model::arms;
use benchd_model::assemble::{Evidence, assemble};
use benchd_model::baseline::BaselineLookup;
use benchd_model::criteria;
use benchd_model::environment::HostSnapshot;
use benchd_model::job::{Failure, FailureCode};
use benchd_model::{JobId, JobSpec, JobState, RunResult, Timestamp, TrialRecording};
use benchd_store::{NoiseFloor, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinError, spawn_blocking};

/// How often a baseline is looked up while the store is away…
const LOOK_UPS: u32 = 5;
/// …with pauses of this length between.
const BETWEEN_LOOK_UPS: Duration = Duration::from_secs(1);

/// What a job found.
pub(crate) struct Found {
    pub(crate) job: JobId,
    pub(crate) spec: Arc<JobSpec>,
    pub(crate) state: JobState,
    pub(crate) host: HostSnapshot,
    pub(crate) same_host: bool,
    pub(crate) recordings: Vec<TrialRecording>,
}

/// What others measured before in the environment of the job.
#[derive(Default)]
struct Known {
    noise_floor_pct: Option<f64>,
    baseline: Option<BaselineLookup>,
}

impl Known {
    const fn is_nothing(&self) -> bool {
        self.noise_floor_pct.is_none() && self.baseline.is_none()
    }
}

impl Found {
    fn evidence<'a>(&'a self, known: &'a Known) -> Evidence<'a> {
        let Self { job, spec, state, host, same_host, recordings } = self;
        Evidence {
            job_id: *job,
            spec,
            state: *state,
            recordings,
            host: host.clone(),
            same_host: *same_host,
            noise_floor_pct: known.noise_floor_pct,
            baseline: known.baseline.as_ref(),
        }
    }

    /// Makes the result. What is known before is that of the environment in which
    /// the job was measured, which a first result tells.
    pub(crate) async fn judged(self, store: &Store) -> Outcome {
        let found = Arc::new(self);
        let mut result = found.assembled(Known::default()).await;
        if let Ok(first) = &result {
            let known = Known {
                noise_floor_pct: found.noise_floor(store, first).await,
                baseline: found.baseline(store, first).await,
            };
            if !known.is_nothing() {
                result = found.assembled(known).await;
            }
        }
        let noise_floors = match &result {
            Ok(result) => found.noise_floors(result).await,
            Err(_) => Vec::new(),
        };
        let broken = || Failure {
            code: FailureCode::Internal,
            message: "the result could not be assembled, which is a defect of benchd".to_owned(),
        };
        let (state, error) = match &result {
            Ok(_) => (found.state, None),
            Err(_) => (JobState::Failed, Some(broken())),
        };
        let recordings = match Arc::try_unwrap(found) {
            Ok(found) => found.recordings,
            Err(shared) => shared.recordings.clone(),
        };
        Outcome { state, error, result: result.ok(), recordings, noise_floors }
    }

    /// A long run has many histograms to merge; heartbeats go on meanwhile.
    async fn assembled(self: &Arc<Self>, known: Known) -> Result<RunResult, JoinError> {
        let found = Arc::clone(self);
        spawn_blocking(move || assemble(&found.evidence(&known))).await
    }

    async fn noise_floor(&self, store: &Store, result: &RunResult) -> Option<f64> {
        let compare = self.spec.compare.as_ref().filter(|compare| !compare.of_itself())?;
        let environment = &result.environment.fingerprint;
        let target = self.spec.target.digest();
        let look = || store.noise_floor(&target, environment, &compare.metric);
        let floor = looked_up("the noise floor", look).await;
        floor.ok().flatten().map(|floor| floor.floor_pct)
    }

    /// The baseline that the criteria name. A store that is away for a moment must
    /// not leave the job undecided.
    async fn baseline(&self, store: &Store, result: &RunResult) -> Option<BaselineLookup> {
        let name = criteria::baseline_name(&self.spec.criteria)?;
        let (project, scenario) = (&self.spec.project, &self.spec.scenario);
        let environment = &result.environment.fingerprint;
        let look = || store.find_baseline(project, scenario, environment, &name);
        match looked_up("the baseline", look).await {
            Ok(found) => found.map(Ok),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// What A against A shows, when the job compares its target with itself.
    pub(crate) async fn noise_floors(self: &Arc<Self>, result: &RunResult) -> Vec<NoiseFloor> {
        let found = Arc::clone(self);
        let floors = spawn_blocking(move || arms::noise_floors(&found.evidence(&Known::default())));
        let floor = |(metric, floor_pct)| NoiseFloor {
            target: self.spec.target.digest(),
            environment: result.environment.fingerprint.clone(),
            metric,
            floor_pct,
            job_id: self.job,
            measured_at: Timestamp::now(),
        };
        floors.await.unwrap_or_default().into_iter().map(floor).collect()
    }
}

/// Looks up what others measured; a store that is away for a moment is asked again.
async fn looked_up<T, F: Future<Output = Result<T, StoreError>>>(
    what: &str,
    look: impl Fn() -> F,
) -> Result<T, StoreError> {
    let mut tries = 1;
    loop {
        match look().await {
            Err(error) if error.is_transient() && tries < LOOK_UPS => {
                tracing::warn!(%error, "{what} cannot be looked up; trying again");
                tokio::time::sleep(BETWEEN_LOOK_UPS).await;
                tries += 1;
            }
            Err(error) => {
                tracing::error!(%error, "{what} cannot be looked up");
                return Err(error);
            }
            found => return found,
        }
    }
}

/// Keeps noise floors for later comparisons. A job's own end is stored by then,
/// so what fails here is told and nothing more.
pub(crate) async fn keep(store: &Store, floors: &[NoiseFloor]) {
    for floor in floors {
        if let Err(error) = store.put_noise_floor(floor).await {
            tracing::warn!(%error, metric = floor.metric, "the noise floor is not stored");
        }
    }
}
