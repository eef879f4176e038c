//! Open loops: a rate that the answers do not slow down, and what becomes of
//! requests that find no connection.

use crate::support::{Measured, Server, load, load_until, plan};
use benchd_engine::{Plan, Progress, Rate, Stop};
use benchd_model::Outcome;
use benchd_model::recording::EndReason;
use benchd_model::spec::Arrivals;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const MS: Duration = Duration::from_millis(1);

pub(crate) fn at(plan: &mut Plan, per_second: f64) -> &mut Rate {
    let arrivals = Arrivals::Constant;
    plan.rate.insert(Rate { per_second, arrivals, max_queued: 1_000_000, seed: 1 })
}

pub(crate) fn by_time(plan: &mut Plan, length: Duration) {
    (plan.requests, plan.duration) = (None, Some(length));
}

/// What must hold after every run at a rate.
pub(crate) fn check(run: &Measured) {
    let total = &run.total;
    let unsent =
        [Outcome::Dropped, Outcome::Connect, Outcome::Local, Outcome::Tls, Outcome::Timeout];
    let may_be_unsent: u64 = unsent.map(|outcome| run.of(outcome)).iter().sum();
    assert_eq!(total.due, total.counts.issued, "every request that comes due is an attempt");
    assert!(total.begun + run.of(Outcome::Dropped) <= total.due);
    assert!(total.lateness.len() + may_be_unsent + run.of(Outcome::Aborted) >= total.due);
    assert!(total.lateness.len() <= total.dispatch.len());
    assert!(total.latency.max_us() >= total.service.max_us());
}

#[test]
fn exactly_what_the_schedule_has_is_issued() {
    let server = Server::answering(HELLO);
    for (threads, connections) in [(1, 1), (1, 8), (3, 3), (2, 9)] {
        let run = load(server.address, |plan| {
            by_time(plan, MS * 300);
            at(plan, 1000.0);
            (plan.threads, plan.connections) = (threads, connections);
        });
        check(&run);
        run.all(Outcome::Ok, 300);
        assert!(run.total.span_us >= 300_000, "a run by time covers its time");
        assert_eq!(run.opened(), u64::from(connections));
        assert_eq!(run.end.reason, EndReason::Completed);
    }
    let run = load(server.address, |plan| {
        plan.requests = Some(123);
        at(plan, 2000.0);
        (plan.threads, plan.connections) = (2, 4);
    });
    check(&run);
    run.all(Outcome::Ok, 123);
    // 123 requests at that rate take 61.5 ms, however fast the server is.
    assert!(run.total.span_us >= 61_500, "{}", run.total.span_us);
}

#[test]
fn what_begins_after_a_schedule_by_count_is_over_is_not_on_its_rate() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        plan.requests = Some(2000);
        at(plan, 1e6);
    });
    check(&run);
    run.all(Outcome::Ok, 2000);
    // One connection cannot get 2,000 answers within the 2 ms of the schedule.
    assert!(run.total.begun < 1900, "{} were in time", run.total.begun);
}

#[test]
fn every_connection_of_the_pool_gets_its_turn() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        (plan.requests, plan.connections, plan.preconnect) = (Some(40), 10, false);
        at(plan, 1000.0);
    });
    run.all(Outcome::Ok, 40);
    assert_eq!((server.accepted(), run.end.connections_achieved), (10, 10));
}

#[test]
fn a_frozen_server_is_seen_by_all_who_would_have_come_meanwhile() {
    const FROZEN: Duration = Duration::from_secs(1);
    // Frozen from the first request on, for the first of two seconds.
    let thaw = Mutex::new(None);
    let server = Server::start(move |mut peer| {
        while peer.request().is_some() {
            let end = *thaw.lock().unwrap().get_or_insert_with(|| Instant::now() + FROZEN);
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            peer.send(HELLO);
        }
    });
    for threads in [1, 2] {
        let server = &server;
        let run = load(server.address, |plan| {
            by_time(plan, FROZEN * 2);
            at(plan, 1000.0);
            (plan.threads, plan.connections) = (threads, 4);
        });
        check(&run);
        run.all(Outcome::Ok, 2000);
        if threads == 1 {
            // The i-th of the first 1000 waits for the rest of the second, at least.
            let latency = |percent| run.total.latency.percentile_us(percent).unwrap();
            assert!(latency(75.0) >= 490_000, "{:?}", run.total.latency.summary());
            assert!(run.total.latency.max_us().unwrap() >= 995_000);
            // Only those that were sent into the freeze took long once sent.
            let service = run.total.service.percentile_us(99.0).unwrap();
            assert!(service <= latency(75.0), "{:?}", run.total.service.summary());
            assert!(run.total.lateness.percentile_us(75.0).unwrap() >= 490_000);
        }
    }
}

