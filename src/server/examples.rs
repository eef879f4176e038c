//! The documents that the OpenAPI document shows as examples. They are built
//! from the model's types and its own assembly, so they cannot go stale.

use crate::links::{links, shown};
use benchd_model::assemble::{Evidence, assemble};
use benchd_model::baseline::{Baseline, BaselineId, DEFAULT_BASELINE};
use benchd_model::environment::HostSnapshot;
use benchd_model::job::Progress;
use benchd_model::metrics::Better;
use benchd_model::recording::FirstResponse;
use benchd_model::spec::LoadModel;
use benchd_model::statistics::{
    Arm, ComparedTrial, Comparison, ComparisonValidity, Design, Measured, Question, balanced_order,
    compare,
};
use benchd_model::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use benchd_model::trend::{LevelChange, Run, Trend};
use benchd_model::{
    Job, JobId, JobSpec, JobState, KernelCounts, Outcome, Phase, RunResult, SecondRecord, Tally,
    TimelineRow, Timestamp, TrialEnd, TrialRecording, timeline,
};
use serde_json::{Value, json};

/// 2026-11-30T14:00:00Z.
const POSTED_US: i64 = 1_796_047_200_000_000;
const SECOND_US: i64 = 1_000_000;

/// A job as somebody posts it.
pub(crate) fn posted() -> Value {
    json!({
        "project": "shop",
        "scenario": "home page",
        "target": {
            "url": "http://127.0.0.1:8088/index.html",
            "stub_status": "http://127.0.0.1:8088/nginx_status"
        },
        "request": {"method": "GET", "headers": {"Accept": "*/*"}},
        "load": {
            "model": "closed", "connections": 2, "requests": 400, "keepalive": true,
            "warmup": "2s", "timeout": "30s"
        },
        "trials": 1,
        "criteria": [
            "latency_p95_ms < 500", "goodput_rps > 100", "error_ratio < 0.1%", "warn: rps > 150 for 1s"
        ],
        "labels": {"branch": "main", "commit": "4f2c9e1"}
    })
}

/// A request to compare two targets.
pub(crate) fn compared_loads() -> Value {
    json!({
        "baseline": "http://127.0.0.1:8088/", "candidate": "http://127.0.0.1:8089/",
        "quick": true, "metric": "latency_p99_ms", "margin_pct": 5
    })
}

/// A comparison by ten trials of each side, the candidate slower by an eighth.
pub(crate) fn comparison(design: Design) -> Comparison {
    let order = balanced_order(10, 1);
    let trial = |place: u32| {
        let arm = order[place as usize / 2].arms()[place as usize % 2];
        let noise = f64::from((place * 7) % 5) / 10.0;
        let value = Some(if arm == Arm::A { 12.0 } else { 13.5 } + noise);
        let placed = design == Design::Paired;
        let (block, position) = (placed.then_some(place / 2 + 1), placed.then_some(place % 2 + 1));
        ComparedTrial { block, position, arm, value, requests: 20_000 }
    };
    let question = Question {
        metric: "latency_p99_ms".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Lower,
        margin_pct: 5.0,
        noise_floor_pct: Some(1.8),
        requests_needed: 10_000,
        seed: 1,
        load_model: LoadModel::Closed,
    };
    let measured = Measured {
        design,
        baseline_runs: vec![id()],
        candidate_runs: vec![id()],
        trials: (0..20).map(trial).collect(),
        validity: ComparisonValidity::default(),
        objections: Vec::new(),
    };
    compare(&question, measured)
}

/// The smallest job there is.
pub(crate) fn smallest() -> Value {
    json!({"target": {"url": "http://127.0.0.1:8088/"}})
}

fn spec() -> JobSpec {
    JobSpec::parse(&posted(), &|_| None).expect("the example is a valid job")
}

pub(crate) fn id() -> JobId {
    JobId("01936f5c-8d40-7c3e-9a55-2f6b1d0e4a17".parse().expect("the constant is a UUID"))
}

