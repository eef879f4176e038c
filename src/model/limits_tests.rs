use super::{Limits, Signs, signs};
use crate::seconds::Second;
use crate::spec::LoadSpec;
use crate::verdict::LimitedBy;
use crate::{Counts, KernelCounts, Outcome, Tally};

const CONNECTIONS: u32 = 10;

fn load() -> LoadSpec {
    LoadSpec { connections: CONNECTIONS, ..LoadSpec::default() }
}

/// A second with 100 answers, for which the connections waited this share of
/// the time, and in which the only thread was busy for that one.
fn second(in_flight: f64, busy: f64) -> Second {
    let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
    tally.in_flight_us = (in_flight * f64::from(CONNECTIONS) * 1e6) as u64;
    tally.generator_cpu_us = (busy * 5e5) as u64;
    tally.generator_wait_us = (busy * 5e5) as u64;
    tally.generator_busiest_us = (busy * 1e6) as u64;
    for _ in 0..100 {
        tally.counts.add(Outcome::Ok);
    }
    Second { index: 0, connections: u64::from(CONNECTIONS), tally, kernel: None }
}

fn with_kernel(second: Second, kernel: KernelCounts) -> Second {
    Second { kernel: Some(kernel), ..second }
}

fn one(second: Second) -> Signs {
    signs(&[second], &load(), 1)[0]
}

fn judged(second: Second) -> LimitedBy {
    one(second).limited_by().expect("it has attempts")
}

#[test]
fn the_server_is_the_limit_when_we_have_time_and_every_connection_waits() {
    assert_eq!(judged(second(0.95, 0.5)), LimitedBy::Server);
    assert_eq!(judged(second(0.95, 0.85)), LimitedBy::Server);
}

#[test]
fn connections_that_rested_leave_the_server_without_work() {
    assert_eq!(judged(second(0.8, 0.5)), LimitedBy::Unknown);
}

#[test]
fn each_stream_counts_as_a_connection_does() {
    let streams = LoadSpec { streams: 2, ..load() };
    let idle = |load: LoadSpec| signs(&[second(1.0, 0.5)], &load, 1)[0].idle.unwrap();
    assert!(idle(load()) < 0.01 && (0.49..0.51).contains(&idle(streams)));
}

#[test]
fn a_generator_without_a_moment_to_spare_is_the_limit() {
    assert_eq!(judged(second(1.0, 0.97)), LimitedBy::Generator);
    assert_eq!(judged(second(1.0, 0.93)), LimitedBy::Unknown, "nobody can tell");
}

#[test]
fn a_generator_that_waits_for_a_processor_most_of_the_time_is_the_limit() {
    let waiting = |share: f64| {
        let mut second = second(0.95, share + 0.05);
        second.tally.generator_cpu_us = 50_000;
        second.tally.generator_wait_us = (share * 1e6) as u64;
        second
    };
    assert_eq!(judged(waiting(0.8)), LimitedBy::Generator);
    assert_eq!(judged(waiting(0.45)), LimitedBy::Server);
}

#[test]
fn one_busy_thread_among_idle_ones_is_the_limit_of_its_connections() {
    let mut uneven = second(1.0, 0.2);
    uneven.tally.generator_busiest_us = 990_000;
    let signs = signs(&[uneven], &load(), 4)[0];
    assert_eq!((signs.worked, signs.busy), (Some(0.025), Some(0.99)));
    assert_eq!(signs.limited_by(), Some(LimitedBy::Generator));
}

#[test]
fn a_recording_without_a_busiest_thread_is_judged_by_the_average() {
    let mut old = second(1.0, 0.97);
    old.tally.generator_busiest_us = 0;
    assert_eq!(judged(old), LimitedBy::Generator);
}

#[test]
fn a_quota_that_stops_the_generator_is_the_generator_s_limit() {
    let throttled = |throttled_us| {
        let kernel = KernelCounts { throttled_us: Some(throttled_us), ..KernelCounts::default() };
        judged(with_kernel(second(1.0, 0.3), kernel))
    };
    assert_eq!(throttled(300_000), LimitedBy::Generator);
    assert_eq!(throttled(5000), LimitedBy::Server);
}

