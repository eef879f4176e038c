//! Jobs that run to their end, against a real nginx and against nothing.

use crate::support::gate::Gate;
use crate::support::{Bench, closed_url, nginx, nginx_spec, recorded_ok, spec};
use benchd_model::event::JobEventKind;
use benchd_model::job::FailureCode;
use benchd_model::stub_status::PollMoment;
use benchd_model::{JobState, Phase, Verdict, timeline};
use benchd_probe::StubStatusPoller;
use benchd_tuning::ManagedNginx;
use serde_json::json;
use std::time::Duration;
use url::Url;

/// What nginx itself has counted, without this question.
struct Witness(StubStatusPoller);

impl Witness {
    async fn requests_before(nginx: &ManagedNginx) -> (Self, u64) {
        let url = Url::parse(&nginx.stub_status_url()).unwrap();
        let poller = StubStatusPoller::new(&url, nginx.address(), Duration::from_secs(5)).unwrap();
        let mut witness = Self(poller);
        let counted = witness.counted().await;
        (witness, counted)
    }

    async fn counted(&mut self) -> u64 {
        self.0.poll(PollMoment::During, || 0).await.status.unwrap().requests
    }
}

#[tokio::test]
async fn a_completed_job_counts_what_nginx_counted() {
    let (bench, nginx) = (Bench::new().await, nginx());
    for keepalive in [true, false] {
        let load = json!({"connections": 8, "requests": 2000, "keepalive": keepalive});
        let job = bench.post(&nginx_spec(&nginx, load)).await;
        let (mut witness, before) = Witness::requests_before(&nginx).await;
        assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
        let counted = witness.counted().await - before - 1;

        let result = bench.result(job).await;
        let status = result.server.stub_status.clone().unwrap();
        assert_eq!(result.counts.ok, 2000, "{result:?}");
        assert_eq!(counted - status.polls, 2000);
        assert_eq!((status.requests, status.polls_failed), (Some(2000), 0));
        assert_eq!(status.accepts, Some(result.connections.opened));
        assert_eq!(result.validity.reconciled, Some(true));
        assert!(result.environment.same_host);
        assert!(!result.environment.generator.kernel.is_empty());
        assert_eq!(recorded_ok(&bench.recordings(job).await), 2000);
        let progress = bench.job(job).await.progress;
        assert_eq!((progress.ratio, progress.ok, progress.errors), (1.0, 2000, 0));
    }
}

#[tokio::test]
async fn warm_up_requests_are_reconciled_and_left_out() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let load = json!({"connections": 4, "requests": 500, "warmup": "200ms"});
    let job = bench.post(&nginx_spec(&nginx, load)).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    let result = bench.result(job).await;
    assert_eq!(result.counts.ok, 500);
    assert!(result.warmup.ok > 0);
    let requests = result.server.stub_status.unwrap().requests.unwrap();
    assert!(requests >= 500 + result.warmup.ok, "{requests}");
    assert_eq!(result.validity.reconciled, Some(true));
}

#[tokio::test]
async fn each_trial_is_polled_before_and_after_and_recorded_on_its_own() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let mut spec = nginx_spec(&nginx, json!({"connections": 2, "requests": 300}));
    spec.trials = 3;
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);

    let recordings = bench.recordings(job).await;
    assert_eq!(recordings.iter().map(|r| r.trial).collect::<Vec<_>>(), [0, 1, 2]);
    for recording in &recordings {
        let moments: Vec<_> = recording.polls.iter().map(|poll| poll.moment).collect();
        assert_eq!(moments.first(), Some(&PollMoment::Before), "{moments:?}");
        assert_eq!(moments.last(), Some(&PollMoment::After), "{moments:?}");
        assert!(recording.polls[0].offset_us <= 0);
        assert!(recording.started_us.is_some() && recording.end.is_some());
        assert_eq!(recorded_ok(std::slice::from_ref(recording)), 300);
    }
    // One connection serves the polls of all trials.
    let connected = recordings.iter().flat_map(|r| &r.polls).filter(|poll| poll.connected);
    assert_eq!(connected.count(), 1);
    let result = bench.result(job).await;
    assert_eq!((result.trials.len(), result.counts.ok), (3, 900));
    assert_eq!(result.validity.reconciled, Some(true));
}

