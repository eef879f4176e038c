//! Every class of failure, each with a reason that a person understands.

use crate::script::Step::{Again, Fin, Hold, Ignore, Read, Rst, Say};
use crate::script::{Case, NONE_GOOD, TEN_CLOSED, TEN_GOOD, cases};
use crate::support::{
    Server, as_spoken, full_listener, listener_with_lasting_port, load, syn_unanswered,
};
use benchd_model::Outcome::{self, Protocol, Reset, Timeout};
use socket2::SockRef;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// Ten answers that are none.
const TEN_REFUSED: Case = Case { counts: &[(Protocol, 10)], ..NONE_GOOD };

/// Ten connections given up before an answer began.
const TEN_RESET: Case = Case { counts: &[(Reset, 10)], ..NONE_GOOD };

cases! {
    tls_records: TEN_REFUSED [Read, Say(b"\x15\x03\x03\x00\x02\x02\x46"), Hold], says: "expects https";
    http2_frames: TEN_REFUSED [Read, Say(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"), Hold], says: "HTTP/2 frames";
    http2_status_line: TEN_REFUSED [Read, Say(b"HTTP/2 200\r\n\r\n"), Hold], says: "version";
    http09: TEN_REFUSED [Read, Say(b"<html></html>")], says: "HTTP/0.9";
    ssh_greeting: TEN_REFUSED [Read, Say(b"SSH-2.0-OpenSSH_9.2\r\n"), Hold], says: "SSH greeting";
    ssh_greeting_before_the_request: TEN_REFUSED [Say(b"SSH-2.0-OpenSSH_9.2\r\n"), Hold], says: "SSH greeting";
    mail_greeting: TEN_REFUSED [Say(b"220 mail.test ESMTP\r\n"), Hold], says: "no HTTP response";
    lower_case: TEN_REFUSED [Read, Say(b"http/1.1 200 OK\r\n\r\n"), Hold], says: "no HTTP response";
    leading_line_end: TEN_REFUSED [Read, Say(b"\r\nHTTP/1.1 200 OK\r\n\r\n"), Hold], says: "no HTTP response";
    status_1000: TEN_REFUSED [Read, Say(b"HTTP/1.1 1000 OK\r\n\r\n"), Hold], says: "status line";
    nul_in_a_field: TEN_REFUSED [Read, Say(b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"), Hold], says: "field value";
    carriage_return_in_a_field: TEN_REFUSED [Read, Say(b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"), Hold], says: "malformed";
    no_colon: TEN_REFUSED [Read, Say(b"HTTP/1.1 200 OK\r\nA\r\n\r\n"), Hold], says: "field name";
    lengths_that_differ: TEN_REFUSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), Hold], says: "conflicting";
    length_with_a_sign: TEN_REFUSED [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), Hold], says: "no number";
    length_beyond_64_bits: TEN_REFUSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n"), Hold], says: "64 bits";
    chunk_size_that_is_none: TEN_REFUSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), Hold], says: "chunk";
    chunk_longer_than_its_size: TEN_REFUSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n"), Hold], says: "chunk";

    closed_without_an_answer: TEN_RESET [Read], says: "closed a new connection before it answered";
    half_closed_without_an_answer: TEN_RESET [Read, Fin, Hold], says: "before it answered";
    reset_without_an_answer: TEN_RESET [Read, Rst], says: "connection reset by peer";

    no_answer: NONE_GOOD [Read, Hold],
        plan: |plan| (plan.requests, plan.timeout) = (Some(2), Duration::from_millis(100)),
        counts: &[(Timeout, 2)], connections: 2, says: "no response within 100ms";
    half_an_answer: NONE_GOOD [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), Hold],
        plan: |plan| (plan.requests, plan.timeout) = (Some(2), Duration::from_millis(100)),
        counts: &[(Timeout, 2)], connections: 2, says: "response not complete within 100ms";
    nothing_read: NONE_GOOD [Ignore],
        plan: |plan| {
            (plan.requests, plan.timeout) = (Some(2), Duration::from_millis(200));
            plan.request.method = "POST".into();
            plan.request.body = vec![b'x'; 16 << 20];
        },
        counts: &[(Timeout, 2)], connections: 2, says: "request not fully sent within 200ms";

    redirects_are_answers_and_not_followed: TEN_GOOD
        [Read, Say(b"HTTP/1.1 302 Found\r\nLocation: elsewhere\r\nContent-Length: 0\r\n\r\n"), Again],
        body: 0, statuses: &[(302, 10)];
    redirects_and_closes: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 301 Moved\r\nLocation: /a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")],
        statuses: &[(301, 10)];
}

