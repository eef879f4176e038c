//! What the server gets to read.

use crate::support::{Server, load};
use benchd_model::Outcome;
use std::sync::{Arc, Mutex};

const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A server that keeps every request it reads.
fn listening(address: &str) -> (Server, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let heard_by_server = heard.clone();
    let server = Server::on(address, move |mut peer| {
        while let Some(request) = peer.request() {
            heard_by_server.lock().unwrap().push(request);
            peer.send(EMPTY);
        }
    });
    (server, heard)
}

#[test]
fn ipv6_credentials_and_query_arrive_and_the_fragment_does_not() {
    let (server, heard) = listening("[::1]:0");
    let run = load(server.address, |plan| {
        let port = server.address.port();
        plan.url = format!("http://me:s%20t@[::1]:{port}/a%20b?c=d#e").parse().unwrap();
    });
    run.all(Outcome::Ok, 10);
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 10);
    let port = server.address.port();
    for request in heard.iter() {
        assert!(request.starts_with("GET /a%20b?c=d HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("Host: [::1]:{port}\r\n")), "{request}");
        assert!(request.contains("Authorization: Basic bWU6cyB0\r\n"), "{request}");
    }
    assert_eq!(run.total.bytes.sent, heard.iter().map(|r| r.len() as u64).sum::<u64>());
}

#[test]
fn a_large_body_arrives_whole_every_time() {
    let (server, heard) = listening("127.0.0.1:0");
    let run = load(server.address, |plan| {
        plan.request.method = "PUT".into();
        plan.request.body = vec![b'b'; 2 << 20];
        plan.requests = Some(3);
    });
    run.all(Outcome::Ok, 3);
    assert_eq!(run.opened(), 1);
    for request in heard.lock().unwrap().iter() {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(body.len(), 2 << 20);
    }
}

#[test]
fn an_answer_to_half_a_request_counts_and_ends_the_connection() {
    let server = Server::start(|mut peer| {
        peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        peer.ignore();
    });
    let run = load(server.address, |plan| {
        plan.request.method = "POST".into();
        plan.request.body = vec![b'x'; 8 << 20];
        plan.requests = Some(4);
        plan.preconnect = false;
    });
    run.all(Outcome::Ok, 4);
    assert_eq!((run.opened(), run.total.kept_alive, run.total.status_codes[&413]), (4, 0, 4));
}
