use crate::assemble::tests::{judge, judge_on, recording, second, spec, tally};
use crate::environment::HostSnapshot;
use crate::verdict::LimitedBy;
use crate::{JobSpec, JobState, Outcome, Tally, TrialRecording, Verdict};

#[test]
fn a_saturated_generator_is_invalid_but_not_in_a_blink() {
    let busy = |span_us| {
        let tally = Tally { generator_cpu_us: span_us, ..tally(100, 0, span_us) };
        judge(&spec(&[]), &[recording(vec![second(0, tally)])])
    };
    let result = busy(1_000_000);
    assert_eq!(
        (result.verdict, result.validity.limited_by),
        (Verdict::Invalid, LimitedBy::Generator)
    );
    assert!(result.validity.reasons[0].contains("load.threads"));
    assert_eq!(busy(20_000).verdict, Verdict::Pass);
}

#[test]
fn more_threads_than_processors_are_saturated_together() {
    let verdict_on = |cores, cpu_quota_cores, generator_cpu_us| {
        let tally = Tally { generator_cpu_us, ..tally(100, 0, 1_000_000) };
        let mut recording = recording(vec![second(0, tally)]);
        recording.end.as_mut().unwrap().threads = 4;
        let host = HostSnapshot { cores, cpu_quota_cores, ..HostSnapshot::default() };
        judge_on(host, &spec(&[]), &[recording], JobState::Completed)
    };
    let result = verdict_on(2, None, 1_900_000);
    assert_eq!(result.verdict, Verdict::Invalid);
    let reason = &result.validity.reasons[0];
    assert!(reason.contains("used 95 %") && reason.contains("more processors"), "{reason}");
    assert_eq!(verdict_on(2, None, 1_700_000).verdict, Verdict::Pass);
    assert_eq!(verdict_on(8, Some(0.5), 480_000).verdict, Verdict::Invalid);
    assert_eq!(verdict_on(8, None, 1_900_000).verdict, Verdict::Pass);
}

#[test]
fn a_trial_in_a_blink_is_not_judged_beside_a_long_one() {
    let long = recording(vec![second(0, tally(100, 0, 1_000_000))]);
    let blink = Tally { generator_cpu_us: 20_000, ..tally(100, 0, 20_000) };
    let blink = TrialRecording { trial: 1, ..recording(vec![second(0, blink)]) };
    let spec = JobSpec { trials: 2, ..spec(&[]) };
    assert_eq!(judge(&spec, &[long, blink.clone()]).verdict, Verdict::Pass);
    let blinks: Vec<_> = (0..60).map(|trial| TrialRecording { trial, ..blink.clone() }).collect();
    let result = judge(&JobSpec { trials: 60, ..spec }, &blinks);
    assert!(result.duration_s > 1.0);
    assert!(result.notes.iter().any(|note| note.contains("too short")), "{:?}", result.notes);
}

#[test]
fn only_a_generator_with_time_to_spare_lets_the_server_be_the_limit() {
    let limit = |generator_cpu_us, generator_wait_us| {
        let mut tally = Tally { generator_cpu_us, generator_wait_us, ..tally(0, 0, 1_000_000) };
        for _ in 0..100 {
            tally.counts.add(Outcome::Ok);
            tally.latency.record_us(9_500);
        }
        judge(&spec(&[]), &[recording(vec![second(0, tally)])]).validity.limited_by
    };
    assert_eq!(limit(500_000, 100_000), LimitedBy::Server);
    assert_eq!(limit(600_000, 350_000), LimitedBy::Unknown);
    assert_eq!(limit(950_000, 0), LimitedBy::Generator);
}

#[test]
fn a_generator_that_waited_for_a_processor_says_so() {
    let waiting = Tally { generator_wait_us: 300_000, ..tally(100, 0, 1_000_000) };
    let result = judge(&spec(&[]), &[recording(vec![second(0, waiting)])]);
    assert_eq!(result.validity.generator_wait_ratio, Some(0.3));
    assert!(
        result.notes.iter().any(|note| note.contains("30 % of the time")),
        "{:?}",
        result.notes
    );
}

#[test]
fn a_generator_that_ran_out_of_something_is_invalid() {
    let mut local = tally(100, 0, 1_000_000);
    local.counts.add(Outcome::Local);
    assert_eq!(judge(&spec(&[]), &[recording(vec![second(0, local)])]).verdict, Verdict::Invalid);
}

#[test]
fn a_long_tail_does_not_hide_a_saturated_generator() {
    let busy =
        |index| second(index, Tally { generator_cpu_us: 980_000, ..tally(1000, 0, 1_000_000) });
    let tail = |index| second(index, Tally { generator_cpu_us: 9_000, ..tally(2, 0, 1_000_000) });
    let result = judge(&spec(&[]), &[recording(vec![busy(0), busy(1), tail(2), tail(3)])]);
    assert!(result.validity.generator_cpu_ratio.unwrap() < 0.5);
    assert_eq!(
        (result.verdict, result.validity.limited_by),
        (Verdict::Invalid, LimitedBy::Generator)
    );
    let idle = judge(&spec(&[]), &[recording(vec![busy(0), tail(1)])]);
    assert_eq!(idle.verdict, Verdict::Invalid);
    let mixed = second(1, Tally { generator_cpu_us: 500_000, ..tally(1000, 0, 1_000_000) });
    assert_eq!(judge(&spec(&[]), &[recording(vec![busy(0), mixed])]).verdict, Verdict::Pass);
}
