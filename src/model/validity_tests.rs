use crate::assemble::tests::{judge, judge_on, recording, second, spec, tally};
use crate::environment::HostSnapshot;
use crate::verdict::LimitedBy;
use crate::{
    JobSpec, JobState, KernelCounts, Outcome, SecondRecord, Tally, TrialRecording, Verdict,
};

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

/// A second in which the threads worked and waited for these shares.
fn shared(worked: f64, waited: f64, threads: u32) -> Tally {
    let all = |ratio: f64| (ratio * f64::from(threads) * 1e6) as u64;
    Tally {
        generator_cpu_us: all(worked),
        generator_wait_us: all(waited),
        generator_busiest_us: ((worked + waited) * 1e6) as u64,
        ..tally(100, 0, 1_000_000)
    }
}

fn reason_of(host: HostSnapshot, threads: u32, second: SecondRecord) -> String {
    let mut recording = recording(vec![second]);
    recording.end.as_mut().unwrap().threads = threads;
    let result = judge_on(host, &spec(&[]), &[recording], JobState::Completed);
    assert_eq!(result.verdict, Verdict::Invalid);
    assert_eq!(result.validity.limited_by, LimitedBy::Generator);
    result.validity.reasons[0].clone()
}

#[test]
fn the_reason_says_what_to_do_about_it() {
    let host = |cores| HostSnapshot { cores, ..HostSnapshot::default() };
    let reason = |cores, threads, worked, waited| {
        reason_of(host(cores), threads, second(0, shared(worked, waited, threads)))
    };
    let more_threads = reason(4, 1, 0.97, 0.01);
    assert!(more_threads.contains("busy 98 %"), "{more_threads}");
    assert!(more_threads.contains("load.threads"), "{more_threads}");
    let machine = reason(2, 2, 0.97, 0.01);
    assert!(machine.contains("a machine with more processors"), "{machine}");
    let others = reason(4, 1, 0.3, 0.68);
    assert!(others.contains("worked 30 %") && others.contains("processor 68 %"), "{others}");
    assert!(others.contains("keep other programs off"), "{others}");

    let quota = HostSnapshot { cpu_quota_cores: Some(1.0), ..host(4) };
    let machine = reason_of(quota, 1, second(0, shared(0.97, 0.01, 1)));
    assert!(machine.contains("a machine with more processors"), "{machine}");
    let counted = |kernel| SecondRecord { kernel: Some(kernel), ..second(0, shared(0.3, 0.67, 1)) };
    let stolen_us = Some(400_000);
    let stolen = counted(KernelCounts { stolen_us, ..KernelCounts::default() });
    let stolen = reason_of(host(2), 1, stolen);
    assert!(stolen.contains("hypervisor"), "{stolen}");
    let throttled_us = Some(800_000);
    let throttled = counted(KernelCounts { throttled_us, stolen_us, ..KernelCounts::default() });
    let throttled = reason_of(host(2), 1, throttled);
    assert!(throttled.contains("quota") && throttled.contains("80 % of the time"), "{throttled}");
}

#[test]
fn the_notes_name_the_queue_that_overflowed() {
    let notes = |kernel: KernelCounts, before: KernelCounts| {
        let counted = SecondRecord { kernel: Some(kernel), ..second(0, tally(100, 0, 1_000_000)) };
        let mut recording = recording(vec![counted]);
        recording.end.as_mut().unwrap().kernel_before = Some(before);
        let host = HostSnapshot { cores: 2, ..HostSnapshot::default() };
        let result = judge_on(host, &spec(&[]), &[recording], JobState::Completed);
        assert_eq!(result.verdict, Verdict::Pass);
        result.notes.join("\n")
    };
    let none = KernelCounts::default();
    let quiet = notes(none, none);
    for word in ["SYN", "backlog", "netdev_max_backlog", "tcp_rmem", "hypervisor"] {
        assert!(!quiet.contains(word), "{quiet}");
    }
    let syns = KernelCounts { tcp_syn_retransmits: Some(3), ..none };
    assert!(notes(syns, none).contains("3 SYNs of this host were sent again"));
    let overflows = KernelCounts { listen_overflows: Some(5), ..syns };
    let while_opening = notes(none, overflows);
    assert!(
        while_opening.contains("5 connections on this host found a server's accept queue full")
    );
    assert!(while_opening.contains("net.core.somaxconn") && !while_opening.contains("3 SYNs"));
    let softnet = KernelCounts { softnet_drops: Some(2), ..none };
    assert!(
        notes(softnet, none).contains("2 packets of this host")
            && notes(softnet, none).contains("netdev_max")
    );
    let socket = KernelCounts { socket_drops: Some(2), ..none };
    assert!(notes(socket, none).contains("tcp_rmem"));
    let stolen = KernelCounts { stolen_us: Some(200_000), ..none };
    assert!(notes(stolen, none).contains("withheld 10 %"), "{}", notes(stolen, none));
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
    let idle = |index| second(index, tally(1000, 0, 1_000_000));
    let once = judge(&spec(&[]), &[recording(vec![busy(0), idle(1), idle(2), idle(3)])]);
    assert_eq!(once.verdict, Verdict::Pass);
    assert!(once.notes.iter().any(|note| note.contains("in 1 of 4 seconds")), "{:?}", once.notes);
}