#[tokio::test]
async fn a_timed_run_is_polled_at_each_second_of_its_window() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let job =
        bench.post(&nginx_spec(&nginx, json!({"connections": 2, "duration": "2500ms"}))).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    let recordings = bench.recordings(job).await;
    use PollMoment::{After, Before, During, Start};
    let (during, around): (Vec<_>, Vec<_>) =
        recordings[0].polls.iter().partition(|poll| poll.moment == During);
    let around: Vec<_> = around.iter().map(|poll| poll.moment).collect();
    assert_eq!(around, [Before, Start, After]);
    // A poll is never early, and at most one belongs to each second.
    let seconds: Vec<_> = during.iter().map(|poll| poll.offset_us / 1_000_000).collect();
    assert!(!seconds.is_empty() && seconds[0] >= 1, "{seconds:?}");
    assert!(seconds.is_sorted_by(|a, b| a < b), "{seconds:?}");
}

#[tokio::test]
async fn the_events_tell_the_whole_story_in_order() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let job =
        bench.post(&nginx_spec(&nginx, json!({"connections": 2, "duration": "1300ms"}))).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);

    let events = bench.events(job).await;
    let numbers: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    let phases: Vec<Phase> = events
        .iter()
        .filter_map(|event| match event.kind {
            JobEventKind::Phase { trial: 1, phase } => Some(phase),
            _ => None,
        })
        .collect();
    assert_eq!(phases.first(), Some(&Phase::Preparing), "{phases:?}");
    assert!(phases.contains(&Phase::Measuring), "{phases:?}");
    assert_eq!(phases.last(), Some(&Phase::Collecting), "{phases:?}");
    let told: u64 = events
        .iter()
        .filter_map(|event| match &event.kind {
            JobEventKind::Second { row, .. } => Some(row.issued),
            _ => None,
        })
        .sum();
    let result = bench.result(job).await;
    assert_eq!(told, result.counts.issued);
    let last = &events.last().unwrap().kind;
    let expected = JobEventKind::Finished {
        state: JobState::Completed,
        verdict: Some(result.verdict),
        summary: Some(result.summary),
    };
    assert_eq!(last, &expected);
}

#[tokio::test]
async fn the_rows_of_the_events_are_those_of_the_timeline() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let spec = nginx_spec(&nginx, json!({"connections": 3, "duration": "2500ms"}));
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    let events = bench.events(job).await.into_iter();
    let mut told: Vec<_> = events
        .filter_map(|event| match event.kind {
            JobEventKind::Second { row, .. } => Some(*row),
            _ => None,
        })
        .collect();
    let rows = timeline::all(&bench.recordings(job).await, &spec.load);
    // A rest too short for a row of its own joins the last one.
    told.truncate(2);
    // Events are kept as documents, whose times have milliseconds.
    assert_eq!(json!(told), json!(rows[..2]));
    assert!(told.iter().any(|row| row.nginx_active == Some(3)), "{told:?}");
}

#[tokio::test]
async fn a_target_that_refuses_connections_gives_a_completed_job() {
    let bench = Bench::new().await;
    let job = bench.post(&spec(&closed_url(), json!({"connections": 5, "requests": 50}))).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    let result = bench.result(job).await;
    assert_eq!((result.counts.issued, result.counts.connect), (50, 50), "{:?}", result.counts);
    assert_eq!(result.verdict, Verdict::Fail);
    assert_eq!(bench.job(job).await.error, None);
}

