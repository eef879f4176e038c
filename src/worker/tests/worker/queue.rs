//! Which job runs when.

use crate::support::gate::Gate;
use crate::support::{Bench, bounded, spec};
use benchd_model::{JobId, JobState};
use benchd_worker::{Worker, WorkerConfig, WorkerError};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

fn start(worker: Worker, shutdown: &CancellationToken) -> JoinHandle<()> {
    let shutdown = shutdown.clone();
    tokio::spawn(async move { worker.run(shutdown).await })
}

#[tokio::test]
async fn jobs_on_one_host_never_overlap_and_other_hosts_go_on() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let one = spec(&gate.url, json!({"connections": 1, "requests": 1, "timeout": "5m"}));
    let first = bench.post(&one).await;
    let second = bench.post(&one).await;
    let elsewhere = bench.post_at(&one, "elsewhere").await;
    let shutdown = CancellationToken::new();
    // Two workers, so that the queue and not one worker's order decides.
    let workers = ["a", "b"]
        .map(|name| start(Worker::new(bench.store.clone(), bench.config(name)), &shutdown));

    // Both hosts are loaded at the same time; the second job of one waits.
    gate.asked(2).await;
    assert_eq!(bench.job(first).await.state, JobState::Running);
    assert_eq!(bench.job(elsewhere).await.state, JobState::Running);
    assert_eq!(bench.job(second).await.state, JobState::Queued);
    gate.allow(3);
    for job in [first, second, elsewhere] {
        bench.until_state(job, JobState::Completed).await;
    }
    let (first, second) = (bench.job(first).await, bench.job(second).await);
    assert!(second.started_at >= first.finished_at, "{first:?} {second:?}");
    shutdown.cancel();
    for worker in workers {
        bounded(worker).await.unwrap();
    }
}

#[tokio::test]
async fn a_worker_runs_no_more_jobs_at_once_than_it_may() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let one = spec(&gate.url, json!({"connections": 1, "requests": 1, "timeout": "5m"}));
    let mut jobs = Vec::new();
    for host in ["a", "b", "c"] {
        jobs.push(bench.post_at(&one, host).await);
    }
    let shutdown = CancellationToken::new();
    let config = WorkerConfig { at_once: 2, ..bench.config("two") };
    let worker = start(Worker::new(bench.store.clone(), config), &shutdown);
    gate.asked(2).await;
    assert_eq!(bench.job(jobs[2]).await.state, JobState::Queued);
    gate.allow(1);
    gate.asked(3).await;
    gate.allow(3);
    for job in jobs {
        bench.until_state(job, JobState::Completed).await;
    }
    shutdown.cancel();
    bounded(worker).await.unwrap();
}

#[tokio::test]
async fn run_one_runs_its_job_and_no_other() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    gate.allow(1);
    let one = spec(&gate.url, json!({"connections": 1, "requests": 1}));
    let older = bench.post_at(&one, "elsewhere").await;
    let job = bench.post(&one).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    assert_eq!(bench.job(older).await.state, JobState::Queued);
}

#[tokio::test]
async fn run_one_waits_for_its_host_and_then_runs() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let one = spec(&gate.url, json!({"connections": 1, "requests": 1, "timeout": "5m"}));
    let (first, second) = (bench.post(&one).await, bench.post(&one).await);
    let shutdown = CancellationToken::new();
    let run = |job: JobId| {
        let (worker, shutdown) = (bench.worker(), shutdown.clone());
        tokio::spawn(async move { worker.run_one(job, shutdown).await })
    };
    let running = run(first);
    gate.asked(1).await;
    let waiting = run(second);
    gate.allow(2);
    assert_eq!(bounded(running).await.unwrap().unwrap(), JobState::Completed);
    assert_eq!(bounded(waiting).await.unwrap().unwrap(), JobState::Completed);
    let (first, second) = (bench.job(first).await, bench.job(second).await);
    assert!(second.started_at >= first.finished_at);
}

#[tokio::test]
async fn a_waiting_run_one_that_is_stopped_cancels_its_job() {
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let one = spec(&gate.url, json!({"connections": 1, "requests": 1, "timeout": "5m"}));
    let (first, second) = (bench.post(&one).await, bench.post(&one).await);
    let shutdown = CancellationToken::new();
    let (worker, token) = (bench.worker(), shutdown.clone());
    let running = tokio::spawn(async move { worker.run_one(first, token).await });
    gate.asked(1).await;
    let stopped = CancellationToken::new();
    stopped.cancel();
    let waiting = bounded(bench.worker().run_one(second, stopped)).await;
    assert_eq!(waiting.unwrap(), JobState::Cancelled);
    shutdown.cancel();
    assert_eq!(bounded(running).await.unwrap().unwrap(), JobState::Interrupted);
}

#[tokio::test]
async fn run_one_tells_of_jobs_that_are_unknown_or_over() {
    let bench = Bench::new().await;
    let unknown = JobId::new();
    let outcome = bench.run(unknown).await;
    assert!(matches!(outcome, Err(WorkerError::UnknownJob(id)) if id == unknown), "{outcome:?}");
    let job = bench.post(&spec("http://127.0.0.1:9/", json!({"requests": 1}))).await;
    bench.store.cancel(job, benchd_model::Timestamp::now()).await.unwrap();
    assert_eq!(bench.run(job).await.unwrap(), JobState::Cancelled);
}
