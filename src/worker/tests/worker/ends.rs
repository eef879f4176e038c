//! Jobs that do not come to their own end: cancelled, interrupted, taken over,
//! abandoned, or with a store that goes away.

use crate::support::gate::Gate;
use crate::support::{Bench, bounded, nginx, nginx_spec, recorded_ok, spec};
use benchd_model::recording::EndReason;
use benchd_model::{JobId, JobState, SecondRecord, Timestamp};
use benchd_store::{BaselineFilter, CancelOutcome, Lease, Record};
use benchd_worker::{Worker, WorkerConfig, WorkerError, worker_name};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const LONG: &str = "5m";

/// A job on nginx that only ends when it is told to, and its worker.
fn start(bench: &Bench, job: JobId, shutdown: &CancellationToken) -> Running {
    let (worker, shutdown) = (bench.worker(), shutdown.clone());
    tokio::spawn(async move { worker.run_one(job, shutdown).await })
}

type Running = JoinHandle<Result<JobState, WorkerError>>;

async fn ended(running: Running) -> Result<JobState, WorkerError> {
    bounded(running).await.unwrap()
}

#[tokio::test]
async fn a_cancelled_job_keeps_what_it_measured() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let job = bench.post(&nginx_spec(&nginx, json!({"connections": 4, "duration": LONG}))).await;
    let running = start(&bench, job, &CancellationToken::new());
    bench.until_measured(job).await;
    let asked = bench.store.cancel(job, Timestamp::now()).await.unwrap();
    assert!(matches!(asked, CancelOutcome::Requested(_)), "{asked:?}");
    assert_eq!(ended(running).await.unwrap(), JobState::Cancelled);

    let result = bench.result(job).await;
    assert_eq!(result.ended, EndReason::Cancelled);
    assert!(result.counts.ok > 0 && result.counts.balanced());
    assert_eq!(recorded_ok(&bench.recordings(job).await), result.counts.ok);
    let stored = bench.job(job).await;
    assert_eq!((stored.state, stored.verdict), (JobState::Cancelled, Some(result.verdict)));
    assert!(stored.summary.is_some());
}

#[tokio::test]
async fn a_worker_that_shuts_down_stores_its_job_as_interrupted_first() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let job = bench.post(&nginx_spec(&nginx, json!({"connections": 4, "duration": LONG}))).await;
    let shutdown = CancellationToken::new();
    let (worker, token) = (bench.worker(), shutdown.clone());
    let running = tokio::spawn(async move { worker.run(token).await });
    bench.until_measured(job).await;
    shutdown.cancel();
    bounded(running).await.unwrap();

    assert_eq!(bench.job(job).await.state, JobState::Interrupted);
    let result = bench.result(job).await;
    assert_eq!(result.ended, EndReason::Interrupted);
    assert!(result.counts.ok > 0);
    assert_eq!(recorded_ok(&bench.recordings(job).await), result.counts.ok);
}

#[tokio::test]
async fn a_job_stopped_before_its_first_second_ends_all_the_same() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let job = bench.post(&spec(&gate.url, json!({"connections": 1, "duration": LONG}))).await;
    let shutdown = CancellationToken::new();
    let running = start(&bench, job, &shutdown);
    gate.asked(1).await;
    shutdown.cancel();
    assert_eq!(ended(running).await.unwrap(), JobState::Interrupted);
    let counts = bench.result(job).await.counts;
    assert_eq!((counts.ok, counts.aborted, counts.issued), (0, 1, 1));
}

/// Puts the job into the hands of `worker` with one second recorded.
async fn abandon(bench: &Bench, job: JobId, worker: &str, lease: Duration) -> Lease {
    let now = Timestamp::now();
    let lease = bench.store.claim(worker, Some(job), now, lease).await.unwrap().unwrap();
    let mut second = SecondRecord { connections_open: 2, ..SecondRecord::default() };
    second.tally.span_us = 1_000_000;
    second.tally.counts.issued = 41;
    second.tally.counts.ok = 41;
    let started_us = now.as_micros();
    let records = [
        Record::TrialStarted { trial: 0, generator: 0, started_us },
        Record::Second { trial: 0, generator: 0, second },
    ];
    bench.store.append(&lease, &records).await.unwrap();
    lease
}

/// A name under which this process would have run once before.
fn dead_worker() -> String {
    let name = worker_name();
    let (process, start) = name.rsplit_once(':').unwrap();
    format!("{process}:{}", start.parse::<u64>().unwrap() + 1)
}

async fn reaped(bench: &Bench, job: JobId) {
    reaped_as(bench, job, JobState::Interrupted).await;
}

async fn reaped_as(bench: &Bench, job: JobId, state: JobState) {
    let shutdown = CancellationToken::new();
    let (worker, token) = (bench.worker(), shutdown.clone());
    let running = tokio::spawn(async move { worker.run(token).await });
    bench.until_state(job, state).await;
    shutdown.cancel();
    bounded(running).await.unwrap();
}

