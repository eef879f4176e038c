use super::{Evidence, assemble, total};
use crate::baseline::BaselineLookup;
use crate::environment::HostSnapshot;
use crate::recording::{EndReason, SecondRecord, TrialEnd};
use crate::spec::LoadSpec;
use crate::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use crate::{
    JobId, JobSpec, JobState, Outcome, Tally, Timestamp, TrialRecording, Verdict, timeline,
};
use serde_json::json;

pub(crate) fn spec(criteria: &[&str]) -> JobSpec {
    let target = json!({"url": "http://localhost/", "stub_status": "http://localhost/status"});
    let document = json!({"target": target, "load": {"connections": 1}, "criteria": criteria});
    JobSpec::parse(&document, &|_| None).unwrap()
}

/// The load of [`spec`].
fn load() -> LoadSpec {
    spec(&[]).load
}

pub(crate) fn tally(ok: u64, failed: u64, span_us: u64) -> Tally {
    let mut tally = Tally { span_us, generator_cpu_us: span_us / 2, ..Tally::default() };
    for i in 0..ok {
        tally.counts.add(Outcome::Ok);
        tally.latency.record_us(1000 + i);
    }
    (0..failed).for_each(|_| tally.counts.add(Outcome::Reset));
    tally.status_codes.insert(200, ok);
    tally
}

pub(crate) fn second(index: u32, tally: Tally) -> SecondRecord {
    SecondRecord { index, connections_open: 1, tally, kernel: None }
}

pub(crate) fn recording(seconds: Vec<SecondRecord>) -> TrialRecording {
    let end = TrialEnd {
        driver: "tokio".into(),
        threads: 1,
        connections_achieved: 1,
        ..TrialEnd::default()
    };
    TrialRecording { seconds, end: Some(end), started_us: Some(0), ..TrialRecording::default() }
}

pub(crate) fn poll(
    moment: PollMoment,
    offset_us: i64,
    accepts: u64,
    requests: u64,
) -> StubStatusPoll {
    StubStatusPoll {
        at: Timestamp::from_micros(offset_us),
        offset_us,
        took_us: 100,
        moment,
        sent: true,
        connected: matches!(moment, PollMoment::Before),
        status: Some(StubStatus {
            active: 2,
            accepts,
            handled: accepts,
            requests,
            writing: 1,
            ..StubStatus::default()
        }),
        error: None,
        software: Some("nginx/1.22.1".into()),
    }
}

pub(crate) fn judge(spec: &JobSpec, recordings: &[TrialRecording]) -> crate::RunResult {
    judge_in_state(spec, recordings, JobState::Completed)
}

fn judge_in_state(
    spec: &JobSpec,
    recordings: &[TrialRecording],
    state: JobState,
) -> crate::RunResult {
    judge_on(HostSnapshot::default(), spec, recordings, state)
}

pub(crate) fn judge_on(
    host: HostSnapshot,
    spec: &JobSpec,
    recordings: &[TrialRecording],
    state: JobState,
) -> crate::RunResult {
    assemble(&Evidence { state, host, ..evidence(spec, recordings) })
}

pub(crate) fn judge_against(
    spec: &JobSpec,
    recordings: &[TrialRecording],
    baseline: Option<&BaselineLookup>,
) -> crate::RunResult {
    assemble(&Evidence { baseline, ..evidence(spec, recordings) })
}

fn evidence<'a>(spec: &'a JobSpec, recordings: &'a [TrialRecording]) -> Evidence<'a> {
    Evidence {
        job_id: JobId::new(),
        spec,
        state: JobState::Completed,
        recordings,
        host: HostSnapshot::default(),
        same_host: true,
        noise_floor_pct: None,
        baseline: None,
    }
}

#[test]
fn a_good_run_passes_and_its_rows_sum_up_to_the_result() {
    let recordings = [recording(vec![
        second(0, tally(1000, 0, 1_000_000)),
        second(1, tally(500, 2, 1_000_000)),
        second(2, tally(10, 0, 50_000)),
    ])];
    let result = judge(&spec(&["latency_p99_ms < 500"]), &recordings);
    assert_eq!(result.verdict, Verdict::Pass, "{}", result.summary);
    assert_eq!((result.counts.issued, result.counts.ok), (1512, 1510));
    assert!((result.duration_s - 2.05).abs() < 1e-9);
    assert!((result.rps - 736.585).abs() < 1e-9);
    let rows = timeline::all(&recordings, &load());
    assert_eq!(rows.len(), 2, "the short rest joins the second before");
    assert_eq!(rows.iter().map(|row| row.ok).sum::<u64>(), 1510);
    assert!((rows[1].rps - 510.0 / 1.05).abs() < 1e-9);
    assert!((rows[1].elapsed_s - 2.05).abs() < 1e-9);
}

