//! How long connections live, and what is told of their ends.

use crate::script::Step::{Again, Hold, Read, Rst, Say};
use crate::script::{TEN_CLOSED, TEN_GOOD, cases};
use crate::support::{Server, as_spoken, listener_with_lasting_port, load};
use benchd_model::Outcome;
use benchd_model::spec::Protocol;
use socket2::SockRef;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
const OLD: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";

cases! {
    close_announced: TEN_CLOSED [Read, Say(LAST)];
    close_announced_and_not_made: TEN_CLOSED [Read, Say(LAST), Hold];
    close_announced_and_made_a_reset: TEN_CLOSED [Read, Say(LAST), Rst];
    close_announced_every_other_time: TEN_GOOD
        [Read, Say(HELLO), Read, Say(LAST)], connections: 5, kept: 5;
    close_announced_among_others: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nConnection: x,\tCLOSE\r\nConnection: keep-alive\r\n\
            Content-Length: 5\r\n\r\nhello"), Hold];
    close_announced_by_an_interim_response_alone: TEN_GOOD
        [Read, Say(b"HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\n"), Say(HELLO), Again];
    // The server closes after each answer without a word; the client has sent
    // its next request by then, which is told and not tried again unseen.
    close_that_races_the_request: TEN_GOOD [Read, Say(HELLO), Read],
        counts: &[(Outcome::Ok, 5), (Outcome::Reset, 5)],
        connections: 5, body: 25, kept: 5, statuses: &[(200, 5)],
        says: "closed a kept connection before it answered";

    http10: TEN_CLOSED [Read, Say(OLD)];
    http10_that_does_not_close: TEN_CLOSED [Read, Say(OLD), Hold];
    http10_until_close: TEN_CLOSED [Read, Say(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello")];
    http10_with_keep_alive: TEN_GOOD
        [Read, Say(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello"), Again];
    http10_with_chunks_is_not_trusted_again: TEN_CLOSED
        [Read, Say(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n\
            5\r\nhello\r\n0\r\n\r\n"), Hold];
}

#[test]
fn an_announced_close_every_hundredth_is_no_failure() {
    let server = Server::start(|mut peer| {
        for _ in 0..99 {
            if peer.request().is_none() {
                return;
            }
            peer.send(HELLO);
        }
        peer.request();
        peer.send(LAST);
    });
    let run = load(server.address, |plan| plan.requests = Some(250));
    run.all(Outcome::Ok, 250);
    assert_eq!((run.opened(), run.total.kept_alive), (3, 248));
}

#[test]
fn a_close_at_once_is_seen_before_sending_or_is_a_reset() {
    let server = Server::start(|mut peer| {
        if peer.number == 0 {
            return;
        }
        while peer.request().is_some() {
            peer.send(HELLO);
        }
    });
    let run = load(server.address, |_| {});
    let reset = run.of(Outcome::Reset);
    assert_eq!(run.of(Outcome::Ok) + reset, 10, "{}", run.reasons());
    assert_eq!(run.total.connections.idle_closed + reset, 1);
    assert_eq!(run.opened(), 2);
}

#[test]
fn http10_keeps_a_connection_only_when_told() {
    let once = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
    for (answer, opened) in [(once, 10), (kept, 1)] {
        let server = Server::answering(answer);
        let run = load(server.address, |plan| plan.protocol = Protocol::Http10);
        run.all(Outcome::Ok, 10);
        assert_eq!(run.opened(), opened, "{answer}");
    }
}

#[test]
fn without_keep_alive_every_request_has_its_own_connection() {
    for protocol in [Protocol::Http1, Protocol::Http10] {
        let server = Server::start(|mut peer| {
            peer.request();
            peer.send(LAST);
        });
        let run = load(server.address, |plan| {
            plan.keepalive = false;
            plan.protocol = protocol;
            plan.connections = 4;
            plan.requests = Some(50);
        });
        run.all(Outcome::Ok, 50);
        assert_eq!((run.total.connections.opened, run.end.opened_before), (50, 0));
        assert_eq!((server.accepted(), run.total.kept_alive), (50, 0));
        assert_eq!(run.total.connect.len(), 50);
        assert!(run.total.latency.sum_us() >= run.total.service.sum_us());
    }
}

#[test]
fn who_asks_to_close_sends_nothing_more_on_that_connection() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        plan.request.headers.push(("connection".into(), "x, Close".into()));
    });
    run.all(Outcome::Ok, 10);
    assert_eq!((server.accepted(), run.total.kept_alive), (10, 0));
}

#[test]
fn a_server_that_never_closes_does_not_hold_the_load_up() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |plan| {
        plan.keepalive = false;
        plan.requests = Some(200);
    });
    run.all(Outcome::Ok, 200);
    assert_eq!(run.total.connections.opened, 200);
    // Each FIN that is awaited costs the window 20 ms: a few do, not all.
    let awaited_all = 200 * 20_000;
    assert!(run.total.span_us < awaited_all, "{} us", run.total.span_us);
}

#[test]
fn a_listener_that_dies_and_returns_costs_its_gap() {
    let listener = listener_with_lasting_port();
    let address = listener.local_addr().unwrap();
    let served = Arc::new(AtomicU64::new(0));
    let answers = served.clone();
    std::thread::spawn(move || {
        let serve = |count: usize| {
            let accepted = listener.incoming().take(count).map_while(Result::ok);
            for mut stream in accepted.map(as_spoken) {
                if matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                    answers.fetch_add(1, Ordering::SeqCst);
                    stream.write_all(LAST).ok();
                }
            }
        };
        serve(5);
        // Stops listening and keeps the port from everybody else.
        SockRef::from(&listener).shutdown(Shutdown::Read).unwrap();
        // The gap itself, long enough for several attempts with backoff.
        std::thread::sleep(Duration::from_millis(150));
        SockRef::from(&listener).listen(16).unwrap();
        serve(usize::MAX);
    });
    let run = load(address, |plan| {
        plan.keepalive = false;
        plan.requests = Some(40);
    });
    let (ok, refused) = (run.of(Outcome::Ok), run.of(Outcome::Connect));
    // A connection in the dying listener's backlog is reset.
    assert_eq!(ok + refused + run.of(Outcome::Reset), 40, "{}", run.reasons());
    assert!(refused >= 1 && ok > 5, "{ok} ok, {refused} refused");
    assert_eq!(ok, served.load(Ordering::SeqCst), "what is good here was answered there");
}

#[test]
fn connections_are_spread_over_all_addresses() {
    let servers = [Server::answering(HELLO), Server::answering(HELLO)];
    let run = load(servers[0].address, |plan| {
        plan.endpoints = servers.iter().map(|server| server.address.into()).collect();
        plan.connections = 6;
    });
    run.all(Outcome::Ok, 10);
    assert_eq!((servers[0].accepted(), servers[1].accepted()), (3, 3));
    let counts = servers.map(|server| run.end.addresses[&server.address.to_string()]);
    assert_eq!(counts.map(|counts| (counts.opened, counts.failures)), [(3, 0), (3, 0)]);
    assert_eq!(counts[0].ok + counts[1].ok, 10);
}