#[test]
fn a_closed_port_refuses_every_attempt() {
    // Bound and not listening: nobody else can take the port meanwhile.
    let listener = listener_with_lasting_port();
    let address = listener.local_addr().unwrap();
    SockRef::from(&listener).shutdown(Shutdown::Read).unwrap();
    let run = load(address, |plan| {
        plan.requests = Some(12);
        plan.connections = 4;
    });
    run.all(Outcome::Connect, 12);
    assert_eq!(run.reasons(), r#"{"connection refused (os error 111)": 12}"#);
    assert!(run.total.generator_cpu_us < 1_000_000, "backing off costs no CPU");
    assert_eq!((run.opened(), run.end.connections_achieved), (0, 0));
}

#[test]
fn a_closed_port_is_tried_again_ever_more_slowly() {
    let listener = listener_with_lasting_port();
    let address = listener.local_addr().unwrap();
    SockRef::from(&listener).shutdown(Shutdown::Read).unwrap();
    let run = load(address, |plan| {
        (plan.requests, plan.duration) = (None, Some(Duration::from_millis(600)));
        plan.connections = 10;
    });
    let refused = run.of(Outcome::Connect);
    assert_eq!(refused, run.total.counts.issued, "{}", run.reasons());
    // Pauses of 10, 20, 40 and then at least 50 ms: of 600 ms no user can make
    // more than 14 attempts, and all of them make one.
    assert!((10..=140).contains(&refused), "{refused} attempts");
    assert_eq!((run.opened(), run.total.span_us), (0, 600_000));
}

#[test]
fn connects_that_a_full_backlog_drops_time_out_or_are_late() {
    let listener = full_listener();
    let run = load(listener.local_addr().unwrap(), |plan| {
        (plan.connections, plan.requests) = (8, Some(8));
        (plan.timeout, plan.preconnect) = (Duration::from_millis(200), false);
    });
    assert_eq!(run.of(Outcome::Timeout) + run.of(Outcome::Tls), 8, "{}", run.reasons());
    let reason = |words: &str| run.end.failure_reasons.get(words).copied().unwrap_or(0);
    let unconnected = reason("no connection within 200ms");
    // Those that the kernel has taken.
    let unanswered = reason("no response within 200ms");
    let unshaken = reason("TLS handshake not finished within 200ms");
    assert_eq!((unconnected + unanswered + unshaken, unanswered), (8, run.opened()));
    assert_eq!(if crate::SEALED { unanswered } else { unshaken }, 0, "{}", run.reasons());
    assert!(unconnected >= 5, "{}", run.reasons());

    // One that accepts, but not before a SYN has been dropped.
    let listener = full_listener();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let begun = Instant::now();
        while !syn_unanswered(address.port()) && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        let peers: Vec<_> = listener.incoming().map_while(Result::ok).map(answer_once).collect();
        drop(peers);
    });
    let run = load(address, |plan| {
        (plan.connections, plan.requests, plan.preconnect) = (8, Some(8), false);
    });
    run.all(Outcome::Ok, 8);
    // The kernel sends a SYN again after a second at the earliest.
    assert!(run.total.connect.max_us() > Some(900_000), "{:?}", run.total.connect.summary());
    assert!(run.total.latency.max_us() >= run.total.connect.max_us());
    assert!(run.total.service.max_us() < run.total.latency.max_us());
}

fn answer_once(stream: std::net::TcpStream) -> std::net::TcpStream {
    let mut stream = as_spoken(stream);
    let read = stream.read(&mut [0; 4096]).unwrap();
    assert!(read > 0, "no request came");
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    stream
}

#[test]
fn a_server_that_never_answers_times_out_at_the_limit() {
    let server = Server::start(|peer| peer.hold());
    let run = load(server.address, |plan| {
        plan.timeout = Duration::from_millis(100);
        plan.requests = Some(6);
        plan.connections = 3;
    });
    run.all(Outcome::Timeout, 6);
    assert_eq!(
        (run.total.failed.min_us(), run.total.failed.max_us()),
        (Some(100_000), Some(100_000))
    );
    assert_eq!(run.reasons(), r#"{"no response within 100ms": 6}"#);
    assert!(run.total.latency.is_empty());
}

#[test]
fn an_answer_just_after_the_limit_is_too_late() {
    let server = Server::start(|mut peer| {
        peer.request();
        std::thread::sleep(
            Duration::from_millis(80) + Duration::from_micros(800) * peer.number as u32,
        );
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        peer.hold();
    });
    let run = load(server.address, |plan| {
        plan.timeout = Duration::from_millis(100);
        plan.connections = 50;
        plan.requests = Some(50);
    });
    assert_eq!(run.of(Outcome::Ok) + run.of(Outcome::Timeout), 50);
    assert!(run.of(Outcome::Timeout) > 0);
}

#[test]
fn a_server_that_never_reads_times_out_inside_the_request() {
    let server = Server::start(|peer| peer.ignore());
    let run = load(server.address, |plan| {
        plan.request.method = "POST".into();
        plan.request.body = vec![b'x'; 16 << 20];
        plan.timeout = Duration::from_millis(200);
        plan.requests = Some(2);
    });
    run.all(Outcome::Timeout, 2);
    assert!(run.reasons().contains("request not fully sent within 200ms"), "{}", run.reasons());
    assert!(run.total.bytes.sent > 0 && run.total.bytes.sent < 32 << 20);
}

#[test]
fn error_statuses_are_complete_and_not_expected() {
    let server = Server::answering("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.total.unexpected_status, run.total.good()), (10, 0));
    assert_eq!(run.total.status_codes[&503], 10);
    assert!(run.end.first_response.is_none());
    assert_eq!(run.total.error_ratio(), Some(1.0));
}