#[test]
fn no_samples_never_pass() {
    let result = judge(&spec(&[]), &[recording(Vec::new())]);
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert_eq!((result.error_ratio, result.rps), (None, 0.0));
    let nothing = judge(&spec(&[]), &[]);
    assert_eq!(nothing.verdict, Verdict::Invalid);
}

#[test]
fn all_errors_fail_even_when_the_latency_criterion_has_no_data() {
    let recordings = [recording(vec![second(0, tally(0, 100, 1_000_000))])];
    let result = judge(&spec(&["latency_p99_ms < 500"]), &recordings);
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(
        result.summary.contains("error_ratio < 0.01 is violated, observed 1"),
        "{}",
        result.summary
    );
}

#[test]
fn the_default_criterion_yields_to_an_own_one() {
    let recordings = [recording(vec![second(0, tally(50, 50, 1_000_000))])];
    assert_eq!(judge(&spec(&[]), &recordings).verdict, Verdict::Fail);
    let lenient = judge(&spec(&["error_ratio < 60%"]), &recordings);
    assert_eq!((lenient.verdict, lenient.criteria.len()), (Verdict::Pass, 1));
}

#[test]
fn a_criterion_that_cannot_be_read_is_not_left_out() {
    let recordings = [recording(vec![second(0, tally(1000, 0, 1_000_000))])];
    let mut spec = spec(&["rps > 1"]);
    spec.criteria.push("metric_of_tomorrow < 5".to_owned());
    let result = judge(&spec, &recordings);
    assert_eq!((result.verdict, result.criteria.len()), (Verdict::Inconclusive, 3));
    assert!(
        result.summary.contains("metric_of_tomorrow < 5 cannot be decided, this benchd"),
        "{}",
        result.summary
    );
}

#[test]
fn too_few_samples_for_a_percentile_are_inconclusive() {
    let recordings = [recording(vec![second(0, tally(99, 0, 1_000_000))])];
    assert_eq!(judge(&spec(&["latency_p99_ms < 500"]), &recordings).verdict, Verdict::Inconclusive);
}

pub(crate) fn with_polls(polls: Vec<StubStatusPoll>) -> TrialRecording {
    TrialRecording { polls, ..recording(vec![second(0, tally(1000, 0, 1_000_000))]) }
}

#[test]
fn nginx_and_we_agree_when_nobody_else_asks() {
    let recordings = [with_polls(vec![
        poll(PollMoment::Before, -10, 5, 100),
        poll(PollMoment::Start, 10, 6, 101),
        poll(PollMoment::After, 1_000_000, 6, 1102),
    ])];
    let result = judge(&spec(&[]), &recordings);
    let status = result.server.stub_status.as_ref().unwrap();
    assert_eq!(
        (status.requests, status.accepts, status.polls, status.foreign_requests),
        (Some(1000), Some(1), 3, Some(0))
    );
    assert_eq!(result.validity.reconciled, Some(true));
    let rows = timeline::all(&recordings, &load());
    assert_eq!(rows[0].nginx_requests_per_s.map(f64::round), Some(1000.0));
    assert_eq!((rows[0].nginx_active, rows[0].nginx_writing), (Some(1), Some(0)));
}

#[test]
fn a_closed_status_connection_is_a_reload_while_counters_go_on_and_else_a_restart() {
    let run = |connected, requests| {
        let during = StubStatusPoll { connected, ..poll(PollMoment::During, 500_000, 6, 601) };
        let before = poll(PollMoment::Before, -10, 5, 100);
        let after = poll(PollMoment::After, 1_000_000, 6, requests);
        judge(&spec(&[]), &[with_polls(vec![before, during, after])])
    };
    let told = |sentences: &[String], part: &str| sentences.iter().any(|s| s.contains(part));
    let reloaded = run(true, 1102);
    assert_eq!((reloaded.verdict, reloaded.validity.reconciled), (Verdict::Pass, Some(true)));
    assert!(told(&reloaded.notes, "it was reloaded"), "{:?}", reloaded.notes);
    assert!(!told(&run(false, 1102).notes, "reloaded"));
    let restarted = run(true, 900);
    assert!(told(&restarted.validity.reasons, "nginx was restarted during the run, or"));
    assert!(!told(&run(false, 900).validity.reasons, "restarted"));
}

