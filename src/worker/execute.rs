//! One job from its lease to its end: addresses pinned, trials made, result
//! assembled, everything stored. Whatever happens on the way, the job ends.

use crate::flush::{End, Journal, Settled, Writer};
use crate::halt::Halt;
use crate::progress::Meter;
use crate::resolve::{self, PinnedTarget, ResolveError};
use crate::sampler::Sampler;
use crate::trial::{TrialError, Trials};
use crate::{Worker, WorkerError, baseline_rule, judge, spool, trial};
use benchd_engine::{EngineError, Plan, PlanError};
use benchd_model::criteria::Watch;
use benchd_model::environment::HostSnapshot;
use benchd_model::event::JobEventKind;
use benchd_model::job::{Failure, FailureCode};
use benchd_model::policy::TargetPolicy;
use benchd_model::recording::EndReason;
use benchd_model::statistics::Arm;
use benchd_model::{JobId, JobSpec, JobState, Phase, RunResult, TrialRecording};
use benchd_store::{Lease, NoiseFloor};
use std::convert::Infallible;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs the job of `lease` to its end and tells its final state. `shutdown`
/// interrupts it; it is stored all the same before this returns.
///
/// # Errors
/// When its end is not in the store: taken over, spooled or lost.
pub(crate) async fn execute(
    worker: &Worker,
    lease: Lease,
    shutdown: &CancellationToken,
) -> Result<JobState, WorkerError> {
    let (job, config) = (lease.job, &worker.config);
    tracing::info!(%job, attempt = lease.attempt, "running");
    let _running = worker.running.enter(job, lease.attempt);
    let halt = Halt::default();
    let _interrupted_when_dropped = halt.interrupt_on_drop();
    let spec = Arc::new(lease.spec.clone());
    let (mut writer, journal) =
        Writer::new(worker.store.clone(), lease, config.lease, halt.clone());

    let running = async {
        let measuring = measure(job, Arc::clone(&spec), worker, &halt, journal);
        tokio::join!(measuring, writer.run()).0
    };
    let interrupting = async {
        shutdown.cancelled().await;
        halt.interrupt();
        std::future::pending::<Infallible>().await
    };
    let outcome = tokio::select! {
        outcome = running => outcome,
        never = interrupting => match never {},
    };

    let Outcome { state, error, result, recordings, .. } = &outcome;
    let (state, error) = (*state, error.as_ref());
    let end = End { state, result: result.as_ref(), error };
    match writer.settle(&end, config.keep_trying, shutdown).await {
        Settled::Stored => {
            tracing::info!(%job, state = state.name(), error = error.map(|e| &*e.message), "finished");
            judge::keep(&worker.store, &outcome.noise_floors).await;
            let verdict = result.as_ref().map(|result| result.verdict);
            baseline_rule::apply(worker, job, &spec, state, verdict).await;
            Ok(state)
        }
        Settled::Lost => Err(WorkerError::TakenOver(job)),
        Settled::Unsaved => Err(match spool::write(&config.spool, job, &end, recordings) {
            Ok(path) => WorkerError::Spooled { job, path, outcome: Box::new(outcome) },
            Err(error) => {
                let reason = error.to_string();
                WorkerError::Lost { job, reason, outcome: Box::new(outcome) }
            }
        }),
    }
}

/// What a job came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its final state.
    pub state: JobState,
    /// Why it could not be run.
    pub error: Option<Failure>,
    /// What came out.
    pub result: Option<RunResult>,
    /// Everything recorded, by trial.
    pub recordings: Vec<TrialRecording>,
    /// What it showed by comparing a target with itself.
    pub noise_floors: Vec<NoiseFloor>,
}

