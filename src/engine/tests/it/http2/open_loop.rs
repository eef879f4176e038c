//! HTTP/2 at a rate: one schedule for the streams of all connections.

use super::frames::{GOAWAY, Http2, MAX_CONCURRENT_STREAMS, farewell, greeting, load_http2};
use super::streams::bursts;
use crate::open_loop::{at, by_time, check};
use crate::support::{Server, load_until, plan};
use benchd_engine::{Progress, Stop};
use benchd_model::Outcome;
use benchd_model::recording::EndReason;
use benchd_model::spec::{Arrivals, Protocol};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

#[test]
fn exactly_what_the_schedule_has_is_issued() {
    let server = greeting(|http2| http2.answer_all(b"hello"));
    for (threads, connections, streams) in [(1, 1, 1), (1, 1, 8), (1, 4, 70), (3, 3, 2), (2, 5, 4)]
    {
        let run = load_http2(server.address, |plan| {
            by_time(plan, MS * 300);
            at(plan, 1000.0);
            (plan.threads, plan.connections, plan.streams) = (threads, connections, streams);
        });
        check(&run);
        run.all(Outcome::Ok, 300);
        assert_eq!((run.total.lateness.len(), run.total.dispatch.len()), (300, 300));
        assert!(run.total.span_us >= 300_000, "a run by time covers its time");
        assert_eq!((run.opened(), run.end.reason), (connections.into(), EndReason::Completed));
        let starts: Vec<u64> = run.rows.iter().map(|row| row.start_us).collect();
        assert_eq!(starts, (0..300).map(|number| number * 1000).collect::<Vec<_>>());
    }
    let run = load_http2(server.address, |plan| {
        plan.requests = Some(123);
        at(plan, 2000.0);
        (plan.threads, plan.connections, plan.streams) = (2, 4, 3);
    });
    check(&run);
    run.all(Outcome::Ok, 123);
    // 123 requests at that rate take 61.5 ms, however fast the server is.
    assert!(run.total.span_us >= 61_500, "{}", run.total.span_us);
}

#[test]
fn requests_due_take_all_streams_and_not_more_than_the_server_allows() {
    for (limit, told) in [(100, false), (3, true)] {
        let most = Arc::new(AtomicUsize::new(0));
        // Nothing is answered before as many are in flight as may be.
        let burst = limit.min(8);
        let server = bursts(limit, burst as usize, most.clone());
        let run = load_http2(server.address, |plan| {
            (plan.streams, plan.requests) = (8, Some(240));
            at(plan, 2000.0);
        });
        check(&run);
        run.all(Outcome::Ok, 240);
        assert_eq!(
            (most.load(Ordering::SeqCst), run.end.streams_achieved),
            (burst as usize, burst)
        );
        assert_eq!(run.end.notes.iter().any(|note| note.contains("at most 3")), told);
    }
}

#[test]
fn connections_with_free_streams_take_turns() {
    let asked = Arc::new(Mutex::new(BTreeMap::new()));
    let counts = asked.clone();
    let server = greeting(move |mut http2| {
        while let Some(stream) = http2.request() {
            *counts.lock().unwrap().entry(http2.peer.number).or_insert(0) += 1;
            http2.answer(stream, b"hello");
        }
    });
    let run = load_http2(server.address, |plan| {
        (plan.connections, plan.streams, plan.requests) = (4, 40, Some(40));
        at(plan, 1000.0);
    });
    run.all(Outcome::Ok, 40);
    assert_eq!(*asked.lock().unwrap(), BTreeMap::from([(0, 10), (1, 10), (2, 10), (3, 10)]));
}