#[tokio::test]
async fn a_job_whose_lease_ran_out_is_interrupted_with_its_partial_result() {
    let bench = Bench::new().await;
    let job = bench.post(&spec("http://127.0.0.1:9/", json!({"duration": LONG}))).await;
    let lease = abandon(&bench, job, "elsewhere:1:1", Duration::ZERO).await;
    reaped(&bench, job).await;

    let result = bench.result(job).await;
    assert_eq!((result.counts.ok, result.ended), (41, EndReason::Interrupted));
    assert_eq!(bench.job(job).await.verdict, Some(result.verdict));
    let late = bench.store.append(&lease, &[]).await;
    let late_record = Record::TrialStarted { trial: 1, generator: 0, started_us: 0 };
    let late_append = bench.store.append(&lease, &[late_record]).await;
    assert!(late_append.is_err(), "the dead worker is fenced off: {late:?} {late_append:?}");
}

#[tokio::test]
async fn a_restarted_worker_ends_its_predecessors_job_at_once() {
    let bench = Bench::new().await;
    let job = bench.post(&spec("http://127.0.0.1:9/", json!({"duration": LONG}))).await;
    abandon(&bench, job, &dead_worker(), Duration::from_secs(3600)).await;
    reaped(&bench, job).await;
    assert_eq!(bench.result(job).await.counts.ok, 41);
}

#[tokio::test]
async fn the_job_of_a_living_worker_is_left_alone() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let spec = spec(&gate.url, json!({"connections": 1, "requests": 1}));
    let others = bench.post_at(&spec, "elsewhere").await;
    let hour = Duration::from_secs(3600);
    for (job, name) in
        [(others, "elsewhere:1:1".to_owned()), (bench.post(&spec).await, worker_name())]
    {
        abandon(&bench, job, &name, hour).await;
    }
    gate.allow(1);
    // A whole job of its own passes after the first round of the reaper.
    let own = bench.post_at(&spec, "third").await;
    let shutdown = CancellationToken::new();
    let (worker, token) = (bench.worker(), shutdown.clone());
    let running = tokio::spawn(async move { worker.run(token).await });
    bench.until_state(own, JobState::Completed).await;
    shutdown.cancel();
    bounded(running).await.unwrap();
    assert_eq!(bench.job(others).await.state, JobState::Running);
}

#[tokio::test]
async fn run_one_frees_its_host_from_a_dead_worker() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    gate.allow(1);
    let spec = spec(&gate.url, json!({"connections": 1, "requests": 1}));
    let blocking = bench.post(&spec).await;
    abandon(&bench, blocking, &dead_worker(), Duration::from_secs(3600)).await;
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    assert_eq!(bench.job(blocking).await.state, JobState::Interrupted);
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_stops_and_writes_nothing_more() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let load = json!({"connections": 1, "requests": 3, "timeout": LONG});
    let job = bench.post(&spec(&gate.url, load)).await;
    let running = start(&bench, job, &CancellationToken::new());
    gate.allow(1);
    gate.asked(2).await;
    let held = bench.store.running().await.unwrap().remove(0);
    let (now, hour) = (Timestamp::now(), Duration::from_secs(3600));
    let taken = bench.store.take_over(job, held.attempt, "other", now, hour).await.unwrap();
    assert!(taken.is_some());
    let before = recorded_ok(&bench.recordings(job).await);

    let lost = ended(running).await;
    assert!(matches!(lost, Err(WorkerError::TakenOver(id)) if id == job), "{lost:?}");
    gate.left_alone().await;
    assert_eq!(bench.job(job).await.state, JobState::Running);
    assert_eq!(recorded_ok(&bench.recordings(job).await), before);
    assert_eq!(bench.store.result(job).await.unwrap(), None);
}

const REFUSE_RECORDS: &str = "CREATE TRIGGER away BEFORE INSERT ON recordings \
    BEGIN SELECT RAISE(ABORT, 'the disk is away'); END";
const REFUSE_ENDS: &str = "CREATE TRIGGER away BEFORE INSERT ON results \
    BEGIN SELECT RAISE(ABORT, 'the disk is away'); END";

async fn execute(bench: &Bench, sql: &'static str) {
    sqlx::query(sql).execute(&mut bench.sqlite().await).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_away_in_the_middle_loses_nothing() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let load = json!({"connections": 1, "requests": 60, "timeout": LONG});
    let job = bench.post(&spec(&gate.url, load)).await;
    let running = start(&bench, job, &CancellationToken::new());
    gate.allow(20);
    bench.until_measured(job).await;
    execute(&bench, REFUSE_RECORDS).await;
    // The load goes on to its end without the store…
    gate.allow(60);
    gate.asked(60).await;
    gate.left_alone().await;
    assert!(!running.is_finished());
    execute(&bench, "DROP TRIGGER away").await;
    // …and everything is there once the store is back.
    assert_eq!(ended(running).await.unwrap(), JobState::Completed);
    assert_eq!(bench.result(job).await.counts.ok, 60);
    assert_eq!(recorded_ok(&bench.recordings(job).await), 60);
}

