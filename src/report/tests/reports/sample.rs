//! A job with recordings and the result assembled from them.

use benchd_model::assemble::{Evidence, assemble};
use benchd_model::environment::HostSnapshot;
use benchd_model::job::Progress;
use benchd_model::recording::FirstResponse;
use benchd_model::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use benchd_model::{
    Job, JobId, JobSpec, JobState, Outcome, RunResult, SecondRecord, Tally, Timestamp, TrialEnd,
    TrialRecording,
};
use benchd_report::Report;
use serde_json::Value;

/// When every sample begins.
pub(crate) const STARTED_US: i64 = 1_796_054_400_000_000;

/// A measured job.
pub(crate) struct Sample {
    pub(crate) job: Job,
    pub(crate) result: RunResult,
    pub(crate) recordings: Vec<TrialRecording>,
}

impl Sample {
    pub(crate) fn new(spec: Value, recordings: Vec<TrialRecording>) -> Self {
        let spec = spec_of(&spec);
        let id: JobId = "01938000-0000-7000-8000-000000000001".parse().unwrap();
        let result = assemble(&Evidence {
            job_id: id,
            spec: &spec,
            state: JobState::Completed,
            recordings: &recordings,
            host: HostSnapshot::default(),
            same_host: true,
            noise_floor_pct: None,
            baseline: None,
        });
        let job = Job {
            id,
            state: JobState::Completed,
            phase: None,
            progress: Progress::default(),
            queue_position: None,
            spec,
            verdict: Some(result.verdict),
            summary: Some(result.summary.clone()),
            error: None,
            error_code: None,
            created_at: Timestamp::from_micros(STARTED_US),
            started_at: None,
            finished_at: None,
            links: Default::default(),
        };
        Self { job, result, recordings }
    }

    pub(crate) fn report(&self) -> Report<'_> {
        Report { job: &self.job, result: &self.result, recordings: &self.recordings }
    }
}

pub(crate) fn spec_of(value: &Value) -> JobSpec {
    JobSpec::parse(value, &|_| None).unwrap()
}

/// A trial of `seconds` seconds with ten answers in each, nginx polled beside.
pub(crate) fn trial(number: u32, seconds: u32) -> TrialRecording {
    let second = |index: u32| {
        let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
        (1..=10).for_each(|at| answer(&mut tally, 200, at * 1000));
        tally.generator_cpu_us = 250_000;
        SecondRecord { index, connections_open: 2, tally, kernel: None }
    };
    let poll = |at: u32| StubStatusPoll {
        at: Timestamp::from_micros(STARTED_US + i64::from(at) * 1_000_000),
        offset_us: i64::from(at) * 1_000_000,
        took_us: 300,
        moment: match at {
            0 => PollMoment::Before,
            at if at == seconds => PollMoment::After,
            _ => PollMoment::During,
        },
        sent: true,
        connected: at == 0,
        status: Some(StubStatus {
            active: 3,
            accepts: 10 + u64::from(at > 0) * 2,
            handled: 10 + u64::from(at > 0) * 2,
            requests: 100 + u64::from(at) * 11,
            writing: 1,
            waiting: 2,
            ..StubStatus::default()
        }),
        error: None,
        software: Some("nginx/1.22.1".into()),
    };
    TrialRecording {
        trial: number,
        generator: 0,
        seconds: (0..seconds).map(second).collect(),
        polls: (0..=seconds).map(poll).collect(),
        end: Some(end()),
        started_us: Some(STARTED_US),
    }
}

pub(crate) fn end() -> TrialEnd {
    TrialEnd {
        driver: "tokio".into(),
        threads: 1,
        connections_achieved: 2,
        first_response: Some(FirstResponse {
            software: Some("nginx/1.22.1".into()),
            document_bytes: 612,
            tls: None,
        }),
        ..TrialEnd::default()
    }
}

/// Adds a complete response.
pub(crate) fn answer(tally: &mut Tally, status: u16, latency_us: u64) {
    tally.counts.add(Outcome::Ok);
    *tally.status_codes.entry(status).or_default() += 1;
    if !(200..300).contains(&status) {
        tally.unexpected_status += 1;
    }
    tally.bytes.received += 850;
    tally.bytes.body += 612;
    tally.bytes.sent += 90;
    tally.latency.record_us(latency_us);
    tally.service.record_us(latency_us);
    tally.ttfb.record_us(latency_us / 2);
}