#[test]
fn a_frozen_server_is_seen_by_all_who_would_have_come_meanwhile() {
    const FROZEN: Duration = Duration::from_secs(1);
    // Frozen from the first request on, for the first of two seconds.
    for threads in [1, 2] {
        let thaw = Mutex::new(None);
        let server = greeting(move |mut http2| {
            while let Some(stream) = http2.request() {
                let end = *thaw.lock().unwrap().get_or_insert_with(|| Instant::now() + FROZEN);
                std::thread::sleep(end.saturating_duration_since(Instant::now()));
                http2.answer(stream, b"hello");
            }
        });
        let run = load_http2(server.address, |plan| {
            by_time(plan, FROZEN * 2);
            at(plan, 1000.0);
            (plan.threads, plan.connections, plan.streams) = (threads, 2, 4);
        });
        check(&run);
        run.all(Outcome::Ok, 2000);
        // The i-th of the first 1000 waits for the rest of the second, at least.
        let latency = |percent| run.total.latency.percentile_us(percent).unwrap();
        assert!(latency(75.0) >= 490_000, "{:?}", run.total.latency.summary());
        assert!(run.total.latency.max_us().unwrap() >= 995_000);
        // Only the eight that were sent into the freeze took long once sent.
        let service = run.total.service.percentile_us(99.0).unwrap();
        assert!(service <= latency(75.0), "{:?}", run.total.service.summary());
        assert!(run.total.lateness.percentile_us(75.0).unwrap() >= 490_000);
    }
}

#[test]
fn a_rate_beyond_the_server_s_is_dropped_and_not_stretched() {
    // Two connections, each with an answer every 10 ms: at most 200 a second.
    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            std::thread::sleep(MS * 10);
            http2.answer(stream, b"hello");
        }
    });
    let run = load_http2(server.address, |plan| {
        by_time(plan, MS * 1000);
        at(plan, 1000.0).max_queued = 10;
        (plan.threads, plan.connections, plan.streams) = (2, 2, 3);
    });
    check(&run);
    let (ok, dropped) = (run.of(Outcome::Ok), run.of(Outcome::Dropped));
    assert_eq!((run.total.due, ok + dropped), (1000, 1000), "{}", run.reasons());
    assert!(ok <= 2 * 100 + 2 * 3 + 10, "{ok} answers");
    let reason = "no stream free, and 10 requests waiting for one";
    assert!(run.reasons().contains(reason), "{}", run.reasons());
}

#[test]
fn without_a_queue_a_request_needs_a_stream_at_once() {
    let server = greeting(|http2| http2.hold());
    let run = load_http2(server.address, |plan| {
        by_time(plan, MS * 200);
        (plan.connections, plan.streams, plan.grace) = (3, 2, MS * 10);
        at(plan, 1000.0).max_queued = 0;
    });
    check(&run);
    assert_eq!((run.of(Outcome::Aborted), run.of(Outcome::Dropped)), (6, 194));
}

#[test]
fn a_request_that_waits_for_too_long_is_never_sent() {
    // Silent, or without any stream: what has been begun times out, too.
    for limit in [100, 0] {
        let server = Server::start(move |peer| {
            if let Some(http2) = Http2::greet(peer, &[(MAX_CONCURRENT_STREAMS, limit)]) {
                http2.hold();
            }
        });
        let run = load_http2(server.address, |plan| {
            by_time(plan, MS * 300);
            plan.timeout = MS * 100;
            at(plan, 1000.0);
        });
        check(&run);
        // The stream comes free when a limit is noticed, every 2 ms, and so 200 times
        // at most until the last of the 300 has waited for too long.
        let (timeouts, dropped) = (run.of(Outcome::Timeout), run.of(Outcome::Dropped));
        assert!(timeouts >= 1 && dropped >= 1 && timeouts + dropped == 300, "{}", run.reasons());
        assert!(run.reasons().contains("no stream free within 100ms"), "{}", run.reasons());
        assert_eq!(run.total.failed.min_us(), Some(100_000), "nobody had an answer before that");
        assert_eq!(run.total.lateness.is_empty(), limit == 0, "none is sent without a stream");
    }
}

#[test]
fn a_server_that_refuses_is_tried_at_the_rate() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = load_http2(closed, |plan| {
        by_time(plan, MS * 200);
        (plan.connections, plan.streams, plan.threads) = (4, 3, 2);
        at(plan, 1000.0);
    });
    check(&run);
    run.all(Outcome::Connect, 200);
    // Pauses between the connects would let a few be begun within the window.
    assert!(run.total.begun >= 100, "{} were begun in time", run.total.begun);
    assert!(run.total.lateness.is_empty(), "nothing was sent");
}