#[test]
fn a_wall_clock_that_is_set_back_is_no_restart_of_nginx() {
    // Kept by wall clock, which went back an hour in the middle of the run.
    let recordings = [with_polls(vec![
        poll(PollMoment::After, 1_000_000, 6, 1103),
        poll(PollMoment::During, 990_000, 6, 1000),
        poll(PollMoment::Before, -10, 5, 100),
        poll(PollMoment::Start, 10, 6, 101),
    ])];
    let result = judge(&spec(&[]), &recordings);
    assert_eq!(result.server.stub_status.as_ref().unwrap().restarts, 0);
    assert_eq!(result.validity.reconciled, Some(true), "{}", result.summary);
    let rows = timeline::all(&recordings, &load());
    assert_eq!(rows[0].nginx_active, Some(1));
    assert_eq!(rows[0].nginx_requests_per_s.map(f64::round), Some(1000.0));
}

#[test]
fn foreign_traffic_is_a_remark_when_slight_and_a_reason_when_heavy() {
    let with_foreign = |foreign: u64| {
        judge(
            &spec(&[]),
            &[with_polls(vec![
                poll(PollMoment::Before, -10, 5, 100),
                poll(PollMoment::After, 1_000_000, 6, 1101 + foreign),
            ])],
        )
    };
    let slight = with_foreign(5);
    assert_eq!((slight.verdict, slight.validity.reconciled), (Verdict::Pass, Some(false)));
    let heavy = with_foreign(500);
    assert_eq!(heavy.verdict, Verdict::Invalid);
    assert!(heavy.summary.contains("500 requests that are not ours"), "{}", heavy.summary);
}

#[test]
fn a_status_page_that_counted_too_little_or_restarted_is_invalid() {
    let other_server = judge(
        &spec(&[]),
        &[with_polls(vec![
            poll(PollMoment::Before, -10, 5, 100),
            poll(PollMoment::After, 1_000_000, 5, 101),
        ])],
    );
    assert_eq!(other_server.verdict, Verdict::Invalid);
    let restarted = judge(
        &spec(&[]),
        &[with_polls(vec![
            poll(PollMoment::Before, -10, 50, 10_000),
            poll(PollMoment::During, 500_000, 60, 10_500),
            poll(PollMoment::After, 1_000_000, 3, 501),
        ])],
    );
    assert_eq!(restarted.verdict, Verdict::Invalid);
    assert!(
        restarted.summary.contains("restarted during the run: its counters fell"),
        "{}",
        restarted.summary
    );
}

fn failed_poll(moment: PollMoment, offset_us: i64) -> StubStatusPoll {
    let error = Some("no complete answer".to_owned());
    StubStatusPoll { status: None, error, ..poll(moment, offset_us, 0, 0) }
}

#[test]
fn a_counter_that_was_not_read_around_the_whole_load_accuses_nobody() {
    let before = poll(PollMoment::Before, -10, 5, 100);
    let during = poll(PollMoment::During, 500_000, 6, 400);
    let after = poll(PollMoment::After, 1_000_000, 6, 1101);
    for polls in [
        vec![before.clone(), during.clone(), failed_poll(PollMoment::After, 1_000_000)],
        vec![failed_poll(PollMoment::Before, -10), during, after],
    ] {
        let result = judge(&spec(&[]), &[with_polls(polls)]);
        assert_eq!(result.verdict, Verdict::Pass, "{}", result.summary);
        assert_eq!(result.validity.reconciled, None);
        assert!(result.notes.iter().any(|note| note.contains("was not read")));
    }
}

#[test]
fn a_failed_poll_after_the_last_good_one_is_in_no_counter() {
    let after = |requests| {
        judge(
            &spec(&[]),
            &[with_polls(vec![
                poll(PollMoment::Before, -10, 5, 100),
                failed_poll(PollMoment::During, 500_000),
                poll(PollMoment::After, 1_000_000, 5, requests),
                failed_poll(PollMoment::After, 1_000_100),
            ])],
        )
    };
    let result = after(1102);
    assert_eq!(result.server.stub_status.as_ref().unwrap().requests, Some(1000));
    assert_eq!(result.validity.reconciled, Some(true), "{}", result.summary);
    assert_eq!(after(1101).verdict, Verdict::Invalid);
}

#[test]
fn what_a_killed_generator_sent_is_neither_missing_nor_foreign() {
    for requests in [200, 90_000] {
        let mut killed = with_polls(vec![
            poll(PollMoment::Before, -10, 5, 100),
            poll(PollMoment::During, 500_000, 5, requests),
        ]);
        killed.end = None;
        let result = judge_in_state(&spec(&[]), &[killed], JobState::Interrupted);
        assert_eq!(result.validity.reasons.len(), 1, "{:?}", result.validity.reasons);
        assert!(result.validity.reasons[0].contains("interrupted"));
        assert_eq!(result.server.stub_status.unwrap().foreign_requests, Some(0));
    }
}