#[tokio::test]
async fn a_store_that_stays_away_leaves_the_job_in_the_spool() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    gate.allow(5);
    let job = bench.post(&spec(&gate.url, json!({"connections": 1, "requests": 5}))).await;
    execute(&bench, REFUSE_ENDS).await;
    let impatient = WorkerConfig { keep_trying: Duration::ZERO, ..bench.config("impatient") };
    let worker = Worker::new(bench.store.clone(), impatient);
    let outcome = bounded(worker.run_one(job, CancellationToken::new())).await;
    let Err(WorkerError::Spooled { path, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(path, bench.path("spool").join(format!("{job}.json")));
    let text = std::fs::read_to_string(path).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["state"], "completed");
    assert_eq!(document["result"]["counts"]["ok"], 5);
}

/// Runs the job on a worker that dies, while the store is away: where it is spooled.
async fn spooled(bench: &Bench, job: JobId) -> PathBuf {
    execute(bench, REFUSE_RECORDS).await;
    let impatient = WorkerConfig { keep_trying: Duration::ZERO, ..bench.config(&dead_worker()) };
    let worker = Worker::new(bench.store.clone(), impatient);
    let outcome = bounded(worker.run_one(job, CancellationToken::new())).await;
    let Err(WorkerError::Spooled { path, .. }) = outcome else { panic!("{outcome:?}") };
    path
}

#[tokio::test]
async fn a_job_in_the_spool_comes_home_when_the_store_is_back() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    gate.allow(5);
    let mut spec = spec(&gate.url, json!({"connections": 1, "requests": 5}));
    spec.labels.insert("branch".to_owned(), "main".to_owned());
    let job = bench.post(&spec).await;
    let path = spooled(&bench, job).await;
    assert_eq!(recorded_ok(&bench.recordings(job).await), 0);
    execute(&bench, "DROP TRIGGER away").await;

    let baseline_when = vec![("branch".to_owned(), "main".to_owned())];
    let home = WorkerConfig { baseline_when, ..bench.config(&worker_name()) };
    let home = Worker::new(bench.store.clone(), home);
    let ended = bounded(home.run_one(job, CancellationToken::new())).await;
    assert_eq!(ended.unwrap(), JobState::Completed);
    let baselines = bench.store.baselines(&BaselineFilter::default()).await.unwrap();
    assert_eq!(baselines.iter().map(|baseline| baseline.job_id).collect::<Vec<_>>(), [job]);
    let result = bench.result(job).await;
    assert_eq!((result.counts.ok, result.ended), (5, EndReason::Completed));
    assert_eq!(bench.job(job).await.verdict, Some(result.verdict));
    let recordings = bench.recordings(job).await;
    assert_eq!(recorded_ok(&recordings), 5);
    assert!(recordings[0].end.is_some() && recordings[0].started_us.is_some());
    assert!(!path.exists());
}

#[tokio::test]
async fn a_noise_floor_comes_home_with_its_job() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    gate.allow(60);
    let mut spec = spec(&gate.url, json!({"connections": 1, "requests": 5}));
    let compare = json!({"baseline": {}, "blocks": 6, "metric": "rps"});
    spec.compare = serde_json::from_value(compare).unwrap();
    spec.trials = 12;
    let job = bench.post(&spec).await;
    spooled(&bench, job).await;
    execute(&bench, "DROP TRIGGER away").await;
    let home = Worker::new(bench.store.clone(), bench.config(&worker_name()));
    let ended = bounded(home.run_one(job, CancellationToken::new())).await;
    assert_eq!(ended.unwrap(), JobState::Completed);
    let result = bench.result(job).await;
    let (target, environment) = (spec.target.digest(), &result.environment.fingerprint);
    let floor = bench.store.noise_floor(&target, environment, "rps").await.unwrap();
    let told = result.comparison.unwrap().noise_floor_pct;
    assert_eq!(floor.map(|floor| (floor.job_id, Some(floor.floor_pct))), Some((job, told)));
}

#[tokio::test]
async fn an_abandoned_job_with_unreadable_records_ends_and_says_why() {
    let bench = Bench::new().await;
    let job = bench.post(&spec("http://127.0.0.1:9/", json!({"duration": LONG}))).await;
    abandon(&bench, job, &dead_worker(), Duration::from_secs(3600)).await;
    execute(&bench, "UPDATE recordings SET record = x'01ff'").await;
    reaped_as(&bench, job, JobState::Failed).await;
    let error = bench.job(job).await.error.unwrap();
    assert!(error.contains("cannot be read"), "{error}");
}

#[tokio::test]
async fn a_store_whose_file_is_removed_leaves_the_job_in_the_spool_at_once() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let load = json!({"connections": 1, "requests": 5, "timeout": LONG});
    let job = bench.post(&spec(&gate.url, load)).await;
    let running = start(&bench, job, &CancellationToken::new());
    gate.asked(1).await;
    std::fs::remove_file(bench.path("benchd.db")).unwrap();
    gate.allow(5);
    // Within the test's bound, which is far below the patience for an outage.
    let outcome = ended(running).await;
    let Err(WorkerError::Spooled { path, outcome, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(path.exists());
    assert_eq!((outcome.state, recorded_ok(&outcome.recordings)), (JobState::Completed, 5));
    assert_eq!(outcome.result.unwrap().counts.ok, 5);
}