#[test]
fn connections_given_up_by_the_server_are_replaced_at_the_rate() {
    // Each connection announces its end with its fifth request, and answers it.
    let server = greeting(|mut http2| {
        for _ in 0..4 {
            let Some(stream) = http2.request() else { return };
            http2.answer(stream, b"hello");
        }
        let Some(stream) = http2.request() else { return };
        http2.send(GOAWAY, 0, 0, &farewell(stream, 0));
        http2.answer(stream, b"hello");
        http2.hold();
    });
    let run = load_http2(server.address, |plan| {
        plan.requests = Some(100);
        at(plan, 500.0);
    });
    check(&run);
    run.all(Outcome::Ok, 100);
    assert_eq!((run.opened(), run.total.lateness.len()), (20, 100));
    assert!(run.total.span_us >= 200_000, "{}", run.total.span_us);
    // What has gone out on other streams behind it is not processed.
    let run = load_http2(server.address, |plan| {
        (plan.requests, plan.streams, plan.connections) = (Some(100), 4, 2);
        at(plan, 2000.0);
    });
    check(&run);
    assert_eq!(run.of(Outcome::Ok) + run.of(Outcome::Reset), 100, "{}", run.reasons());
    assert!(run.opened() >= run.of(Outcome::Ok) / 5 && run.total.span_us >= 50_000);
}

#[test]
fn a_connection_that_does_not_open_holds_one_request_and_not_those_of_others() {
    let server = Server::start(|peer| {
        if peer.number == 1 {
            return peer.hold();
        }
        if let Some(http2) = Http2::greet(peer, &[]) {
            http2.answer_all(b"hello");
        }
    });
    let run = load_http2(server.address, |plan| {
        by_time(plan, MS * 300);
        (plan.connections, plan.streams, plan.preconnect) = (2, 4, false);
        plan.timeout = MS * 800;
        at(plan, 500.0);
    });
    check(&run);
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Timeout)), (149, 1), "{}", run.reasons());
}

#[test]
fn what_still_waits_at_the_end_is_sent_within_the_grace() {
    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            std::thread::sleep(MS * 100);
            http2.answer(stream, b"hello");
        }
    });
    let run = load_http2(server.address, |plan| {
        by_time(plan, MS * 50);
        (plan.streams, plan.grace) = (2, Duration::from_secs(20));
        at(plan, 100.0);
    });
    check(&run);
    run.all(Outcome::Ok, 5);
    assert!(run.total.span_us >= 490_000, "{}", run.total.span_us);
    assert_eq!(run.total.begun, 2, "the others were begun after the window");
}

#[test]
fn the_warm_up_has_the_same_schedule_and_enters_no_figure() {
    let server = greeting(|http2| http2.answer_all(b"hello"));
    let run = load_http2(server.address, |plan| {
        by_time(plan, MS * 200);
        plan.warmup = MS * 100;
        at(plan, 1000.0);
        (plan.threads, plan.connections, plan.streams) = (2, 4, 2);
    });
    check(&run);
    run.all(Outcome::Ok, 200);
    assert_eq!((run.end.warmup.ok, run.end.warmup.issued), (100, 100));
    assert_eq!(run.total.bytes.body, 200 * 5);
}

#[test]
fn a_stopped_run_drops_nothing() {
    // The second connection answers nobody, the first one not for long: when the
    // run is stopped, requests wait for a stream.
    let server = greeting(|mut http2| {
        for _ in 0..if http2.peer.number == 0 { 100 } else { 0 } {
            let Some(stream) = http2.request() else { return };
            http2.answer(stream, b"hello");
        }
        http2.hold();
    });
    let mut plan = plan(server.address);
    by_time(&mut plan, Duration::from_secs(600));
    at(&mut plan, 500.0);
    (plan.protocol, plan.streams) = (Protocol::H2, 3);
    (plan.threads, plan.connections) = (2, 2);
    let stop = Stop::default();
    let run = load_until(&plan, &stop.clone(), &mut |progress| {
        if matches!(progress, Progress::Second(_)) {
            stop.cancel();
        }
    });
    check(&run);
    let (ok, aborted) = (run.of(Outcome::Ok), run.of(Outcome::Aborted));
    assert_eq!((run.end.reason, ok + aborted), (EndReason::Cancelled, run.total.due));
    assert!(run.total.due >= 500 && aborted > 6, "{:?}", run.total.counts);
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    let server = greeting(|http2| http2.answer_all(b"hello"));
    let starts = |seed| {
        let run = load_http2(server.address, |plan| {
            (plan.requests, plan.connections, plan.threads) = (Some(200), 2, 2);
            plan.streams = 10;
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
