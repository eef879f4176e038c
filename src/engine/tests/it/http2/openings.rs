//! How a connection becomes an HTTP/2 one, or does not.

use super::frames::{Http2, PING, PUSH_PROMISE, greeting, load_http2};
use crate::support::{Server, load, plan};
use benchd_engine::{DriverChoice, EngineError, PlanError, Stop, run};
use benchd_model::Outcome;
use benchd_model::spec::Protocol;
use std::time::Duration;

#[test]
fn requests_follow_each_other_on_one_connection() {
    let server = greeting(|http2| http2.answer_all(b"hello"));
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!(
        (run.opened(), run.total.connections.reused_requests, run.total.kept_alive),
        (1, 9, 10)
    );
    assert_eq!((run.total.bytes.body, run.total.connect.len()), (50, 1));
    // Per answer two frame heads, one octet of HPACK and the body; the greeting
    // came before the window, but for its ACK perhaps.
    let answers = 10 * (9 + 1 + 9 + 5);
    assert!([answers, answers + 9].contains(&run.total.bytes.received));
    assert_eq!((run.end.driver.as_str(), run.end.streams_achieved), ("h2", 1));
    assert!(run.end.notes.is_empty(), "{:?}", run.end.notes);
}

#[test]
fn a_server_of_http1_is_told_apart() {
    let server = Server::start(|mut peer| {
        peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        peer.hold();
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Protocol, 10);
    assert!(run.reasons().contains("answered in HTTP/1"), "{}", run.reasons());
    let server = Server::start(|mut peer| {
        peer.send([0x15, 3, 3, 0, 2, 2, 70]);
        peer.hold();
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Protocol, 10);
    assert!(run.reasons().contains("expects https"), "{}", run.reasons());
}

#[test]
fn the_first_frame_must_be_settings() {
    let server = Server::start(|peer| {
        let Some(mut http2) = Http2::listen(peer) else { return };
        http2.send(PING, 0, 0, &[0; 8]);
        http2.settings(&[]);
        http2.answer_all(b"");
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Protocol, 10);
    assert!(run.reasons().contains("first frame is no SETTINGS"), "{}", run.reasons());
}

#[test]
fn a_server_without_settings_is_too_slow_or_gone() {
    let server = Server::start(|peer| peer.hold());
    let run = load_http2(server.address, |plan| {
        plan.timeout = Duration::from_millis(100);
        plan.requests = Some(4);
        plan.streams = 2;
    });
    run.all(Outcome::Timeout, 4);
    assert!(run.reasons().contains("no HTTP/2"), "{}", run.reasons());

    let server = Server::start(|mut peer| drop(peer.request()));
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Reset, 10);
    assert!(run.reasons().contains("closed a new connection before"), "{}", run.reasons());
}

#[test]
fn pings_are_answered_and_pushed_streams_are_not_taken() {
    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            http2.send(PING, 0, 0, b"benchd-1");
            let pong = http2.await_kind(PING);
            if pong.is_some_and(|pong| pong.flags == 1 && pong.payload == b"benchd-1") {
                http2.answer(stream, b"");
            }
        }
    });
    load_http2(server.address, |_| {}).all(Outcome::Ok, 10);

    let server = greeting(|mut http2| {
        if http2.request().is_some() {
            // Promises stream 2: GET https /.
            http2.send(PUSH_PROMISE, 4, 1, &[0, 0, 0, 2, 0x82, 0x87, 0x84]);
        }
        http2.hold();
    });
    load_http2(server.address, |plan| plan.requests = Some(2)).all(Outcome::Protocol, 2);
}

#[test]
fn a_closed_port_fails_every_user_that_waits() {
    let listener = crate::support::listener_with_lasting_port();
    let address = listener.local_addr().unwrap();
    socket2::SockRef::from(&listener).shutdown(std::net::Shutdown::Read).unwrap();
    let run = load_http2(address, |plan| {
        plan.streams = 3;
        plan.requests = Some(12);
    });
    run.all(Outcome::Connect, 12);
    assert_eq!(run.reasons(), r#"{"connection refused (os error 111)": 12}"#);
    assert!(run.total.generator_cpu_us < 1_000_000, "backing off costs no CPU");
}

#[test]
fn what_http2_has_not_is_refused() {
    let mut plan = plan("127.0.0.1:9".parse().unwrap());
    let refused = |plan: &benchd_engine::Plan| match run(plan, &Stop::default(), &mut |_| {}) {
        Err(EngineError::Plan(error)) => error,
        other => panic!("{other:?}"),
    };
    plan.streams = 2;
    assert_eq!(refused(&plan), PlanError::Streams);
    (plan.protocol, plan.keepalive) = (Protocol::H2, false);
    plan.driver = DriverChoice::Tokio;
    assert_eq!(refused(&plan), PlanError::NotKept);
    plan.keepalive = true;
    plan.request.headers.push(("Connection".into(), "close".into()));
    assert_eq!(refused(&plan), PlanError::NotForHttp2("Connection".into()));
    plan.request.headers.clear();
    plan.driver = DriverChoice::Uring;
    let run = run(&plan, &Stop::default(), &mut |_| {});
    assert!(matches!(run, Err(EngineError::Driver(_))), "{run:?}");
}

#[test]
fn https_without_alpn_is_a_tls_failure() {
    let server = crate::tls::tls_server(std::sync::Arc::default());
    let run = load(server.address, |plan| {
        plan.protocol = Protocol::H2;
        plan.url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
        plan.tls.insecure = true;
    });
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("takes no part in ALPN"), "{}", run.reasons());
}
