//! Time limits: of a request, of its body, of a connection.

use super::frames::{
    DATA, END_HEADERS, GOAWAY, HEADERS, Http2, INITIAL_WINDOW_SIZE, OK, PING, RST_STREAM,
    WINDOW_UPDATE, farewell, frame, greeting, load_http2,
};
use crate::support::Server;
use benchd_model::Outcome;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const CANCEL: [u8; 4] = [0, 0, 0, 8];

#[test]
fn a_slow_request_is_cancelled_and_its_connection_kept() {
    let cancelled = Arc::new(AtomicUsize::new(0));
    let count = cancelled.clone();
    // Every third request is never answered.
    let server = greeting(move |mut http2| {
        let mut number = 0;
        while let Some(frame) = http2.frame() {
            match frame.kind {
                HEADERS => {
                    number += 1;
                    if number % 3 > 0 {
                        http2.answer(frame.stream, b"hello");
                    }
                }
                RST_STREAM if frame.payload == CANCEL => {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                PING => http2.send(PING, 1, 0, &frame.payload),
                _ => {}
            }
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.timeout = Duration::from_millis(150);
        plan.requests = Some(12);
    });
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Timeout)), (8, 4), "{}", run.reasons());
    assert_eq!(run.reasons(), r#"{"no response within 150ms": 4}"#);
    assert_eq!((run.opened(), run.total.failed.max_us()), (1, Some(150_000)));
    // The last one may end with the run.
    assert!(cancelled.load(Ordering::SeqCst) >= 3);
}

#[test]
fn a_response_that_stalls_times_out_too() {
    let server = greeting(|mut http2| {
        while let Some(frame) = http2.frame() {
            match frame.kind {
                HEADERS => {
                    http2.send(HEADERS, END_HEADERS, frame.stream, OK);
                    http2.send(DATA, 0, frame.stream, b"half");
                }
                PING => http2.send(PING, 1, 0, &frame.payload),
                _ => {}
            }
        }
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (4, Some(12));
        plan.timeout = Duration::from_millis(100);
    });
    run.all(Outcome::Timeout, 12);
    assert_eq!(run.reasons(), r#"{"response not complete within 100ms": 12}"#);
    assert_eq!((run.opened(), run.total.bytes.body), (1, 0));
}

#[test]
fn a_dead_connection_is_replaced() {
    // The first connection falls silent, PING included; others answer.
    let server = greeting(|http2| match http2.peer.number {
        0 => http2.hold(),
        _ => http2.answer_all(b"hello"),
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (2, Some(20));
        plan.timeout = Duration::from_millis(300);
    });
    // Its two users ask twice before they give it up, once more when the ACK
    // of our SETTINGS came behind their first requests.
    let timeouts = run.of(Outcome::Timeout);
    assert!(timeouts == 4 || timeouts == 6, "{}", run.reasons());
    assert_eq!((run.of(Outcome::Ok), run.opened()), (20 - timeouts, 2));
}

#[test]
fn a_server_that_is_slow_and_alive_keeps_its_connection() {
    let server = greeting(|mut http2| {
        while let Some(frame) = http2.frame() {
            if frame.kind == PING {
                http2.send(PING, 1, 0, &frame.payload);
            }
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.requests = Some(6);
        plan.timeout = Duration::from_millis(60);
    });
    run.all(Outcome::Timeout, 6);
    assert_eq!(run.opened(), 1);
}

#[test]
fn who_comes_while_a_connection_is_opened_has_a_time_limit_of_its_own() {
    // The second connection says nothing. One user needs it at once, the other
    // only when the first connection has answered everything.
    let server = Server::start(|peer| {
        if peer.number == 1 {
            return peer.hold();
        }
        let Some(mut http2) = Http2::greet(peer, &[]) else { return };
        if http2.peer.number == 0 {
            let (Some(first), Some(second)) = (http2.request(), http2.request()) else { return };
            http2.send(GOAWAY, 0, 0, &farewell(second, 0));
            http2.answer(first, b"hello");
            std::thread::sleep(Duration::from_millis(200));
            http2.answer(second, b"hello");
        }
        http2.answer_all(b"hello");
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (2, Some(4));
        plan.timeout = Duration::from_secs(2);
    });
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Timeout)), (3, 1), "{}", run.reasons());
    assert_eq!(server.accepted(), 3);
}

#[test]
fn a_body_that_no_window_lets_out_times_out() {
    let server = greeting(|http2| http2.hold());
    let run = load_http2(server.address, |plan| {
        plan.request.method = "POST".into();
        plan.request.body = vec![b'x'; 1 << 20];
        plan.timeout = Duration::from_millis(150);
        plan.requests = Some(2);
    });
    run.all(Outcome::Timeout, 2);
    assert_eq!(run.reasons(), r#"{"request not fully sent within 150ms": 2}"#);
    // What the initial window of the connection lets out, and not more.
    assert!((65_535..70_000).contains(&run.total.bytes.sent), "{}", run.total.bytes.sent);
}

#[test]
fn a_server_that_talks_and_never_reads_loses_its_connection() {
    // Its windows let everything out, until its socket is full. What it says
    // needs no answer.
    let server = Server::start(|peer| {
        let Some(mut http2) = Http2::greet(peer, &[(INITIAL_WINDOW_SIZE, 1 << 30)]) else {
            return;
        };
        let mut talk = frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
        while http2.peer.stream.write_all(&talk).is_ok() {
            // A frame of a kind that nobody knows.
            talk = frame(0xfa, 0, 0, &[0; 64]);
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.request.method = "PUT".into();
        plan.request.body = vec![b'x'; 16 << 20];
        (plan.streams, plan.requests) = (2, Some(12));
        plan.timeout = Duration::from_millis(200);
    });
    run.all(Outcome::Timeout, 12);
    // Of the first two requests a part was taken, of the next ones nothing.
    assert!(run.opened() > 1, "requests queued up behind a full socket");
}

#[test]
fn a_server_that_asks_and_never_reads_is_not_listened_to() {
    // Each PING wants an answer, and none is taken.
    let server = greeting(|mut http2| {
        let questions = frame(PING, 0, 0, &[7; 8]).repeat(1000);
        while http2.peer.stream.write_all(&questions).is_ok() {}
    });
    let run = load_http2(server.address, |plan| {
        (plan.streams, plan.requests) = (2, Some(12));
        plan.timeout = Duration::from_millis(200);
    });
    run.all(Outcome::Timeout, 12);
    assert!(run.opened() > 1, "requests queued up behind a full socket");
}