#[tokio::test]
async fn a_server_that_hangs_gives_timeouts_and_an_end() {
    // Its page hangs with it.
    let (bench, gate) = (Bench::new().await, Gate::new().await);
    let load = json!({"connections": 2, "requests": 4, "timeout": "100ms"});
    let mut spec = spec(&gate.url, load);
    spec.target.stub_status = Some(gate.url.clone());
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    let result = bench.result(job).await;
    assert_eq!((result.counts.timeout, result.counts.issued), (4, 4), "{:?}", result.counts);
    let recordings = bench.recordings(job).await;
    let polls = &recordings[0].polls;
    assert!(polls.iter().all(|poll| poll.sent && poll.status.is_none()), "{polls:?}");
}

#[tokio::test]
async fn a_status_page_that_is_none_fails_its_polls_and_nothing_else() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let pages = [
        nginx.url("/nowhere"),
        nginx.url("/"),
        closed_url(),
        "http://nobody.invalid/nginx_status".to_owned(),
        "https://127.0.0.1/nginx_status".to_owned(),
    ];
    for page in pages {
        let mut spec = nginx_spec(&nginx, json!({"connections": 2, "requests": 100}));
        spec.target.stub_status = Some(page.clone());
        let job = bench.post(&spec).await;
        assert_eq!(bench.run(job).await.unwrap(), JobState::Completed, "{page}");
        let result = bench.result(job).await;
        let status = result.server.stub_status.expect("failed polls are data");
        assert_eq!(result.counts.ok, 100, "{page}");
        assert!(status.polls >= 2 && status.polls_failed == status.polls, "{page}: {status:?}");
        assert_eq!(result.validity.reconciled, None, "{page}");
    }
}

#[tokio::test]
async fn a_refused_target_fails_the_job_with_a_sentence() {
    let bench = Bench::new().await;
    // TEST-NET-1 (RFC 5737): nobody's address, and the policy refuses it first.
    let job = bench.post(&spec("http://192.0.2.1/", json!({"requests": 1}))).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Failed);
    let job = bench.job(job).await;
    let error = job.error.expect("a failed job says why");
    assert!(error.contains("192.0.2.1") && error.contains("benchd.toml"), "{error}");
}

#[tokio::test]
async fn a_refused_status_page_fails_the_job_before_any_load() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let mut spec = nginx_spec(&nginx, json!({"requests": 10}));
    spec.target.stub_status = Some("http://192.0.2.1/nginx_status".to_owned());
    let job = bench.post(&spec).await;
    let (mut witness, before) = Witness::requests_before(&nginx).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Failed);
    assert_eq!(witness.counted().await - before, 1, "only the witness asked");
    let failed = bench.job(job).await;
    assert!(failed.error.unwrap().contains("192.0.2.1"));
    assert_eq!(failed.error_code, Some(FailureCode::TargetRefused));
}

#[tokio::test]
async fn a_source_address_of_another_host_is_the_job_s_fault() {
    let bench = Bench::new().await;
    let mut spec = spec("http://127.0.0.1/", json!({"requests": 1}));
    // TEST-NET-1 (RFC 5737) is nobody's.
    spec.load.source_addresses = vec!["192.0.2.1".parse().unwrap()];
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Failed);
    let failed = bench.job(job).await;
    assert!(failed.error.unwrap().contains("192.0.2.1 cannot be used"));
    assert_eq!(failed.error_code, Some(FailureCode::InvalidJob));
}

#[tokio::test]
async fn a_name_without_address_fails_the_job() {
    let bench = Bench::new().await;
    let mut spec = spec("http://127.0.0.1/", json!({"requests": 1}));
    spec.target.url = "http://nobody.invalid/".to_owned();
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Failed);
    let failed = bench.job(job).await;
    assert!(failed.error.unwrap().contains("nobody.invalid cannot be resolved"));
    assert_eq!(failed.error_code, Some(FailureCode::TargetUnresolved));
    assert_eq!(bench.store.result(job.to_owned()).await.unwrap(), None);
}
