use super::{CriterionOutcome, CriterionStatus, Severity, Watch, six_digits};
use crate::assemble::tests::{judge, judge_against, poll, recording, second, spec, tally};
use crate::baseline::{BaselineFigures, BaselineLookup};
use crate::environment::{Environment, HostSnapshot};
use crate::recording::EndReason;
use crate::stub_status::{PollMoment, StubStatus};
use crate::{
    JobSpec, KernelCounts, Outcome, RunResult, SecondRecord, Tally, TrialRecording, Verdict,
};
use serde_json::{Value, json};

const SECOND_US: u64 = 1_000_000;

/// Seconds with so many answers each.
fn seconds(answers: &[u64]) -> Vec<SecondRecord> {
    (0..).zip(answers).map(|(index, ok)| second(index, tally(*ok, 0, SECOND_US))).collect()
}

fn first(result: &RunResult) -> &CriterionOutcome {
    &result.criteria[0]
}

fn outcome(criterion: &str, recordings: &[TrialRecording]) -> CriterionOutcome {
    first(&judge(&spec(&[criterion]), recordings)).clone()
}

#[test]
fn every_window_must_hold_and_the_worst_one_is_told() {
    let run = [recording(seconds(&[100, 100, 40, 60, 100]))];
    let holds = outcome("rps >= 50 for 2s", &run);
    assert_eq!((holds.status, holds.observed), (CriterionStatus::Pass, Some(50.0)));
    assert_eq!((holds.limit, holds.reason), (Some(50.0), None));
    let fails = outcome("rps > 50 for 2s", &run);
    assert_eq!((fails.status, fails.observed), (CriterionStatus::Fail, Some(50.0)));
    assert_eq!(fails.reason.as_deref(), Some("from 2 s to 4 s"));
    assert_eq!(outcome("rps > 50", &run).status, CriterionStatus::Pass, "over the whole run");
    let worst = outcome("ok <= 150 for 2s", &run);
    assert_eq!((worst.observed, worst.reason.as_deref()), (Some(200.0), Some("from 0 s to 2 s")));
    let result = judge(&spec(&["rps > 50 for 2s"]), &run);
    let told = "fail: rps > 50 for 2s is violated, observed 50, from 2 s to 4 s (";
    assert!(result.summary.starts_with(told), "{}", result.summary);
}

#[test]
fn a_window_lies_in_one_trial_and_holds_whole_consecutive_seconds_only() {
    let trial = |trial, answers: &[u64]| TrialRecording { trial, ..recording(seconds(answers)) };
    let two = [trial(0, &[100, 10]), trial(1, &[100, 100])];
    let fails = outcome("rps >= 100 for 2s", &two);
    assert_eq!(fails.reason.as_deref(), Some("from 0 s to 2 s of trial 1"));
    assert_eq!(outcome("rps >= 55 for 2s", &two).status, CriterionStatus::Pass);

    let mut rest = seconds(&[100, 100]);
    rest.push(second(2, tally(1, 0, 300_000)));
    assert_eq!(outcome("rps >= 100 for 1s", &[recording(rest)]).status, CriterionStatus::Pass);

    let mut gap = seconds(&[100, 100, 100]);
    gap.remove(1);
    let undecided = outcome("rps >= 1 for 2s", &[recording(gap)]);
    assert_eq!(undecided.status, CriterionStatus::NoData);
    let short = outcome("rps >= 1 for 3s", &two);
    assert_eq!(short.status, CriterionStatus::NoData);
    let why = "it takes 3 whole seconds in a row, and trial 1 has 2";
    assert_eq!(short.reason.as_deref(), Some(why));
    assert_eq!(outcome("rps >= 1 for 1s", &[]).status, CriterionStatus::NoData);
}

#[test]
fn a_rate_is_of_the_time_asked_for_and_waiting_for_the_last_answers_is_not() {
    let document = json!({"target": {"url": "http://localhost/"},
        "load": {"connections": 1, "duration": "2s"},
        "criteria": ["rps >= 100 for 1s", "latency_max_ms < 5 for 1s"]});
    let mut late = seconds(&[100, 100, 0]);
    late[2].tally.latency.record_us(2_500_000);
    let result = judge(&parsed(&document), &[recording(late)]);
    assert_eq!(result.criteria[0].status, CriterionStatus::Pass);
    let latency = &result.criteria[1];
    assert_eq!((latency.status, latency.observed), (CriterionStatus::Fail, Some(2500.0)));
}

