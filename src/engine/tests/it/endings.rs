//! Exact counts, bounded ends, and runs that are stopped.

use crate::support::{Server, load, load_until, plan};
use benchd_engine::{EngineError, Plan, PlanError, Progress, Stop, run};
use benchd_model::Outcome;
use benchd_model::job::Phase;
use benchd_model::recording::EndReason;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn threads_share_a_count_exactly() {
    let server = Server::answering(HELLO);
    for (threads, connections, requests) in
        [(1, 1, 1), (2, 3, 7), (3, 10, 1000), (3, 7, 5), (8, 2, 100), (2, 50, 3333)]
    {
        let run = load(server.address, |plan| {
            plan.threads = threads;
            plan.connections = connections;
            plan.requests = Some(requests);
        });
        run.all(Outcome::Ok, requests);
        assert_eq!(run.opened(), u64::from(connections));
        assert_eq!(run.end.connections_achieved, connections);
        assert_eq!(run.end.threads, threads.min(connections));
        assert_eq!(run.end.reason, EndReason::Completed);
    }
}

#[test]
fn no_requests_are_a_run_without_figures() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| plan.requests = Some(0));
    run.all(Outcome::Ok, 0);
    assert_eq!(run.phases, [Phase::Preparing, Phase::Measuring, Phase::CoolingDown]);
}

#[test]
fn a_run_by_time_covers_its_time_in_whole_seconds() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        by_time(plan, Duration::from_millis(1300));
        plan.connections = 2;
    });
    assert_eq!(run.of(Outcome::Ok), run.total.counts.issued);
    assert!(run.started.is_some());
    assert_eq!(run.seconds.len(), 2);
    assert!(run.total.span_us >= 1_300_000, "{}", run.total.span_us);
    assert!(run.seconds.iter().all(|second| second.tally.counts.ok > 0));
    assert!(run.seconds.iter().all(|second| second.connections_open == 2));
    assert!(run.total.generator_cpu_us > 0);
}

#[test]
fn a_hung_server_cannot_hold_a_run_by_time() {
    let server = Server::start(|peer| peer.hold());
    let begun = Instant::now();
    let run = load(server.address, |plan| {
        by_time(plan, Duration::from_millis(400));
        plan.connections = 5;
        plan.grace = Duration::from_millis(200);
    });
    run.all(Outcome::Aborted, 5);
    assert!(begun.elapsed() < plan(server.address).timeout, "it waited for the timeout");
    // Waiting in vain is not a part of the window.
    assert_eq!(run.total.span_us, 400_000);
}

#[test]
fn timeouts_go_on_until_a_run_by_time_is_over() {
    let server = Server::start(|peer| peer.hold());
    let run = load(server.address, |plan| {
        by_time(plan, Duration::from_millis(1050));
        plan.timeout = Duration::from_millis(100);
        plan.connections = 3;
    });
    let timeouts = run.of(Outcome::Timeout);
    assert_eq!(timeouts, run.total.counts.issued);
    // Each connection tried again, and none of them before its limit.
    assert!((6..=3 * 11).contains(&timeouts), "{timeouts}");
    assert_eq!((run.seconds.len(), run.opened()), (2, timeouts));
    assert_eq!(run.total.failed.min_us(), Some(100_000));
    assert_eq!(run.total.failed.max_us(), Some(100_000));
}

#[test]
fn a_freeze_is_one_slow_sample_for_each_user_of_a_closed_loop() {
    const FREEZE: Duration = Duration::from_millis(300);
    const USERS: usize = 5;
    let frozen = Arc::new(Barrier::new(USERS));
    let server = Server::start(move |mut peer| {
        for turn in 0.. {
            if peer.request().is_none() {
                return;
            }
            // All of them wait here for each other, and then for the thaw.
            if turn == 20 {
                frozen.wait();
                std::thread::sleep(FREEZE);
            }
            peer.send(HELLO);
        }
    });
    let run = load(server.address, |plan| {
        (plan.connections, plan.requests) = (USERS as u32, Some(1000));
    });
    run.all(Outcome::Ok, 1000);
    let slow = run.rows.iter().filter(|row| Duration::from_micros(row.total_us.into()) >= FREEZE);
    assert!(slow.count() >= USERS);
    // A thousand requests, five of them slow: nobody else had to wait.
    let (median, p99_9) =
        (run.total.latency.percentile_us(50.0), run.total.latency.percentile_us(99.9));
    assert!(median < Some(300_000) && p99_9 >= Some(300_000), "{median:?} {p99_9:?}");
    assert_eq!(run.total.latency, run.total.service, "a closed loop omits the waiting");
}

