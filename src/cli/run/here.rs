//! The job measured by this process. It goes through the local database like
//! any other, so that history grows and a kill loses nothing.

use super::outputs::Outputs;
use super::{no_result, words};
use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use crate::follow::Progress;
use crate::local;
use anyhow::Context as _;
use benchd_model::event::JobEventKind;
use benchd_model::policy::{RegisteredTarget, TargetPolicy};
use benchd_model::{Job, JobId, JobSpec, RunResult, Timestamp, TrialRecording};
use benchd_report::Report;
use benchd_store::{NewJob, Store};
use benchd_worker::{Outcome, ResolveError, Worker, WorkerConfig, WorkerError};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a finished job waits for a database that takes nothing. Somebody
/// waits for the report, so it is much shorter than in a service.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn run(
    args: &RunArgs,
    document: &Value,
    policy: TargetPolicy,
    outputs: Outputs,
    shutdown: CancellationToken,
) -> anyhow::Result<Exit> {
    let named = |name: &str| policy.named(name).map(RegisteredTarget::spec);
    let spec = JobSpec::parse(document, &named)
        .map_err(|errors| words::refusal(args, Exit::Usage, &errors))?;
    check_target(args, &spec, &policy).await?;
    let store = local::open_store(args.output.database.database.as_deref()).await?;
    let id = JobId::new();
    let target_host = spec.target_host();
    let mut progress = Progress::new(&spec, args.output.quiet);
    let created = store
        .create_job(NewJob {
            id,
            spec,
            target_host,
            created_at: Timestamp::now(),
            idempotency: None,
        })
        .await?;
    let config = WorkerConfig {
        keep_trying: PATIENCE,
        baseline_when: args.judge.rule.baseline_when.clone(),
        ..WorkerConfig::new(Arc::new(policy))
    };
    let worker = Worker::new(store.clone(), config);
    let running = worker.run_one(id, shutdown);
    let following = async {
        // Reading the database for nobody would cost the load its processor.
        if !args.output.quiet {
            follow(&store, id, &mut progress).await;
        }
        Ok(())
    };
    // A job that could not be stored to its end never tells its last event:
    // its error ends the following, too.
    let joined = tokio::try_join!(running, following);
    progress.finish();
    if let Err(why) = joined {
        return Err(unstored(why, created.job, outputs)?);
    }
    let job = store.job(id).await?.context("the job was deleted while it ran")?;
    let exit = Exit::of_job(job.state, job.verdict, job.error_code);
    let Some(result) = store.result(id).await? else {
        return Err(no_result(&job));
    };
    let recordings = store.recordings(id).await?;
    deliver(outputs, job, &result, &recordings)?;
    Ok(exit)
}

/// What a job that could not be stored measured is printed all the same. Without
/// an end that is stored there is no verdict to exit by.
fn unstored(why: WorkerError, mut job: Job, outputs: Outputs) -> anyhow::Result<anyhow::Error> {
    let stop = Stop::error(Exit::Undecided, why.to_string());
    let (WorkerError::Spooled { outcome, .. } | WorkerError::Lost { outcome, .. }) = why else {
        return Ok(stop);
    };
    let Outcome { state, error, result, recordings, .. } = *outcome;
    (job.state, job.queue_position) = (state, None);
    job.error_code = error.as_ref().map(|error| error.code);
    job.error = error.map(|error| error.message);
    if let Some(result) = result {
        (job.verdict, job.summary) = (Some(result.verdict), Some(result.summary.clone()));
        deliver(outputs, job, &result, &recordings)?;
    }
    Ok(stop)
}

/// Refuses at once what the worker would refuse later, with its own exit code.
async fn check_target(args: &RunArgs, spec: &JobSpec, policy: &TargetPolicy) -> anyhow::Result<()> {
    benchd_worker::admit(spec, policy).await.map_err(|why| match why {
        ResolveError::OverLimit(over) => words::refusal(args, Exit::Refused, &[over]),
        ResolveError::Refused(_) => Stop::error(Exit::Refused, why.to_string()),
        _ => Stop::error(Exit::Usage, why.to_string()),
    })
}

/// Tells the progress what the job's events say, until the last one, or until
/// somebody deletes the job. A store that is away for a while is the worker's to
/// deal with, not a reason to stop.
async fn follow(store: &Store, id: JobId, progress: &mut Progress) {
    const AT_MOST: Duration = Duration::from_millis(250);
    const PAGE: u32 = 1000;
    let mut last = 0;
    loop {
        // The job first: one that is finished by then has written every event.
        let over = match store.job(id).await {
            Ok(job) => job.is_none_or(|job| job.state.is_finished()),
            Err(_) => false,
        };
        let events = store.events_after(id, last, PAGE).await.unwrap_or_else(|error| {
            tracing::debug!("no events: {error}");
            Vec::new()
        });
        if over && events.is_empty() {
            return;
        }
        for event in events {
            last = event.sequence;
            progress.event(&event.kind);
            if matches!(event.kind, JobEventKind::Finished { .. }) {
                return;
            }
        }
        progress.waits(Instant::now(), "another job loads this host");
        store.changed(AT_MOST).await;
    }
}

fn deliver(
    outputs: Outputs,
    mut job: Job,
    result: &RunResult,
    recordings: &[TrialRecording],
) -> anyhow::Result<()> {
    job.spec = job.spec.redacted();
    let report = Report { job: &job, result, recordings };
    let texts = outputs.forms().into_iter().map(|form| Ok((form, outputs.text(form, &report)?)));
    let texts = texts.collect::<anyhow::Result<_>>()?;
    outputs.deliver(&texts)
}
