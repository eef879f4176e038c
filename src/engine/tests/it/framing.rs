//! Where a response ends: RFC 9112, section 6, over real sockets.

use crate::support::{Server, load};
use benchd_model::Outcome;

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn a_length_ends_the_body_and_the_connection_is_kept() {
    let server = Server::answering(HELLO);
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.connections.reused_requests), (1, 9));
    assert_eq!((run.total.bytes.body, run.total.kept_alive), (50, 10));
    assert_eq!(run.total.bytes.received, 10 * HELLO.len() as u64);
    assert_eq!(run.end.first_response.unwrap().document_bytes, 5);
    assert_eq!(run.rows.len(), 10);
}

#[test]
fn bytes_may_dribble_in_one_by_one() {
    let server = Server::start(|mut peer| {
        while peer.request().is_some() {
            HELLO.as_bytes().chunks(1).for_each(|byte| peer.send(byte));
        }
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.bytes.body), (1, 50));
}

#[test]
fn without_a_length_the_close_ends_the_body() {
    let server = Server::start(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n\r\nhello");
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.bytes.body, run.total.kept_alive), (10, 50, 0));
}

#[test]
fn a_body_cut_short_is_truncated_even_if_all_are() {
    let server = Server::start(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Truncated, 10);
    assert!(run.end.first_response.is_none());
}

#[test]
fn a_head_or_a_chunk_cut_short_is_truncated() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        let server = Server::start(move |mut peer| {
            peer.request();
            peer.send(answer);
        });
        load(server.address, |_| {}).all(Outcome::Truncated, 10);
    }
}

#[test]
fn chunks_with_extensions_and_trailers_arrive_in_any_split() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n\
                          5;name=\"v\"\r\nhello\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n";
    let server = Server::start(|mut peer| {
        let mut size = 1;
        while peer.request().is_some() {
            ANSWER.as_bytes().chunks(size).for_each(|piece| peer.send(piece));
            size += 5;
        }
    });
    let run = load(server.address, |plan| plan.requests = Some(20));
    run.all(Outcome::Ok, 20);
    assert_eq!((run.opened(), run.total.bytes.body), (1, 20 * 15));
}

#[test]
fn head_204_and_304_have_no_body_whatever_they_announce() {
    for (method, status) in
        [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 Not Modified")]
    {
        let server = Server::answering(format!("HTTP/1.1 {status}\r\nContent-Length: 100\r\n\r\n"));
        let run = load(server.address, |plan| plan.request.method = method.into());
        run.all(Outcome::Ok, 10);
        assert_eq!((run.opened(), run.total.bytes.body), (1, 0), "{method} {status}");
    }
}

#[test]
fn interim_responses_are_not_the_answer() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let server = Server::answering(format!("{interim}{HELLO}"));
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!(run.total.status_codes.keys().copied().collect::<Vec<_>>(), [200]);
}

#[test]
fn an_empty_body_is_a_body() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.bytes.body), (1, 0));
}

#[test]
fn a_body_larger_than_the_receive_buffer_is_counted_whole() {
    const SIZE: usize = 3_000_000;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
    let server = Server::answering([head.into_bytes(), vec![b'x'; SIZE]].concat());
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!(run.total.bytes.body, 10 * SIZE as u64);
    assert!(run.total.ttfb.sum_us() <= run.total.service.sum_us());
}

#[test]
fn bodies_unlike_the_first_one_are_counted_and_good() {
    let server = Server::start(|mut peer| {
        for turn in 0.. {
            if peer.request().is_none() {
                return;
            }
            let body = ["aaaa", "bbbbbb"][turn % 2];
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        }
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!(run.total.length_differs, 5);
}

#[test]
fn bytes_behind_a_response_cost_the_connection_and_are_told() {
    let server = Server::start(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc");
        peer.hold();
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.kept_alive, run.total.bytes.body), (10, 0, 20));
    assert!(run.end.notes.iter().any(|note| note.contains("after a complete response")));
}
