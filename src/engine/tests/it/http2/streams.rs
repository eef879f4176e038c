//! Many streams on a connection, and how many the server allows.

use super::frames::{
    DATA, END_HEADERS, END_STREAM, HEADER_TABLE_SIZE, HEADERS, Http2, MAX_CONCURRENT_STREAMS, OK,
    greeting, load_http2,
};
use crate::support::{Measured, Server, load_until, plan};
use benchd_engine::{Progress, Stop};
use benchd_model::Outcome;
use benchd_model::recording::EndReason;
use benchd_model::spec::Protocol;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server that allows `limit` streams and answers in bursts: all requests
/// that are in flight when there are `burst` of them.
pub(super) fn bursts(limit: u32, burst: usize, most: Arc<AtomicUsize>) -> Server {
    Server::start(move |peer| {
        let Some(mut http2) = Http2::greet(peer, &[(MAX_CONCURRENT_STREAMS, limit)]) else {
            return;
        };
        let mut open = Vec::new();
        while let Some(stream) = http2.request() {
            open.push(stream);
            most.fetch_max(open.len(), Ordering::SeqCst);
            if open.len() == burst {
                for stream in open.drain(..) {
                    http2.answer(stream, b"hello");
                }
            }
        }
    })
}

#[test]
fn as_many_streams_as_asked_for_are_in_flight() {
    let most = Arc::new(AtomicUsize::new(0));
    // It answers only when eight have come on a connection.
    let server = bursts(100, 8, most.clone());
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.connections, plan.requests) = (8, 1, Some(400));
    });
    run.all(Outcome::Ok, 400);
    assert_eq!((run.opened(), most.load(Ordering::SeqCst)), (1, 8));
    assert_eq!((run.end.streams_achieved, run.total.connections.reused_requests), (8, 399));
    assert!(run.end.notes.is_empty());
}

#[test]
fn the_server_s_limit_is_obeyed_and_told() {
    let most = Arc::new(AtomicUsize::new(0));
    let server = bursts(3, 3, most.clone());
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (10, Some(60));
    });
    run.all(Outcome::Ok, 60);
    assert_eq!((most.load(Ordering::SeqCst), run.end.streams_achieved), (3, 3));
    assert!(run.end.notes[0].contains("at most 3 concurrent streams"), "{:?}", run.end.notes);
}

#[test]
fn a_limit_that_changes_is_followed() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let server = Server::start(move |peer| {
        let Some(mut http2) = Http2::greet(peer, &[(MAX_CONCURRENT_STREAMS, 4)]) else { return };
        let first: Vec<u32> = (0..4).filter_map(|_| http2.request()).collect();
        // From here on one at a time: whatever else comes was sent against it.
        http2.settings(&[(MAX_CONCURRENT_STREAMS, 1)]);
        for stream in first {
            http2.answer(stream, b"hello");
        }
        while let Some(stream) = http2.request() {
            seen.fetch_max(1, Ordering::SeqCst);
            // A PING behind a second request would find it already there.
            http2.send(super::frames::PING, 0, 0, &[7; 8]);
            loop {
                match http2.frame() {
                    Some(frame) if frame.kind == HEADERS => {
                        seen.fetch_max(2, Ordering::SeqCst);
                        http2.answer(frame.stream, b"hello");
                    }
                    Some(frame) if frame.kind == super::frames::PING => break,
                    Some(_) => {}
                    None => return,
                }
            }
            http2.answer(stream, b"hello");
        }
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (4, Some(40));
    });
    run.all(Outcome::Ok, 40);
    assert_eq!(most.load(Ordering::SeqCst), 1, "the new limit was not kept");
    assert!(run.end.notes.iter().any(|note| note.contains("at most 1 ")), "{:?}", run.end.notes);
}

#[test]
fn a_server_that_allows_no_stream_times_out() {
    let server = Server::start(|peer| {
        if let Some(http2) = Http2::greet(peer, &[(MAX_CONCURRENT_STREAMS, 0)]) {
            http2.hold();
        }
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (2, Some(3));
        plan.timeout = Duration::from_millis(60);
    });
    run.all(Outcome::Timeout, 3);
    assert!(run.reasons().contains("no free stream within 60ms"), "{}", run.reasons());
}

#[test]
fn answers_in_any_order_and_in_pieces_find_their_streams() {
    let server = greeting(|mut http2| {
        loop {
            let streams: Vec<u32> = (0..4).filter_map(|_| http2.request()).collect();
            if streams.len() < 4 {
                return;
            }
            for stream in streams.iter().rev() {
                http2.send(HEADERS, END_HEADERS, *stream, OK);
            }
            for stream in &streams {
                http2.send(DATA, 0, *stream, &vec![b'x'; *stream as usize % 97]);
            }
            for stream in streams.iter().rev() {
                http2.send(DATA, END_STREAM, *stream, b"!");
            }
        }
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (4, Some(200));
    });
    run.all(Outcome::Ok, 200);
    let expected: u64 = (0..200).map(|n| (2 * n + 1) % 97 + 1).sum();
    assert_eq!(run.total.bytes.body, expected);
}