/// The id of a job before it, which it is compared with.
pub(crate) fn earlier_id() -> JobId {
    JobId("01936f4a-1b20-7d11-8c02-6a9d3e5f7b20".parse().expect("the constant is a UUID"))
}

/// A job that waits.
pub(crate) fn queued() -> Job {
    shown(Job {
        id: id(),
        state: JobState::Queued,
        phase: None,
        progress: Progress { trials: 1, ..Progress::default() },
        queue_position: Some(0),
        spec: spec(),
        verdict: None,
        summary: None,
        error: None,
        error_code: None,
        created_at: Timestamp::from_micros(POSTED_US),
        started_at: None,
        finished_at: None,
        links: links(id()),
    })
}

/// The job cancelled while it waited.
pub(crate) fn cancelled() -> Job {
    Job {
        state: JobState::Cancelled,
        queue_position: None,
        summary: Some("cancelled before it was started".to_owned()),
        finished_at: Some(Timestamp::from_micros(POSTED_US + SECOND_US)),
        ..queued()
    }
}

/// The job while it runs.
pub(crate) fn running() -> Job {
    Job {
        state: JobState::Running,
        phase: Some(Phase::Measuring),
        progress: Progress {
            ratio: 0.5,
            trial: 1,
            trials: 1,
            elapsed_s: 1.0,
            issued: 200,
            ok: 200,
            errors: 0,
            rps: 200.0,
        },
        queue_position: None,
        started_at: Some(Timestamp::from_micros(POSTED_US + 20_000)),
        ..queued()
    }
}

/// The job when it is done.
pub(crate) fn completed() -> Job {
    let result = result();
    Job {
        state: JobState::Completed,
        phase: None,
        progress: Progress {
            ratio: 1.0,
            elapsed_s: 2.0,
            issued: 400,
            ok: 400,
            ..running().progress
        },
        verdict: Some(result.verdict),
        summary: Some(result.summary),
        finished_at: Some(Timestamp::from_micros(POSTED_US + 4 * SECOND_US)),
        ..running()
    }
}

/// What it measured.
pub(crate) fn result() -> RunResult {
    let host = HostSnapshot {
        kernel: "6.12.0".to_owned(),
        architecture: "x86_64".to_owned(),
        cores: 2,
        nofile_soft: 65_536,
        nofile_hard: 1_048_576,
        benchd_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..HostSnapshot::default()
    };
    let mut result = assemble(&Evidence {
        job_id: id(),
        spec: &spec(),
        state: JobState::Completed,
        recordings: &[recording()],
        host,
        same_host: true,
        noise_floor_pct: None,
        baseline: None,
    });
    result.links = links(id());
    result
}

/// The baseline that it became.
pub(crate) fn baseline() -> Baseline {
    let (job, result) = (completed(), result());
    Baseline {
        id: BaselineId("01936f5d-1c2b-7e01-8a44-0d5e6f7a8b90".parse().expect("it is a UUID")),
        project: job.spec.project,
        scenario: job.spec.scenario,
        environment: result.environment.fingerprint,
        name: DEFAULT_BASELINE.to_owned(),
        job_id: job.id,
        set_at: Timestamp::from_micros(POSTED_US + 5 * SECOND_US),
    }
}

/// Its scenario's history: five runs twice as fast, and five as slow as it.
fn history() -> Vec<Run> {
    let run = |hour: i64| {
        let mut job = completed();
        let id = format!("01936f5c-8d40-7c3e-9a55-2f6b1d0e4a{hour:02}");
        job.id = JobId(id.parse().expect("it is a UUID"));
        job.finished_at = Some(Timestamp::from_micros(POSTED_US + hour * 3600 * SECOND_US));
        let mut result = result();
        result.rps = if hour < 5 { 400.0 } else { 200.0 } + (hour % 3) as f64;
        Run::of(&job, &result, &["rps".to_owned()])
    };
    (0..10).map(run).collect()
}