#[test]
fn windows_have_percentiles_kernel_counts_and_nginx_counters_of_their_own() {
    let mut measured = seconds(&[1000, 1000, 500]);
    for (second, retransmits) in measured.iter_mut().zip([0, 7, 0]) {
        let tcp_retransmits = Some(retransmits);
        second.kernel = Some(KernelCounts { tcp_retransmits, ..KernelCounts::default() });
    }
    let status = |accepts, handled, writing, at: crate::stub_status::StubStatusPoll| {
        let status = at.status.map(|s| StubStatus { accepts, handled, writing, ..s });
        crate::stub_status::StubStatusPoll { status, ..at }
    };
    let polls = vec![
        status(10, 10, 1, poll(PollMoment::Start, 10, 0, 100)),
        status(20, 20, 5, poll(PollMoment::During, 1_000_010, 0, 1101)),
        status(30, 27, 3, poll(PollMoment::During, 2_000_010, 0, 2102)),
        status(30, 27, 1, poll(PollMoment::After, 3_000_010, 0, 2603)),
    ];
    let run = [TrialRecording { polls, ..recording(measured) }];
    for (criterion, status, observed, reason) in [
        ("latency_p99_ms < 1.9 for 1s", CriterionStatus::Fail, Some(1.989), "from 0 s to 1 s"),
        ("tcp_retransmits < 5 for 1s", CriterionStatus::Fail, Some(7.0), "from 1 s to 2 s"),
        ("nginx_dropped == 0 for 1s", CriterionStatus::Fail, Some(3.0), "from 1 s to 2 s"),
        ("nginx_writing_max < 4 for 1s", CriterionStatus::Fail, Some(4.0), "from 0 s to 1 s"),
        ("generator_cpu_ratio < 0.4 for 2s", CriterionStatus::Fail, Some(0.5), "from 0 s to 2 s"),
        (
            "latency_p99_ms < 5 for 1s",
            CriterionStatus::NoData,
            None,
            "from 2 s to 3 s: p99 needs 1,000 samples, there are 500",
        ),
    ] {
        let outcome = outcome(criterion, &run);
        let found = (outcome.status, outcome.observed, outcome.reason.as_deref());
        assert_eq!(found, (status, observed, Some(reason)), "{criterion}");
    }
}

#[test]
fn a_warning_is_told_and_changes_no_verdict() {
    let run = [recording(seconds(&[100]))];
    let result = judge(&spec(&["warn: rps > 200", "warn: latency_p99_ms < 5"]), &run);
    assert_eq!(result.verdict, Verdict::Pass);
    let warned = first(&result);
    assert_eq!((warned.severity, warned.status), (Severity::Warn, CriterionStatus::Fail));
    for told in [
        "; warning: rps > 200 is violated, observed 100; ",
        "warning: latency_p99_ms < 5 cannot be decided, p99 needs 1,000 samples, there are 100",
    ] {
        assert!(result.summary.contains(told), "{}", result.summary);
    }
    let errors = [recording(vec![second(0, tally(50, 50, SECOND_US))])];
    let result = judge(&spec(&["warn: error_ratio < 60%"]), &errors);
    assert_eq!(result.verdict, Verdict::Fail, "a warning does not take the default's place");
    let result = judge(&spec(&["error_ratio > 0"]), &errors);
    assert_eq!(result.verdict, Verdict::Fail, "nor does a least share of errors");
    let borne = judge(&spec(&["error_ratio > 0", "error_ratio <= 100%"]), &errors);
    assert_eq!(borne.verdict, Verdict::Pass);
}

/// A baseline of that many answers in a second.
fn baseline(answers: u64, name: &str) -> BaselineFigures {
    let result = judge(&spec(&[]), &[recording(seconds(&[answers]))]);
    let (job_id, environment) = (result.job_id, result.environment.fingerprint.clone());
    BaselineFigures { name: name.to_owned(), job_id, environment, result }
}