#[test]
fn requests_in_flight_at_the_end_are_awaited_within_the_grace() {
    let server = Server::start(|mut peer| {
        while peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(150));
            peer.send(HELLO);
        }
    });
    let run = load(server.address, |plan| {
        by_time(plan, Duration::from_millis(200));
        plan.grace = Duration::from_secs(10);
    });
    run.all(Outcome::Ok, 2);
    // Complete responses extend the window, so that the rate stays true.
    assert!(run.total.span_us >= 300_000, "{}", run.total.span_us);
}

#[test]
fn a_stopped_run_keeps_what_it_measured() {
    for (cancel, reason) in [(true, EndReason::Cancelled), (false, EndReason::Interrupted)] {
        let server = Server::answering(HELLO);
        let mut plan = plan(server.address);
        by_time(&mut plan, Duration::from_secs(600));
        let stop = Stop::default();
        let run = load_until(&plan, &stop.clone(), &mut |progress| {
            if matches!(progress, Progress::Second(_)) {
                if cancel { stop.cancel() } else { stop.interrupt() }
            }
        });
        assert_eq!(run.end.reason, reason);
        assert!(run.of(Outcome::Ok) > 0 && run.total.span_us >= 1_000_000);
        assert!(run.of(Outcome::Aborted) <= 1);
    }
}

#[test]
fn a_run_stopped_before_its_window_has_none() {
    let server = Server::answering(HELLO);
    let stop = Stop::default();
    stop.cancel();
    let run = load_until(&plan(server.address), &stop, &mut |_| {});
    run.all(Outcome::Ok, 0);
    assert_eq!((run.end.reason, run.started), (EndReason::Cancelled, None));

    let mut warming = plan(server.address);
    warming.warmup = Duration::from_secs(600);
    let stop = Stop::default();
    let run = load_until(&warming, &stop.clone(), &mut |progress| {
        if matches!(progress, Progress::Phase(Phase::WarmingUp)) {
            stop.interrupt();
        }
    });
    assert_eq!((run.end.reason, run.seconds.len()), (EndReason::Interrupted, 0));
}

#[test]
fn the_warm_up_enters_no_figure_but_its_own() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        plan.warmup = Duration::from_millis(60);
        plan.connections = 2;
    });
    run.all(Outcome::Ok, 10);
    assert!(run.end.warmup.ok > 0);
    assert_eq!((run.end.opened_before, run.total.connections.opened), (2, 0));
    assert_eq!(run.total.connections.reused_requests, 10);
    assert_eq!(run.total.bytes.received, 10 * HELLO.len() as u64);
    let phases = [Phase::Preparing, Phase::WarmingUp, Phase::Measuring, Phase::CoolingDown];
    assert_eq!(run.phases, phases);
}

#[test]
fn whichever_of_count_and_time_comes_first_ends_the_run() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| plan.duration = Some(Duration::from_secs(600)));
    run.all(Outcome::Ok, 10);
    let run = load(server.address, |plan| {
        plan.requests = Some(u64::MAX);
        plan.duration = Some(Duration::from_millis(50));
    });
    assert!(run.of(Outcome::Ok) > 0);
}

#[test]
fn a_caller_that_panics_takes_the_load_with_it() {
    let server = Server::answering(HELLO);
    let mut plan = plan(server.address);
    by_time(&mut plan, Duration::from_secs(600));
    let begun = Instant::now();
    let caught = std::panic::catch_unwind(|| {
        let mut progress = |progress| {
            assert!(!matches!(progress, Progress::Started { .. }), "the caller's own fault");
        };
        run(&plan, &Stop::default(), &mut progress).unwrap();
    });
    assert!(caught.is_err() && begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_plan_that_cannot_run_is_refused() {
    let mut endless = plan("127.0.0.1:1".parse().unwrap());
    endless.requests = None;
    let refused = run(&endless, &Stop::default(), &mut |_| {});
    assert!(matches!(refused, Err(EngineError::Plan(PlanError::Endless))));
}

fn by_time(plan: &mut Plan, length: Duration) {
    (plan.requests, plan.duration) = (None, Some(length));
}