#[test]
fn counters_are_reconciled_over_all_trials() {
    let trial = |trial: u32, from: u64, foreign: u64| {
        let polls = vec![
            poll(PollMoment::Before, -10, 5, from),
            poll(PollMoment::After, 1_000_000, 6, from + 1001 + foreign),
        ];
        TrialRecording { trial, ..with_polls(polls) }
    };
    let spec = JobSpec { trials: 2, ..spec(&[]) };
    let clean = judge(&spec, &[trial(0, 100, 0), trial(1, 5000, 0)]);
    assert_eq!(clean.server.stub_status.as_ref().unwrap().requests, Some(2000));
    assert_eq!((clean.verdict, clean.validity.reconciled), (Verdict::Pass, Some(true)));
    let foreign = judge(&spec, &[trial(0, 100, 0), trial(1, 5000, 300)]);
    assert_eq!(foreign.server.stub_status.as_ref().unwrap().foreign_requests, Some(300));
    assert_eq!(foreign.verdict, Verdict::Invalid);
}

#[test]
fn partial_runs_are_marked_and_keep_their_figures() {
    let mut killed = recording(vec![second(0, tally(100, 0, 1_000_000))]);
    killed.end = None;
    let mut spec = spec(&[]);
    spec.load.threads = 8;
    let result = judge_in_state(&spec, &[killed], JobState::Interrupted);
    // Of eight threads only one has a connection to work on.
    assert_eq!((result.load.threads, result.validity.generator_cpu_ratio), (1, Some(0.5)));
    assert_eq!((result.verdict, result.ended), (Verdict::Invalid, EndReason::Interrupted));
    assert_eq!(result.counts.ok, 100);
}

#[test]
fn damaged_records_make_no_figure_fall_over() {
    let mut unbalanced = tally(3, 0, 1_000_000);
    unbalanced.counts.issued = 0;
    (unbalanced.counts.aborted, unbalanced.counts.connect) = (9, 9);
    let recordings = [TrialRecording {
        polls: vec![
            poll(PollMoment::Before, -10, 5, 100),
            poll(PollMoment::After, 1_000_000, 6, 104),
        ],
        ..recording(vec![second(u32::MAX, unbalanced.clone()), second(0, unbalanced)])
    }];
    let result = judge(&spec(&[]), &recordings);
    assert_eq!((result.verdict, result.error_ratio), (Verdict::Invalid, None));
    assert!(result.summary.contains("do not add up"), "{}", result.summary);
    assert_eq!(timeline::all(&recordings, &load()).len(), 2);
}

#[test]
fn two_generators_of_one_trial_share_its_window() {
    let left = recording(vec![second(0, tally(100, 0, 1_000_000))]);
    let right = TrialRecording { generator: 1, ..left.clone() };
    let tally = total(&[left, right]);
    assert_eq!((tally.counts.ok, tally.span_us), (200, 1_000_000));
}

#[test]
fn a_status_page_that_was_never_read_decides_nothing() {
    let failed = |moment, offset_us| StubStatusPoll {
        status: None,
        error: Some("answered 404".into()),
        ..poll(moment, offset_us, 0, 0)
    };
    let recordings =
        [with_polls(vec![failed(PollMoment::Before, -10), failed(PollMoment::After, 1_000_000)])];
    let result = judge(&spec(&["nginx_dropped == 0"]), &recordings);
    assert_eq!(result.verdict, Verdict::Inconclusive, "{}", result.summary);
    let status = result.server.stub_status.as_ref().unwrap();
    assert_eq!((status.requests, status.dropped, status.active_max), (None, None, None));
    assert_eq!((status.polls, status.polls_failed), (2, 2));
    assert!(result.notes.iter().any(|note| note.contains("2 of 2 polls")), "{:?}", result.notes);
    assert!(result.notes.iter().any(|note| note.contains("answered 404")), "{:?}", result.notes);
}

#[test]
fn one_stray_request_is_a_remark_however_short_the_run() {
    let small = TrialRecording {
        polls: vec![
            poll(PollMoment::Before, -10, 5, 100),
            poll(PollMoment::After, 1_000_000, 6, 121 + 1),
        ],
        ..recording(vec![second(0, tally(20, 0, 1_000_000))])
    };
    let result = judge(&spec(&[]), &[small]);
    assert_eq!((result.verdict, result.validity.reconciled), (Verdict::Pass, Some(false)));
}

#[test]
fn errors_in_the_status_count_as_answers_that_are_not_good() {
    let mut errors = tally(0, 0, 1_000_000);
    (0..10).for_each(|_| errors.counts.add(Outcome::Ok));
    errors.status_codes.insert(503, 10);
    errors.unexpected_status = 10;
    let result = judge(&spec(&[]), &[recording(vec![second(0, errors)])]);
    assert!(
        result.summary.contains("10 of 10 requests without a good answer"),
        "{}",
        result.summary
    );
}