/// By one metric.
pub(crate) fn trend() -> Trend {
    let spec = spec();
    let trend = benchd_model::trend::trend(&spec.project, &spec.scenario, "rps", &history());
    trend.expect("the metric is known")
}

/// What changed in it.
pub(crate) fn changes() -> Vec<LevelChange> {
    benchd_model::trend::changes(&history(), &["rps".to_owned()]).levels
}

/// A row of its timeline.
pub(crate) fn timeline_row() -> TimelineRow {
    timeline::all(&[recording()], &spec().load).remove(0)
}

/// Two seconds with 200 requests each, on two kept connections.
fn recording() -> TrialRecording {
    let second = |index: u32| {
        let mut tally = Tally {
            span_us: 1_000_000,
            generator_cpu_us: 60_000,
            generator_wait_us: 5000,
            generator_busiest_us: 65_000,
            ..Tally::default()
        };
        for request in 0..200u64 {
            let micros = 1800 + request * 12;
            tally.counts.add(Outcome::Ok);
            tally.latency.record_us(micros);
            tally.service.record_us(micros);
            tally.ttfb.record_us(micros - 100);
        }
        tally.status_codes.insert(200, 200);
        tally.kept_alive = 200;
        tally.bytes.received = 200 * 850;
        tally.bytes.body = 200 * 612;
        tally.bytes.sent = 200 * 96;
        tally.connections.reused_requests = 200;
        let kernel = KernelCounts {
            tcp_segments: Some(400),
            tcp_retransmits: Some(0),
            tcp_syn_retransmits: Some(0),
            listen_overflows: Some(0),
            softnet_drops: Some(0),
            socket_drops: Some(0),
            throttled_us: None,
            stolen_us: Some(0),
        };
        SecondRecord { index, connections_open: 2, tally, kernel: Some(kernel) }
    };
    TrialRecording {
        started_us: Some(POSTED_US + 2 * SECOND_US),
        seconds: vec![second(0), second(1)],
        polls: vec![
            poll(PollMoment::Before, -2 * SECOND_US, 500),
            poll(PollMoment::Start, 0, 901),
            poll(PollMoment::During, SECOND_US, 1102),
            poll(PollMoment::After, 2 * SECOND_US, 1303),
        ],
        end: Some(TrialEnd {
            driver: "tokio".to_owned(),
            threads: 1,
            connections_achieved: 2,
            opened_before: 2,
            warmup: benchd_model::Counts { issued: 400, ok: 400, ..Default::default() },
            first_response: Some(FirstResponse {
                software: Some("nginx/1.26.3".to_owned()),
                document_bytes: 612,
                tls: None,
            }),
            ..TrialEnd::default()
        }),
        ..TrialRecording::default()
    }
}

fn poll(moment: PollMoment, offset_us: i64, requests: u64) -> StubStatusPoll {
    let first = matches!(moment, PollMoment::Before);
    let accepts = if first { 41 } else { 43 };
    StubStatusPoll {
        at: Timestamp::from_micros(POSTED_US + 2 * SECOND_US + offset_us),
        offset_us,
        took_us: 400,
        moment,
        sent: true,
        connected: first,
        status: Some(StubStatus {
            active: if first { 1 } else { 3 },
            accepts,
            handled: accepts,
            requests,
            reading: 0,
            writing: 1,
            waiting: if first { 0 } else { 2 },
            request_time_ms: None,
        }),
        error: None,
        software: Some("nginx/1.26.3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{changes, completed, result, trend};
    use benchd_model::Verdict;

    #[test]
    fn the_example_is_a_run_that_adds_up_and_passes() {
        let result = result();
        assert_eq!(result.verdict, Verdict::Pass, "{}", result.summary);
        assert_eq!(result.validity.reconciled, Some(true), "{:?}", result.server);
        assert_eq!(completed().summary, Some(result.summary));
    }

    #[test]
    fn the_example_of_a_history_shows_its_change() {
        assert_eq!(changes().len(), 1);
        assert_eq!(trend().change_points[0].index, 5);
    }
}
