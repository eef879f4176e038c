//! Jobs, records and results to test with.

use benchd_model::assemble::{Evidence, assemble};
use benchd_model::environment::HostSnapshot;
use benchd_model::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use benchd_model::{
    Job, JobId, JobSpec, JobState, Outcome, RunResult, SecondRecord, Timestamp, TrialEnd,
};
use benchd_store::{Finish, Lease, NewJob, Record, Store};
use std::time::Duration;

pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// The n-th second of the tests' time.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(1_764_500_000_000_000 + second * 1_000_000)
}

pub(crate) fn spec(document: serde_json::Value) -> JobSpec {
    serde_json::from_value(document).unwrap()
}

pub(crate) fn new_job(spec: JobSpec, second: i64) -> NewJob {
    let target_host = spec.target_host();
    NewJob { id: JobId::new(), spec, target_host, created_at: at(second), idempotency: None }
}

/// A job on a host, created in the n-th second.
pub(crate) fn job_on(host: &str, second: i64) -> NewJob {
    let url = format!("http://{host}:8088/");
    new_job(
        spec(serde_json::json!({"project": "shop", "scenario": "home", "target": {"url": url}})),
        second,
    )
}

/// Creates a job and gives its id.
pub(crate) async fn create(store: &Store, job: NewJob) -> JobId {
    store.create_job(job).await.unwrap().job.id
}

/// Creates a job on a host and gives its id.
pub(crate) async fn queue(store: &Store, host: &str) -> JobId {
    create(store, job_on(host, 0)).await
}

/// Takes the next job.
pub(crate) async fn claim(store: &Store) -> Option<Lease> {
    store.claim("worker", None, at(1), LEASE).await.unwrap()
}

/// Creates and takes a job.
pub(crate) async fn running(store: &Store, host: &str) -> Lease {
    let id = queue(store, host).await;
    store.claim("worker", Some(id), at(1), LEASE).await.unwrap().unwrap()
}

pub(crate) async fn finish(store: &Store, lease: &Lease, state: JobState, second: i64) {
    let result = result(lease);
    let finish = Finish { state, result: Some(&result), error: None, at: at(second) };
    store.finish(lease, finish).await.unwrap();
}

pub(crate) async fn state(store: &Store, id: JobId) -> JobState {
    store.job(id).await.unwrap().unwrap().state
}

/// A result with an awkward float, so that a sloppy round trip shows.
pub(crate) fn result(lease: &Lease) -> RunResult {
    let mut result = assemble(&Evidence {
        job_id: lease.job,
        spec: &lease.spec,
        state: JobState::Completed,
        recordings: &[],
        host: HostSnapshot::default(),
        same_host: false,
        noise_floor_pct: None,
        baseline: None,
    });
    result.rps = 0.1 + 0.2;
    result.duration_s = 1.0 / 3.0;
    result
}

pub(crate) fn second(index: u32) -> SecondRecord {
    let mut second = SecondRecord { index, connections_open: 7, ..SecondRecord::default() };
    second.tally.span_us = 1_000_000;
    for n in 0..20 {
        second.tally.counts.add(Outcome::Ok);
        second.tally.latency.record_us(100 + 37 * n * u64::from(index + 1));
    }
    second.tally.status_codes.insert(200, 20);
    second
}

pub(crate) fn second_record(trial: u32, generator: u32, index: u32) -> Record {
    Record::Second { trial, generator, second: second(index) }
}

pub(crate) fn poll(second: i64) -> StubStatusPoll {
    StubStatusPoll {
        at: at(second),
        offset_us: second * 1_000_000,
        took_us: 300,
        moment: PollMoment::During,
        sent: true,
        connected: false,
        status: Some(StubStatus { active: 8, requests: 100, writing: 1, ..StubStatus::default() }),
        error: None,
        software: Some("nginx/1.22.1".to_owned()),
    }
}

pub(crate) fn end() -> TrialEnd {
    TrialEnd { driver: "tokio".to_owned(), threads: 2, ..TrialEnd::default() }
}

/// A job and its result as they are read.
pub(crate) fn pair(job: &Job, result: &RunResult) -> (Job, RunResult) {
    (job.clone(), result.clone())
}