/// Why a job could not be run. Its words are the job's `error`.
#[derive(Debug, thiserror::Error)]
enum JobError {
    #[error("{0}")]
    Resolve(#[from] ResolveError),
    #[error("the load cannot be planned: {0}")]
    Plan(#[from] benchd_engine::PlanError),
    #[error("{0}")]
    Trial(#[from] trial::TrialError),
}

impl JobError {
    const fn code(&self) -> FailureCode {
        match self {
            Self::Resolve(ResolveError::Refused(_) | ResolveError::OverLimit(_)) => {
                FailureCode::TargetRefused
            }
            Self::Resolve(ResolveError::Unresolved { .. }) => FailureCode::TargetUnresolved,
            // What the worker's own environment says is no fault of the job.
            Self::Plan(PlanError::Driver(_)) => FailureCode::LoadFailed,
            Self::Resolve(_)
            | Self::Plan(_)
            | Self::Trial(TrialError::Engine(EngineError::Plan(_) | EngineError::Source { .. })) => {
                FailureCode::InvalidJob
            }
            Self::Trial(TrialError::Engine(_)) => FailureCode::LoadFailed,
            Self::Trial(TrialError::Panicked) => FailureCode::Internal,
        }
    }
}

/// All that an arm needs before its first trial.
struct Prepared {
    arm: Arm,
    trials: Trials,
    sampler: Option<Sampler>,
}

/// What the trials left.
#[derive(Default)]
struct Measured {
    recordings: Vec<TrialRecording>,
    error: Option<JobError>,
    same_host: bool,
}

async fn measure(
    job: JobId,
    spec: Arc<JobSpec>,
    worker: &Worker,
    halt: &Halt,
    journal: Journal,
) -> Outcome {
    let host = benchd_probe::host_snapshot();
    let mut meter = Meter::new(spec.trials, Watch::new(&spec));
    let policy = &worker.config.policy;
    let measured = run_trials(job, &spec, &host, policy, halt, &journal, &mut meter).await;
    let Measured { recordings, error, same_host } = measured;
    if let Some(error) = error {
        return Outcome::failed(&error, recordings);
    }

    let trial = meter.progress().trial;
    journal.event(JobEventKind::Phase { trial, phase: Phase::Collecting });
    journal.status(Some(Phase::Collecting), meter.progress());
    let state = state_of(&spec, &recordings, halt.requested());
    let found = judge::Found { job, spec, state, host, same_host, recordings };
    found.judged(&worker.store).await
}

async fn run_trials(
    job: JobId,
    spec: &JobSpec,
    host: &HostSnapshot,
    policy: &TargetPolicy,
    halt: &Halt,
    journal: &Journal,
    meter: &mut Meter,
) -> Measured {
    journal.status(Some(Phase::Preparing), meter.progress());
    let mut measured = Measured::default();
    let prepared = tokio::select! {
        () = halt.halted() => return measured,
        prepared = prepare(spec, policy) => prepared,
    };
    let mut arms = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Measured { error: Some(error), ..measured },
    };
    // The environment is the candidate's, which comes last.
    measured.same_host = arms.last().is_some_and(|prepared| prepared.trials.same_host);
    journal.host(host.clone(), measured.same_host);
    for index in 0..spec.trials {
        if halt.requested().is_some() {
            break;
        }
        let arm = spec.arm_of_trial(job, index);
        let Some(prepared) = arms.iter_mut().find(|prepared| prepared.arm == arm) else { break };
        let Prepared { trials, sampler, .. } = prepared;
        match trial::run(trials, index, sampler.as_mut(), halt, journal, meter).await {
            Ok(recording) => measured.recordings.push(recording),
            Err(error) => return Measured { error: Some(error.into()), ..measured },
        }
    }
    measured
}

/// The candidate, and before it the baseline of a job that compares.
async fn prepare(spec: &JobSpec, policy: &TargetPolicy) -> Result<Vec<Prepared>, JobError> {
    let mut arms = Vec::new();
    for arm in spec.arms() {
        arms.push(prepare_arm(*arm, &spec.arm(*arm), policy).await?);
    }
    Ok(arms)
}

async fn prepare_arm(
    arm: Arm,
    spec: &JobSpec,
    policy: &TargetPolicy,
) -> Result<Prepared, JobError> {
    let PinnedTarget { endpoints, same_host } = resolve::target(policy, spec).await?;
    let sampler = match &spec.target.stub_status {
        Some(page) => Some(sampler_for(page, policy).await?),
        None => None,
    };
    let plan = Arc::new(Plan::from_spec(spec, endpoints)?);
    let trials = Trials { plan, load: spec.load.clone(), same_host };
    Ok(Prepared { arm, trials, sampler })
}

/// A page that may not be asked fails the job, since that is a rule; one that
/// cannot be found only fails its polls, as one that answers nonsense does.
async fn sampler_for(page: &str, policy: &TargetPolicy) -> Result<Sampler, ResolveError> {
    match resolve::stub_status(policy, page).await {
        Ok((url, address)) => Ok(Sampler::new(&url, address)),
        Err(ResolveError::Refused(refusal)) => Err(ResolveError::Refused(refusal)),
        Err(error) => Ok(Sampler::unreachable(error.to_string())),
    }
}

/// A job whose every trial came to its end is completed, also when it was told
/// to stop an instant later; so is one that its own criterion ended.
fn state_of(spec: &JobSpec, recordings: &[TrialRecording], told: Option<EndReason>) -> JobState {
    let completed = |recording: &&TrialRecording| {
        recording.end.as_ref().is_some_and(|end| end.reason == EndReason::Completed)
    };
    if recordings.iter().filter(completed).count() == spec.trials as usize {
        return JobState::Completed;
    }
    match told {
        Some(EndReason::Aborted) => JobState::Completed,
        Some(EndReason::Cancelled) => JobState::Cancelled,
        _ => JobState::Interrupted,
    }
}

impl Outcome {
    fn failed(error: &JobError, recordings: Vec<TrialRecording>) -> Self {
        let error = Some(Failure { code: error.code(), message: error.to_string() });
        let noise_floors = Vec::new();
        Self { state: JobState::Failed, error, result: None, recordings, noise_floors }
    }
}