#[test]
fn a_baseline_bears_so_much_in_the_bad_direction_only() {
    let run = [recording(seconds(&[2000]))];
    let against = |criterion: &str, baseline: Option<&BaselineFigures>| {
        let found = baseline.cloned().map(Ok);
        first(&judge_against(&spec(&[criterion]), &run, found.as_ref())).clone()
    };
    let was = baseline(2200, "default");
    let within = against("rps within 10% of baseline", Some(&was));
    assert_eq!((within.status, within.baseline), (CriterionStatus::Pass, Some(2200.0)));
    assert!((within.limit.unwrap() - 1980.0).abs() < 1e-9);
    let worse = against("rps within 5% of baseline", Some(&was));
    assert_eq!((worse.status, worse.observed), (CriterionStatus::Fail, Some(2000.0)));
    assert_eq!(worse.reason.as_deref(), Some("9.1 % worse than the baseline's 2200"));
    let better = against("rps within 0% of baseline", Some(&baseline(10, "default")));
    assert_eq!(better.status, CriterionStatus::Pass);
    // The k-th answer takes k + 1 ms less one, so that more answers are slower.
    let slower = against("latency_p99_ms within 1% of baseline", Some(&baseline(1000, "default")));
    assert_eq!(slower.status, CriterionStatus::Fail);
    let faster = against("latency_p99_ms within 1% of baseline", Some(&was));
    assert_eq!(faster.status, CriterionStatus::Pass);
}

#[test]
fn a_baseline_that_is_missing_or_elsewhere_or_too_small_never_passes() {
    let run = [recording(seconds(&[2000]))];
    let criterion = "latency_p99_ms within 50% of baseline main";
    let against = |baseline: Option<BaselineLookup>| {
        let result = judge_against(&spec(&[criterion]), &run, baseline.as_ref());
        assert_eq!(result.verdict, Verdict::Inconclusive, "{}", result.summary);
        first(&result).reason.clone().unwrap()
    };
    assert!(against(None).contains("there is no baseline \"main\""));
    assert!(against(Some(Ok(baseline(2000, "other")))).contains("there is no baseline \"main\""));
    let unknown = against(Some(Err("the database is away".to_owned())));
    assert_eq!(unknown, "baseline \"main\" is not known: the database is away");
    let mut elsewhere = baseline(2000, "main");
    let host = HostSnapshot { cores: 96, ..HostSnapshot::default() };
    elsewhere.result.environment = Environment::new(host, None, true);
    elsewhere.environment = elsewhere.result.environment.fingerprint.clone();
    let told = format!("has no baseline \"main\", only another one ({})", elsewhere.environment);
    let reason = against(Some(Ok(elsewhere)));
    assert!(reason.contains(&told) && reason.contains("cores 96 and not "), "{reason}");
    let small = against(Some(Ok(baseline(999, "main"))));
    assert!(small.contains("p99 needs 1,000 samples, there are 999"), "{small}");
    let sound = judge_against(&spec(&[criterion]), &run, Some(&Ok(baseline(2000, "main"))));
    assert_eq!(sound.verdict, Verdict::Pass, "{}", sound.summary);
    let used = sound.baseline.expect("it was judged by a baseline");
    assert_eq!((used.name.as_str(), used.environment), ("main", sound.environment.fingerprint));
}

