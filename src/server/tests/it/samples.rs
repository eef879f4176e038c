//! Jobs to post and the worker's side of their lives.

use crate::app::{TestApp, at};
use benchd_model::assemble::{Evidence, assemble};
use benchd_model::environment::HostSnapshot;
use benchd_model::event::JobEventKind;
use benchd_model::job::{Failure, FailureCode};
use benchd_model::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use benchd_model::{
    JobId, JobState, Outcome, Phase, RunResult, SecondRecord, Tally, Timestamp, TrialEnd, timeline,
};
use benchd_store::{Finish, Lease, Record};
use serde_json::{Value, json};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(3600);

/// A small valid job.
pub(crate) fn job() -> Value {
    json!({
        "project": "shop",
        "scenario": "home page",
        "target": {"url": "http://127.0.0.1:8088/index.html"},
        "load": {"connections": 2, "duration": "3s"},
        "labels": {"branch": "main", "commit": "4f2c9e1aa"}
    })
}

/// The small job with other values at the top.
pub(crate) fn job_with(fields: Value) -> Value {
    let mut document = job();
    for (name, value) in fields.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

impl TestApp {
    /// A worker takes the job.
    pub(crate) async fn claim(&self, id: JobId) -> Lease {
        let lease = self.store.claim("worker", Some(id), at(0), LEASE).await.unwrap();
        lease.expect("nobody else loads the host")
    }

    /// The job runs to its end, `seconds` seconds a trial, and ends at second `end`.
    pub(crate) async fn complete(&self, id: JobId, seconds: u32, end: i64) -> RunResult {
        let lease = self.claim(id).await;
        for trial in 0..lease.spec.trials {
            self.measure(&lease, trial, seconds, at(i64::from(trial) * 100)).await;
        }
        self.finish(&lease, JobState::Completed, end).await
    }

    /// A trial of `seconds` seconds that starts at `start`; second n has
    /// 10 requests of (n + 1) / 10 ms each, and nginx counts with it.
    pub(crate) async fn measure(&self, lease: &Lease, trial: u32, seconds: u32, start: Timestamp) {
        let phase = JobEventKind::Phase { trial: trial + 1, phase: Phase::Measuring };
        self.store.emit(lease, start, phase).await.unwrap();
        let started_us = start.as_micros();
        let mut records = vec![Record::TrialStarted { trial, generator: 0, started_us }];
        for index in 0..=seconds {
            let poll = poll(start, index, seconds);
            records.push(Record::Poll { trial, generator: 0, poll });
        }
        let recorded = (0..seconds).map(second);
        records.extend(recorded.map(|second| Record::Second { trial, generator: 0, second }));
        let end = TrialEnd { driver: "tokio".into(), threads: 1, ..TrialEnd::default() };
        records.push(Record::TrialEnd { trial, generator: 0, end });
        self.store.append(lease, &records).await.unwrap();
        let recordings = self.store.recordings(lease.job).await.unwrap();
        for row in timeline::all(&recordings, &lease.spec.load) {
            if row.trial == trial + 1 {
                let at = row.time;
                let kind = JobEventKind::Second { trial: trial + 1, row: Box::new(row) };
                self.store.emit(lease, at, kind).await.unwrap();
            }
        }
    }

    /// Ends the job with what was recorded.
    pub(crate) async fn finish(&self, lease: &Lease, state: JobState, end: i64) -> RunResult {
        let recordings = self.store.recordings(lease.job).await.unwrap();
        let host = HostSnapshot { cores: 2, ..HostSnapshot::default() };
        let result = assemble(&Evidence {
            job_id: lease.job,
            spec: &lease.spec,
            state,
            recordings: &recordings,
            host,
            same_host: true,
            noise_floor_pct: None,
            baseline: None,
        });
        let finish = Finish { state, result: Some(&result), error: None, at: at(end) };
        self.store.finish(lease, finish).await.unwrap();
        result
    }

    /// The job cannot be run.
    pub(crate) async fn fail(&self, id: JobId, why: &str) {
        let lease = self.claim(id).await;
        let error = Failure { code: FailureCode::InvalidJob, message: why.to_owned() };
        let finish =
            Finish { state: JobState::Failed, result: None, error: Some(&error), at: at(1) };
        self.store.finish(&lease, finish).await.unwrap();
    }
}

/// Second `index` of a trial: 10 requests of `(index + 1) / 10` ms.
pub(crate) fn second(index: u32) -> SecondRecord {
    let mut tally = Tally { span_us: 1_000_000, generator_cpu_us: 1000, ..Tally::default() };
    for _ in 0..10 {
        let micros = u64::from(index + 1) * 100;
        tally.counts.add(Outcome::Ok);
        tally.latency.record_us(micros);
        tally.service.record_us(micros);
        tally.ttfb.record_us(micros);
    }
    tally.status_codes.insert(200, 10);
    tally.bytes.received = 8500;
    SecondRecord { index, connections_open: 2, tally, kernel: None }
}

/// The poll at the end of second `index - 1`.
fn poll(start: Timestamp, index: u32, last: u32) -> StubStatusPoll {
    let offset_us = i64::from(index) * 1_000_000;
    let moment = match index {
        0 => PollMoment::Start,
        index if index == last => PollMoment::After,
        _ => PollMoment::During,
    };
    StubStatusPoll {
        at: start.plus_micros(offset_us),
        offset_us,
        took_us: 300,
        moment,
        sent: true,
        connected: index == 0,
        status: Some(StubStatus {
            active: 3,
            accepts: 3,
            handled: 3,
            requests: 1 + u64::from(index) * 11,
            reading: 0,
            writing: 1,
            waiting: 2,
            request_time_ms: None,
        }),
        error: None,
        software: None,
    }
}