#[test]
fn lost_segments_are_the_network_s_but_lost_syns_are_not() {
    let lost = |tcp_retransmits, tcp_syn_retransmits| {
        let kernel = KernelCounts {
            tcp_segments: Some(10_000),
            tcp_retransmits: Some(tcp_retransmits),
            tcp_syn_retransmits: Some(tcp_syn_retransmits),
            ..KernelCounts::default()
        };
        judged(with_kernel(second(1.0, 0.3), kernel))
    };
    assert_eq!(lost(300, 0), LimitedBy::Network);
    assert_eq!(lost(300, 290), LimitedBy::Server);
    assert_eq!(lost(20, 0), LimitedBy::Server);
    let saturated = KernelCounts {
        tcp_segments: Some(100),
        tcp_retransmits: Some(50),
        ..KernelCounts::default()
    };
    assert_eq!(judged(with_kernel(second(1.0, 0.99), saturated)), LimitedBy::Generator);
}

#[test]
fn what_the_kernel_does_not_count_decides_nothing() {
    assert_eq!(judged(with_kernel(second(1.0, 0.3), KernelCounts::default())), LimitedBy::Server);
    let silent =
        KernelCounts { tcp_segments: Some(0), tcp_retransmits: Some(0), ..KernelCounts::default() };
    assert_eq!(one(with_kernel(second(1.0, 0.3), silent)).lost, None);
}

#[test]
fn nothing_asked_is_nothing_held_back() {
    let empty =
        Second { tally: Tally { span_us: 1_000_000, ..Tally::default() }, ..Second::default() };
    let signs = one(empty);
    assert_eq!((signs.limited_by(), signs.idle), (None, Some(1.0)));
}

#[test]
fn a_second_in_which_nothing_ended_is_the_server_s_while_requests_are_in_flight() {
    let mut hung = second(1.0, 0.1);
    hung.tally.counts = Counts::default();
    assert_eq!(judged(hung), LimitedBy::Server);
}

#[test]
fn the_connections_of_a_run_are_idle_by_time_and_not_by_attempts() {
    let (busy, mut hung) = (second(0.2, 0.1), second(1.0, 0.1));
    hung.tally.counts = Counts::default();
    let limits = Limits::of(signs(&[busy, hung], &load(), 1));
    assert!((limits.idle().unwrap() - 0.4).abs() < 1e-9, "{:?}", limits.idle());
}

fn run(seconds: &[(u64, LimitedBy)]) -> Limits {
    Limits::of(seconds.iter().map(|(attempts, who)| {
        let (busy, idle) = match who {
            LimitedBy::Generator => (0.99, 0.0),
            LimitedBy::Server => (0.5, 0.0),
            _ => (0.5, 0.5),
        };
        Signs {
            attempts: *attempts,
            asked: true,
            busy: Some(busy),
            idle: Some(idle),
            ..Signs::default()
        }
    }))
}

#[test]
fn seconds_count_by_their_attempts() {
    use LimitedBy::{Generator, Server, Unknown};
    assert_eq!(run(&[(1000, Generator), (5, Server), (5, Server)]).limited_by(), Generator);
    assert_eq!(run(&[(1000, Server), (5, Generator), (5, Generator)]).limited_by(), Server);
    assert_eq!(run(&[(600, Server), (400, Unknown)]).limited_by(), Server);
    assert_eq!(run(&[(400, Server), (600, Unknown)]).limited_by(), Unknown);
    assert_eq!(run(&[]).limited_by(), Unknown);
}

#[test]
fn a_generator_spoils_a_run_by_a_third_of_it() {
    use LimitedBy::{Generator, Server};
    assert_eq!(run(&[(65, Server), (35, Generator)]).limited_by(), Generator);
    let little = run(&[(70, Server), (30, Generator)]);
    assert_eq!((little.limited_by(), little.seconds_of(Generator)), (Server, (1, 2)));
    let busy = little.average_of(Generator, |signs| signs.busy);
    assert_eq!(busy, Some(0.99));
    assert!((little.average(|signs| signs.busy).unwrap() - 0.647).abs() < 1e-9);
}