#[test]
fn a_rate_beyond_the_server_s_is_dropped_and_not_stretched() {
    // Four connections, each busy for 20 ms: at most 200 a second.
    let server = Server::start(|mut peer| {
        while peer.request().is_some() {
            std::thread::sleep(MS * 20);
            peer.send(HELLO);
        }
    });
    let run = load(server.address, |plan| {
        by_time(plan, MS * 1000);
        at(plan, 1000.0).max_queued = 10;
        (plan.threads, plan.connections) = (2, 4);
    });
    check(&run);
    let (ok, dropped) = (run.of(Outcome::Ok), run.of(Outcome::Dropped));
    assert_eq!((run.total.due, ok + dropped), (1000, 1000), "{}", run.reasons());
    assert!(ok <= 4 * 50 + 4 + 10, "{ok} answers");
    assert!(dropped >= 786 && run.reasons().contains("10 requests waiting"), "{}", run.reasons());
    assert!(run.total.begun <= ok);
    assert!(run.seconds.iter().any(|second| second.tally.counts.dropped > 0));
    // Ten wait before each of those that are sent.
    assert!(run.total.lateness.max_us().unwrap() >= 20_000);
}

#[test]
fn a_request_that_waits_for_too_long_is_never_sent() {
    let server = Server::start(|peer| peer.hold());
    let run = load(server.address, |plan| {
        by_time(plan, MS * 300);
        plan.timeout = MS * 100;
        at(plan, 1000.0);
    });
    check(&run);
    // One connection times out over and over. A limit is noticed every 2 ms, when
    // the limit of the next request has passed, too.
    assert_eq!((run.total.due, run.of(Outcome::Ok)), (300, 0));
    // What is left of the limit may be too short for a handshake.
    let timeouts = run.of(Outcome::Timeout) + run.of(Outcome::Tls);
    let dropped = run.of(Outcome::Dropped);
    assert!(timeouts >= 1 && dropped >= 1 && timeouts + dropped == 300, "{}", run.reasons());
    assert!(run.reasons().contains("no connection free within 100ms"), "{}", run.reasons());
    assert_eq!(run.total.failed.min_us(), Some(100_000), "nobody had an answer before that");
}

#[test]
fn without_a_queue_a_request_needs_a_connection_at_once() {
    let server = Server::start(|peer| peer.hold());
    let run = load(server.address, |plan| {
        by_time(plan, MS * 200);
        (plan.connections, plan.grace) = (3, MS * 10);
        at(plan, 1000.0).max_queued = 0;
    });
    check(&run);
    assert_eq!((run.of(Outcome::Aborted), run.of(Outcome::Dropped)), (3, 197));
}

#[test]
fn what_still_waits_at_the_end_is_sent_within_the_grace_or_dropped() {
    let slow = || {
        Server::start(|mut peer| {
            while peer.request().is_some() {
                std::thread::sleep(MS * 100);
                peer.send(HELLO);
            }
        })
    };
    let server = slow();
    let within = load(server.address, |plan| {
        by_time(plan, MS * 50);
        (plan.connections, plan.grace) = (2, Duration::from_secs(20));
        at(plan, 100.0);
    });
    check(&within);
    within.all(Outcome::Ok, 5);
    assert!(within.total.span_us >= 290_000, "{}", within.total.span_us);
    assert_eq!(within.total.begun, 2, "the others were begun after the window");

    let server = Server::start(|peer| peer.hold());
    let after = load(server.address, |plan| {
        by_time(plan, MS * 50);
        (plan.connections, plan.grace) = (2, MS * 50);
        at(plan, 100.0);
    });
    check(&after);
    assert_eq!((after.of(Outcome::Aborted), after.of(Outcome::Dropped)), (2, 3));
    assert!(after.reasons().contains("before the run was over"), "{}", after.reasons());
}