#[test]
fn requests_are_short_where_the_server_keeps_a_table_and_whole_where_it_does_not() {
    let lengths = |size| {
        let lengths = Arc::new(Mutex::new(Vec::new()));
        let seen = lengths.clone();
        let server = Server::start(move |peer| {
            let Some(mut http2) = Http2::greet(peer, &[(HEADER_TABLE_SIZE, size)]) else { return };
            while let Some(request) = http2.await_kind(HEADERS) {
                seen.lock().unwrap().push((request.payload[0], request.payload.len()));
                http2.answer(request.stream, b"hello");
            }
        });
        load_http2(server.address, |_| {}).all(Outcome::Ok, 10);
        let lengths = lengths.lock().unwrap();
        lengths.clone()
    };
    // `:method: GET` is in the static table; there are six fields.
    let kept = lengths(4096);
    assert!(kept[0].0 == 0x82 && kept[0].1 > 20, "{kept:?}");
    assert_eq!(kept[1..], [(0x82, 6); 9]);
    // The table is given up first (RFC 7541, 4.2).
    let none = lengths(0);
    assert!(none[0].0 == 0x20 && none[1].0 == 0x82 && none[1].1 > 20, "{none:?}");
    assert_eq!(none[1..], [none[1]; 9]);
}

#[test]
fn fields_that_the_server_s_table_keeps_are_read_from_it() {
    let server = greeting(|mut http2| {
        let mut number = 0_u8;
        while let Some(stream) = http2.request() {
            number += 1;
            let length = [b'0' + number % 3];
            // Every third time a new `content-length` enters the table, otherwise
            // the one that is its newest entry is used.
            let block = match number % 3 {
                1 => [&[0x88, 0x5c, 1][..], b"2"].concat(),
                _ => vec![0x88, 0xbe],
            };
            http2.send(HEADERS, END_HEADERS, stream, &block);
            let body = if length == *b"0" { &b"abc"[..] } else { b"ab" };
            http2.send(DATA, END_STREAM, stream, body);
        }
    });
    let run = load_http2(server.address, |plan| plan.requests = Some(12));
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Protocol)), (8, 4), "{}", run.reasons());
    assert_eq!((run.total.bytes.body, run.opened()), (16, 1));
}

#[test]
fn threads_connections_and_streams_share_the_budget() {
    let server = greeting(|http2| http2.answer_all(b"hello"));
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.connections, plan.threads) = (70, 6, 3);
        plan.requests = Some(10_007);
    });
    run.all(Outcome::Ok, 10_007);
    assert_eq!((run.opened(), run.end.connections_achieved, run.end.threads), (6, 6, 3));
    assert_eq!(run.total.bytes.body, 5 * 10_007);
}

#[test]
fn a_window_ends_on_time_and_counts_what_was_in_flight_as_aborted() {
    let server = greeting(|mut http2| {
        // One answer in two: half of the users wait for ever.
        let mut number = 0;
        while let Some(stream) = http2.request() {
            number += 1;
            if number % 2 == 0 {
                http2.answer(stream, b"hello");
            }
        }
    });
    let mut plan = plan(server.address);
    (plan.protocol, plan.streams, plan.connections) = (Protocol::H2, 4, 2);
    (plan.requests, plan.duration) = (None, Some(Duration::from_millis(300)));
    plan.grace = Duration::from_millis(100);
    let run = load_until(&plan, &Stop::default(), &mut |_| {});
    assert_eq!((run.of(Outcome::Aborted), run.total.span_us), (8, 300_000));
    assert!(run.of(Outcome::Ok) > 0 && run.total.counts.failures() == 0);
}

#[test]
fn warm_up_enters_no_figure() {
    let server = greeting(|http2| http2.answer_all(b"hello"));
    let run: Measured = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (3, Some(50));
        plan.warmup = Duration::from_millis(100);
    });
    run.all(Outcome::Ok, 50);
    assert!(run.end.warmup.ok > 0);
    assert_eq!(run.total.bytes.body, 250);
}

#[test]
fn a_stopped_run_ends_at_once() {
    let server = greeting(|http2| http2.hold());
    let stop = Stop::default();
    let mut plan = plan(server.address);
    (plan.protocol, plan.streams, plan.requests) = (Protocol::H2, 5, None);
    plan.duration = Some(Duration::from_secs(3600));
    let run = load_until(&plan, &stop, &mut |progress| {
        if matches!(progress, Progress::Started { .. }) {
            stop.cancel();
        }
    });
    assert_eq!(run.end.reason, EndReason::Cancelled);
    assert!(run.total.counts.issued == run.of(Outcome::Aborted));
}
