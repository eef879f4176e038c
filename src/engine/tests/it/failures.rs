//! Every class of failure, each with a reason that a person understands.

use crate::support::{Server, listener_with_lasting_port, load};
use benchd_model::Outcome;
use socket2::SockRef;
use std::net::Shutdown;
use std::time::Duration;

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
fn a_response_that_never_ends_times_out() {
    let server = Server::start(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
        peer.hold();
    });
    let run = load(server.address, |plan| {
        plan.timeout = Duration::from_millis(100);
        plan.requests = Some(2);
    });
    run.all(Outcome::Timeout, 2);
    assert!(run.reasons().contains("response not complete within 100ms"));
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
fn what_is_no_http_is_named() {
    for (greeting, word) in [
        (&b"\x15\x03\x03\x00\x02\x02\x46"[..], "expects https"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH greeting"),
        (b"<html></html>", "HTTP/0.9"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "conflicting"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", "HTTP/2"),
    ] {
        let server = Server::start(move |mut peer| {
            peer.request();
            peer.send(greeting);
            peer.hold();
        });
        let run = load(server.address, |_| {});
        run.all(Outcome::Protocol, 10);
        assert!(run.reasons().contains(word), "{}", run.reasons());
    }
}

#[test]
fn a_greeting_before_the_request_is_named_too() {
    let server = Server::start(|mut peer| {
        peer.send("SSH-2.0-OpenSSH_9.2\r\n");
        peer.hold();
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Protocol, 10);
    assert!(run.reasons().contains("SSH greeting"), "{}", run.reasons());
}

#[test]
fn a_head_without_end_is_refused_in_bounded_memory() {
    let server = Server::start(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n");
        let line = format!("X-Filler: {}\r\n", "a".repeat(1000));
        (0..100).for_each(|_| peer.send(&line));
        peer.hold();
    });
    let run = load(server.address, |plan| plan.requests = Some(3));
    run.all(Outcome::Protocol, 3);
    assert!(run.reasons().contains("larger than 64 KiB"));
}

#[test]
fn a_reset_before_the_answer_is_a_reset_and_inside_it_a_truncation() {
    let reset = |peer: &crate::support::Peer| {
        // Closing with unread bytes makes the kernel send RST.
        while !matches!(peer.stream.peek(&mut [0]), Ok(1..) | Err(_)) {}
    };
    let server = Server::start(move |peer| reset(&peer));
    let run = load(server.address, |_| {});
    run.all(Outcome::Reset, 10);
    assert!(run.reasons().contains("connection reset by peer"), "{}", run.reasons());

    let server = Server::start(move |mut peer| {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        reset(&peer);
    });
    let run = load(server.address, |plan| plan.preconnect = false);
    assert_eq!(run.of(Outcome::Ok), 0);
    assert_eq!(run.total.counts.failures(), 10);
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

#[test]
fn redirects_are_answers_and_not_followed() {
    let server =
        Server::answering("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
    let run = load(server.address, |plan| plan.expect_status = vec!["302".into()]);
    run.all(Outcome::Ok, 10);
    assert_eq!((run.total.unexpected_status, run.total.status_codes[&302]), (0, 10));
}