#[test]
fn a_server_that_refuses_is_tried_at_the_rate() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = load(closed, |plan| {
        by_time(plan, MS * 200);
        (plan.connections, plan.threads) = (8, 2);
        at(plan, 1000.0);
    });
    check(&run);
    run.all(Outcome::Connect, 200);
    assert!(run.total.lateness.is_empty(), "nothing was sent");
}

#[test]
fn a_connection_for_each_request_and_one_that_is_closed_while_idle() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        (plan.requests, plan.connections, plan.keepalive) = (Some(50), 4, false);
        at(plan, 500.0);
    });
    check(&run);
    run.all(Outcome::Ok, 50);
    assert_eq!(run.total.connections.opened, 50);

    // Each connection is closed after an answer that does not announce it.
    let server = Server::start(|mut peer| {
        peer.request();
        peer.send(HELLO);
    });
    let run = load(server.address, |plan| {
        (plan.requests, plan.connections) = (Some(20), 2);
        at(plan, 20.0);
    });
    check(&run);
    // The next request, 100 ms later, may yet meet a server that is slow to close.
    let (met, closed) = (run.of(Outcome::Reset), run.total.connections.idle_closed);
    assert_eq!((run.of(Outcome::Ok) + met, run.opened() + met), (20, 20), "{}", run.reasons());
    assert!((18..=20).contains(&(closed + met)), "{closed} closed, {met} met");
}

#[test]
fn the_warm_up_has_the_same_schedule_and_enters_no_figure() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        by_time(plan, MS * 200);
        plan.warmup = MS * 100;
        at(plan, 1000.0);
        (plan.threads, plan.connections) = (2, 4);
    });
    check(&run);
    run.all(Outcome::Ok, 200);
    assert_eq!((run.end.warmup.ok, run.end.warmup.issued), (100, 100));
    assert_eq!(run.total.bytes.received, 200 * HELLO.len() as u64);
}

#[test]
fn a_stopped_run_drops_nothing() {
    for (cancel, reason) in [(true, EndReason::Cancelled), (false, EndReason::Interrupted)] {
        let server = Server::start(|mut peer| {
            while peer.request().is_some() {
                // From the 500th request on, nobody is answered.
                if peer.number > 0 {
                    return peer.hold();
                }
                peer.send(HELLO);
            }
        });
        let mut plan = plan(server.address);
        by_time(&mut plan, Duration::from_secs(600));
        at(&mut plan, 500.0);
        (plan.threads, plan.connections) = (2, 2);
        let stop = Stop::default();
        let run = load_until(&plan, &stop.clone(), &mut |progress| {
            if matches!(progress, Progress::Second(_)) {
                if cancel { stop.cancel() } else { stop.interrupt() }
            }
        });
        check(&run);
        assert_eq!((run.end.reason, run.of(Outcome::Dropped)), (reason, 0), "{}", run.reasons());
        assert_eq!(run.of(Outcome::Ok) + run.of(Outcome::Aborted), run.total.due);
        assert!(run.total.due >= 500);
    }
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    let server = Server::answering(HELLO);
    let starts = |seed| {
        let run = load(server.address, |plan| {
            (plan.requests, plan.connections, plan.threads) = (Some(200), 4, 2);
            let rate = at(plan, 2000.0);
            (rate.arrivals, rate.seed) = (Arrivals::Poisson, seed);
        });
        check(&run);
        run.all(Outcome::Ok, 200);
        run.rows.iter().map(|row| row.start_us).collect::<Vec<_>>()
    };
    assert_eq!(starts(1), starts(1));
    assert_ne!(starts(1), starts(2));
}
