//! TLS: whom the engine trusts, and what it says when it does not.

use crate::certificate::server_config;
use crate::open_loop::{at, by_time};
use crate::support::{Measured, Server, load};
use benchd_engine::DriverChoice;
use benchd_model::Outcome;
use benchd_model::spec::Protocol;
use rustls::{ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A TLS server with a self-signed certificate for `localhost`. It keeps the
/// server names it was asked for.
pub(crate) fn tls_server(names: Arc<Mutex<Vec<Option<String>>>>) -> Server {
    answering(move |connection| {
        names.lock().unwrap().push(connection.server_name().map(str::to_owned));
        connection.writer().write_all(ANSWER).unwrap();
    })
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: t\r\nContent-Length: 3\r\n\r\nabc";

/// A TLS server that sends at once what `answer` has put into the connection.
fn answering(answer: impl Fn(&mut ServerConnection) + Send + Sync + 'static) -> Server {
    let config = server_config();
    Server::start(move |peer| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, peer.stream);
        let mut request = [0; 4096];
        while let Ok(1..) = stream.read(&mut request) {
            answer(&mut stream.conn);
            stream.flush().unwrap();
        }
    })
}

#[test]
fn an_answer_before_the_request_is_heard_from_its_first_byte() {
    let config = server_config();
    let server = Server::start(move |peer| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, peer.stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
        stream.flush().unwrap();
        drop(stream.read(&mut [0; 4096]));
    });
    let run = load(server.address, |plan| {
        plan.url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
        plan.tls.insecure = true;
        (plan.requests, plan.connections) = (Some(20), 20);
    });
    assert_eq!(run.of(Outcome::Ok), 20, "{}", run.reasons());
}

fn load_tls(server: &Server, host: &str, insecure: bool) -> Measured {
    load(server.address, |plan| {
        plan.url = format!("https://{host}:{}/", server.address.port()).parse().unwrap();
        plan.tls.insecure = insecure;
    })
}

#[test]
fn an_unknown_certificate_fails_with_its_reason() {
    let server = tls_server(Arc::default());
    let run = load_tls(&server, "localhost", false);
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("UnknownIssuer"), "{}", run.reasons());
}

#[test]
fn insecure_accepts_it_and_keeps_the_connection() {
    let names = Arc::new(Mutex::default());
    let server = tls_server(names.clone());
    let run = load_tls(&server, "localhost", true);
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.tls.len(), run.total.connect.len()), (1, 1, 1));
    assert_eq!(run.total.bytes.body, 30);
    let first = run.end.first_response.unwrap();
    assert_eq!(first.software.as_deref(), Some("t"));
    assert!(first.tls.unwrap().starts_with("TLSv1.3,TLS_"));
    assert!(names.lock().unwrap().iter().all(|name| name.as_deref() == Some("localhost")));
}

#[test]
fn an_address_is_never_sent_as_a_name() {
    let names = Arc::new(Mutex::default());
    let server = tls_server(names.clone());
    load_tls(&server, "127.0.0.1", true).all(Outcome::Ok, 10);
    assert!(names.lock().unwrap().iter().all(Option::is_none));
}

#[test]
fn a_plain_server_is_told_apart_from_a_bad_certificate() {
    let server = Server::start(|mut peer| {
        peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        peer.hold();
    });
    let run = load_tls(&server, "localhost", true);
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("does not speak TLS"), "{}", run.reasons());
}

#[test]
fn a_handshake_that_stalls_or_is_cut_is_a_tls_failure() {
    for protocol in [Protocol::Http1, Protocol::H2] {
        let server = Server::start(|peer| peer.hold());
        let run = load(server.address, |plan| {
            if protocol == Protocol::H2 {
                plan.driver = DriverChoice::Auto;
            }
            plan.url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
            plan.protocol = protocol;
            plan.timeout = Duration::from_millis(100);
            plan.requests = Some(2);
        });
        run.all(Outcome::Tls, 2);
        assert!(run.reasons().contains("handshake not finished within 100ms"), "{}", run.reasons());
    }

    let server = Server::start(drop);
    load_tls(&server, "localhost", true).all(Outcome::Tls, 10);
}

#[test]
fn a_server_that_never_shakes_hands_does_not_put_the_window_off_again_and_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    std::thread::spawn(move || {
        let held: Vec<_> = listener
            .incoming()
            .inspect(|_| {
                count.fetch_add(1, Ordering::SeqCst);
            })
            .take_while(Result::is_ok)
            .collect();
        drop(held);
    });
    let run = load(address, |plan| {
        plan.url = format!("https://localhost:{}/", address.port()).parse().unwrap();
        plan.timeout = Duration::from_millis(200);
        plan.connections = 700;
        plan.requests = Some(0);
    });
    run.all(Outcome::Ok, 0);
    // As many as are tried at once, and not the others after them.
    let accepted = accepted.load(Ordering::SeqCst);
    assert!((16..600).contains(&accepted), "{accepted}");
}

#[test]
fn records_that_say_nothing_to_us_change_nothing() {
    for rate in [None, Some(200.0)] {
        let server = answering(|connection| {
            connection.writer().write_all(ANSWER).unwrap();
            // New keys, in a record of their own behind the answer.
            connection.refresh_traffic_keys().unwrap();
        });
        let run = load(server.address, |plan| {
            plan.url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
            plan.tls.insecure = true;
            if let Some(rate) = rate {
                by_time(plan, Duration::from_millis(200));
                at(plan, rate);
            }
        });
        run.all(Outcome::Ok, if rate.is_some() { 40 } else { 10 });
        assert_eq!((run.opened(), server.accepted(), run.end.notes.len()), (1, 1, 0));
    }
}

#[test]
fn a_connection_that_tls_has_ended_is_not_used_again() {
    let server = answering(|connection| {
        connection.writer().write_all(ANSWER).unwrap();
        connection.send_close_notify();
    });
    let run = load_tls(&server, "localhost", true);
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.connections.idle_closed), (10, 10));
}

#[test]
fn what_comes_unasked_in_a_record_of_its_own_ends_the_connection() {
    let server = answering(|connection| {
        connection.writer().write_all(ANSWER).unwrap();
        connection.writer().write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
    });
    let run = load_tls(&server, "localhost", true);
    run.all(Outcome::Ok, 10);
    assert_eq!(run.opened(), 10);
    let told = run.end.notes.join(" ");
    assert!(told.contains("after a complete response"), "{told}");
}