fn parsed(document: &Value) -> JobSpec {
    JobSpec::parse(document, &|_| None).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn job(load: &Value, criteria: &Value) -> Value {
    json!({"target": {"url": "http://localhost/"}, "load": load, "criteria": criteria})
}

#[test]
fn what_no_run_can_fulfil_or_decide_is_refused_where_it_stands() {
    let timed = json!({"duration": "5s"});
    let counted = json!({"requests": 1000});
    for (load, criteria, place, part) in [
        (&timed, json!(["rps > 10k", "rps < 5k"]), 1, "beside \"rps > 10k\" (/criteria/0)"),
        (&timed, json!(["rps < 5", "warn: goodput_rps >= 5"]), 1, "no run fulfils it"),
        (&timed, json!(["ok == 5", "ok > 5"]), 1, "no run fulfils it"),
        (&timed, json!(["latency_p99_ms < 5", "latency_p50_ms > 6"]), 1, "no run fulfils it"),
        (&timed, json!(["latency_p99.9_ms < 5", "latency_p99_9_ms > 6"]), 1, "no run fulfils it"),
        (&timed, json!(["rps > 1 for 6s"]), 0, "longer than load.duration, 5s"),
        (&timed, json!(["nginx_dropped == 0"]), 0, "target.stub_status"),
        (&timed, json!(["tls_p50_ms < 5"]), 0, "https"),
        (&timed, json!(["dropped == 0"]), 0, "load.rate"),
        (&timed, json!(["lateness_p99_ms < 5"]), 0, "load.rate"),
        (&timed, json!(["abort: rps > 5"]), 0, "write \"for 10s\""),
        (&timed, json!(["abort: error_ratio < 1%"]), 0, "write \"for 10s\""),
        (&counted, json!(["abort: failures > 5"]), 0, "write \"for 10s\""),
        (
            &timed,
            json!(["rps within 5% of baseline", "ok within 5% of baseline v2"]),
            1,
            "one baseline",
        ),
        (&timed, json!(["rps > 5", "error_ratio > 50%"]), 1, "such as \"error_ratio <= 100%\""),
    ] {
        let errors = JobSpec::parse(&job(load, &criteria), &|_| None).unwrap_err();
        let [error] = &errors[..] else { panic!("{criteria}: {errors:?}") };
        assert_eq!(error.pointer, format!("/criteria/{place}"), "{criteria}");
        assert!(error.detail.contains(part), "{criteria}: {}", error.detail);
    }
    for (load, criteria) in [
        (&timed, json!(["rps > 5k", "rps < 10k", "rps >= 10 for 5s", "rps <= 10 for 4s"])),
        (&timed, json!(["ok >= 5", "ok <= 5", "latency_p50_ms < 5", "latency_p99_ms > 6"])),
        (
            &counted,
            json!(["abort: error_ratio < 1%", "abort: latency_p99_ms < 5", "rps > 1 for 60s"]),
        ),
        (
            &timed,
            json!(["abort: failures == 0", "abort: latency_max_ms < 5", "abort: rps > 1 for 2s"]),
        ),
        (&timed, json!(["abort: error_ratio == 0"])),
        (&timed, json!(["error_ratio > 50%", "error_ratio <= 100%"])),
    ] {
        parsed(&job(load, &criteria));
    }
}

/// After how many of these seconds the job is beyond rescue, each trial on its own.
fn lost_after(load: &Value, criterion: &str, trials: &[Vec<SecondRecord>]) -> Option<usize> {
    let mut document = job(load, &json!([criterion]));
    document["trials"] = json!(trials.len().max(1));
    let spec = parsed(&document);
    let mut watch = Watch::new(&spec).unwrap();
    let mut recordings: Vec<TrialRecording> = Vec::new();
    let mut seen = 0;
    for (trial, seconds) in (0..).zip(trials) {
        recordings.push(TrialRecording { trial, ..TrialRecording::default() });
        for second in seconds {
            let recording = recordings.last_mut().unwrap();
            recording.seconds.push(second.clone());
            seen += 1;
            if watch.second(recording).is_some() {
                for recording in &mut recordings {
                    recording.end = Some(Default::default());
                }
                recordings.last_mut().unwrap().end.as_mut().unwrap().reason = EndReason::Aborted;
                let result = judge(&spec, &recordings);
                assert_eq!(result.verdict, Verdict::Fail, "{criterion}: {}", result.summary);
                assert_eq!(result.ended, EndReason::Aborted);
                assert!(result.summary.contains("fail: aborted after"), "{}", result.summary);
                return Some(seen);
            }
        }
    }
    None
}

#[test]
fn a_run_is_aborted_when_and_only_when_nothing_can_rescue_it() {
    let failing = |ok, failed| tally(ok, failed, SECOND_US);
    let run = |tallies: Vec<Tally>| -> Vec<SecondRecord> {
        (0..).zip(tallies).map(|(index, tally)| second(index, tally)).collect()
    };
    let slow = |fast: u64, slow: u64| {
        let mut tally = tally(fast, 0, SECOND_US);
        for _ in 0..slow {
            tally.counts.add(Outcome::Ok);
            tally.latency.record_us(900_000);
        }
        tally
    };
    let timed = json!({"connections": 1, "duration": "60s"});
    let counted = json!({"connections": 1, "requests": 2000});
    let cases = [
        // Counts and extremes only grow.
        (
            &timed,
            "abort: failures <= 3",
            run(vec![failing(9, 2), failing(9, 1), failing(9, 1)]),
            Some(3),
        ),
        (&timed, "abort: failures == 0", run(vec![failing(9, 0), failing(9, 1)]), Some(2)),
        (&timed, "abort: latency_max_ms < 100", run(vec![slow(9, 0), slow(9, 1)]), Some(2)),
        (&timed, "abort: error_ratio == 0", run(vec![failing(9, 1)]), Some(1)),
        // 20 errors of 2000 are 1 %, however the rest comes out.
        (&counted, "abort: error_ratio <= 1%", run(vec![failing(0, 20), failing(9, 1)]), Some(2)),
        (&counted, "abort: error_ratio < 1%", run(vec![failing(0, 19), failing(9, 1)]), Some(2)),
        // Of 2000, 20 may be slower than p99; and there must be 1000 to judge by.
        (&counted, "abort: latency_p99_ms < 100", run(vec![slow(990, 20), slow(5, 1)]), Some(2)),
        (&counted, "abort: latency_p99_ms < 100", run(vec![slow(900, 50), slow(5, 1)]), None),
        // One window is enough.
        (&timed, "abort: rps > 50 for 2s", seconds(&[100, 60, 41, 58, 100]), Some(4)),
        (&timed, "abort: rps > 50 for 2s", seconds(&[100, 60, 41, 60, 41]), None),
    ];
    for (load, criterion, seconds, after) in cases {
        assert_eq!(lost_after(load, criterion, &[seconds]), after, "{criterion}");
    }
    // Over two trials of 2000 requests, 40 may fail.
    let first = run(vec![failing(1970, 30)]);
    let trials = [first.clone(), run(vec![failing(9, 10), failing(9, 1)])];
    assert_eq!(lost_after(&counted, "abort: error_ratio <= 1%", &trials), Some(3));
    assert_eq!(
        lost_after(&counted, "abort: error_ratio <= 1%", &[first.clone(), first[..0].to_vec()]),
        None
    );
    assert!(Watch::new(&spec(&["rps > 5"])).is_none());
}

#[test]
fn what_was_observed_is_shown_in_six_digits() {
    for (value, shown) in [
        (2.0 / 17.0, 0.117_647),
        (1_234_567.8, 1_234_570.0),
        (-12.345_678_9, -12.3457),
        (0.0, 0.0),
        (5e-324, 5e-324),
        (f64::INFINITY, f64::INFINITY),
    ] {
        assert_eq!(six_digits(value), shown);
    }
}

#[test]
fn one_bad_request_among_many_fails_only_who_asks_for_none() {
    let run = [recording(vec![second(0, tally(9_999, 1, SECOND_US))])];
    assert_eq!(judge(&spec(&[]), &run).verdict, Verdict::Pass);
    let strict = judge(&spec(&["failures == 0", "failures_reset < 1"]), &run);
    assert_eq!(strict.verdict, Verdict::Fail);
    let told =
        "failures == 0 is violated, observed 1; failures_reset < 1 is violated, observed 1 (";
    assert!(strict.summary.contains(told), "{}", strict.summary);
}

#[test]
fn several_trials_have_a_spread_and_one_has_none() {
    let trial = |trial, ok| TrialRecording { trial, ..recording(seconds(&[ok])) };
    let several = JobSpec { trials: 3, ..spec(&[]) };
    let result = judge(&several, &[trial(0, 90), trial(1, 120), trial(2, 1000)]);
    let rps = &result.spread["rps"];
    assert_eq!((rps.median, rps.min, rps.max, rps.n), (120.0, 90.0, 1000.0, 3));
    assert_eq!(result.spread["error_ratio"].cv, None);
    assert_eq!(result.spread["latency_p90_ms"].n, 2, "90 samples support no p90");
    assert!(!result.spread.contains_key("latency_p99_ms"), "one trial alone supports it");
    assert!(judge(&spec(&[]), &[trial(0, 90)]).spread.is_empty());
}

#[test]
fn what_waited_when_an_open_loop_was_aborted_was_not_missed() {
    let load = json!({"connections": 1, "rate": 100, "duration": "60s"});
    let spec = parsed(&job(&load, &json!(["abort: latency_max_ms < 5"])));
    let verdict = |aborted: u64| {
        let mut cut = Tally { due: 100, begun: 60, ..tally(60, 0, SECOND_US) };
        (0..aborted).for_each(|_| cut.counts.add(Outcome::Aborted));
        cut.latency.record_us(9000);
        let mut recording = recording(vec![second(0, cut)]);
        recording.end.as_mut().unwrap().reason = EndReason::Aborted;
        judge(&spec, &[recording]).verdict
    };
    assert_eq!((verdict(40), verdict(5)), (Verdict::Fail, Verdict::Invalid));
}
