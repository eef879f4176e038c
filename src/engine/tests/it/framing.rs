//! Where a response ends: RFC 9112, section 6, over real sockets.

use crate::script::Step::{Again, Dribble, Endless, Fin, Hold, Read, Rst, Say};
use crate::script::{Case, NONE_GOOD, TEN_CLOSED, TEN_GOOD, cases};
use crate::support::{Server, load};
use benchd_engine::Plan;
use benchd_model::Outcome::{self, Protocol, Timeout, Truncated};
use std::net::Shutdown;
use std::time::Duration;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhello";
const LENGTH_100: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
const LENGTH_10000: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n";
const CHUNKS_FOLLOW: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNKS: &[u8] = b"3;a=\"b;\"\r\nhel\r\n02 \r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n";
const INTERIM: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

const UNASKED: &str = "after a complete response";

/// Ten responses that end before they are complete.
const TEN_CUT: Case = Case { counts: &[(Truncated, 10)], ..NONE_GOOD };

/// Ten answers that are none.
const TEN_REFUSED: Case = Case { counts: &[(Protocol, 10)], ..NONE_GOOD };

/// Two requests, each given up after a tenth of a second.
const TWO_TIMEOUTS: Case = Case {
    plan: |plan| (plan.requests, plan.timeout) = (Some(2), Duration::from_millis(100)),
    counts: &[(Timeout, 2)],
    connections: 2,
    says: "response not complete within 100ms",
    ..NONE_GOOD
};

fn head(plan: &mut Plan) {
    plan.request.method = "HEAD".into();
}

cases! {
    length_dribbled: TEN_GOOD [Read, Dribble(HELLO), Again];
    length_of_zero: TEN_GOOD
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Again], body: 0;
    length_repeated: TEN_GOOD
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello"), Again];
    chunked: TEN_GOOD [Read, Say(CHUNKS_FOLLOW), Say(CHUNKS), Again];
    chunked_dribbled: TEN_GOOD [Read, Dribble(CHUNKS_FOLLOW), Dribble(CHUNKS), Again];
    chunked_overrides_a_length: TEN_GOOD
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"), Say(CHUNKS), Again];
    lines_that_end_in_lf: TEN_GOOD
        [Read, Dribble(b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"), Again];
    no_reason_phrase: TEN_GOOD
        [Read, Say(b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"), Again];
    later_minor_version: TEN_GOOD
        [Read, Say(b"HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello"), Again];

    said_before_the_request: TEN_GOOD [Dribble(HELLO), Hold],
        plan: |plan| plan.requests = Some(1), counts: &[(Outcome::Ok, 1)], body: 5, kept: 1, statuses: &[(200, 1)];
    said_at_length_before_the_request: TEN_GOOD [Say(LENGTH_10000), Say(&[b'x'; 10_000]), Hold],
        plan: |plan| plan.requests = Some(1), counts: &[(Outcome::Ok, 1)], body: 10_000, kept: 1, statuses: &[(200, 1)];

    until_close: TEN_CLOSED [Read, Say(UNTIL_CLOSE)];
    until_close_dribbled: TEN_CLOSED [Read, Dribble(UNTIL_CLOSE)];
    until_half_close: TEN_CLOSED [Read, Say(UNTIL_CLOSE), Fin, Hold];
    until_close_and_empty: TEN_CLOSED [Read, Say(b"HTTP/1.1 200 OK\r\n\r\n")], body: 0;
    until_close_by_another_coding: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhello")];

    no_body_for_head: TEN_GOOD [Read, Say(LENGTH_100), Again], plan: head, body: 0;
    no_body_in_204: TEN_GOOD
        [Read, Say(b"HTTP/1.1 204 No Content\r\nContent-Length: 100\r\n\r\n"), Again],
        body: 0, statuses: &[(204, 10)];
    no_body_in_304: TEN_GOOD
        [Read, Say(b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"), Again],
        body: 0, statuses: &[(304, 10)];
    no_http_after_101: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), Hold],
        body: 0, statuses: &[(101, 10)];
    statuses_without_a_meaning_are_final: TEN_GOOD
        [Read, Say(b"HTTP/1.1 600 ?\r\nContent-Length: 5\r\n\r\nhello"),
         Read, Say(b"HTTP/1.1 099 ?\r\nContent-Length: 5\r\n\r\nhello"), Again],
        statuses: &[(99, 5), (600, 5)];

    interim_responses: TEN_GOOD [Read, Say(INTERIM), Say(HELLO), Again];
    interim_responses_dribbled: TEN_GOOD [Read, Dribble(INTERIM), Dribble(HELLO), Again];
    interim_responses_without_an_answer: TEN_CUT [Read, Say(INTERIM)];
    interim_responses_without_end: TWO_TIMEOUTS [Read, Endless(INTERIM)];

    cut_at_3_of_100_bytes: TEN_CUT [Read, Say(LENGTH_100), Say(b"abc")];
    cut_in_the_version: TEN_CUT [Read, Say(b"H")];
    cut_in_the_head: TEN_CUT [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Le")];
    cut_between_chunks: TEN_CUT [Read, Say(CHUNKS_FOLLOW), Say(b"5\r\nhello\r\n")];
    cut_in_the_trailers: TEN_CUT [Read, Say(CHUNKS_FOLLOW), Say(b"0\r\nA: b\r\n")];
    reset_in_the_head: TEN_CUT [Read, Say(b"HTTP/1.1 200 OK\r\n"), Rst], says: "reset by peer";
    reset_in_a_length: TEN_CUT [Read, Say(LENGTH_100), Rst], says: "reset by peer";
    reset_in_a_body_until_close: TEN_CUT [Read, Say(UNTIL_CLOSE), Rst], says: "reset by peer";

    a_byte_too_many: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!"), Hold], says: UNASKED;
    a_second_answer: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n"), Hold],
        says: UNASKED;
    a_line_end_behind_the_last_chunk: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n\r\n"), Hold],
        says: UNASKED;
    a_body_in_204: TEN_CLOSED
        [Read, Say(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"), Hold],
        body: 0, statuses: &[(204, 10)], says: UNASKED;
    a_body_for_head: TEN_CLOSED [Read, Say(HELLO), Hold], plan: head, body: 0, says: UNASKED;

    endless_fields: TEN_REFUSED
        [Read, Say(b"HTTP/1.1 200 OK\r\n"), Endless(b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")],
        says: "larger than 64 KiB";
    endless_field: TEN_REFUSED
        [Read, Say(b"HTTP/1.1 200 OK\r\nX: "), Endless(&[b'a'; 1000])], says: "larger than 64 KiB";
    endless_chunk_extension: TEN_REFUSED
        [Read, Say(CHUNKS_FOLLOW), Say(b"5;"), Endless(&[b'a'; 1000])], says: "longer than 16 KiB";
    endless_chunk_size: TEN_REFUSED
        [Read, Say(CHUNKS_FOLLOW), Endless(&[b'0'; 1000])], says: "longer than 16 KiB";
    endless_trailers: TEN_REFUSED
        [Read, Say(CHUNKS_FOLLOW), Say(b"0\r\n"), Endless(b"A: b\r\n")], says: "larger than 64 KiB";
    endless_chunks: TWO_TIMEOUTS [Read, Say(CHUNKS_FOLLOW), Endless(b"1\r\nx\r\n")];
    endless_body: TWO_TIMEOUTS [Read, Say(UNTIL_CLOSE), Endless(&[b'x'; 100_000])];
}

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
fn large_bodies_may_change_their_size_their_framing_and_their_end() {
    const SIZE: usize = 100_000;
    let body = vec![b'x'; SIZE];
    let large =
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes(), &body].concat();
    let chunked =
        [CHUNKS_FOLLOW, format!("{SIZE:x}\r\n").as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let cut = large[..large.len() - 1].to_vec();
    let exceeding = [&large[..], b"?"].concat();
    // Per connection: what it answers, and then closes.
    let scripts: [Vec<Vec<u8>>; 3] = [
        vec![large.clone(), HELLO.to_vec(), large.clone(), chunked.clone(), large.clone(), cut],
        vec![chunked, large.clone(), exceeding],
        vec![large.clone(), large.clone(), HELLO.to_vec(), large],
    ];
    let server = Server::start(move |mut peer| {
        let script = scripts.get(peer.number).map_or(&[][..], |script| script);
        for answer in script {
            if peer.request().is_none() {
                return;
            }
            peer.send(answer);
        }
        // The last bytes must not be lost to a reset.
        peer.stream.shutdown(Shutdown::Write).ok();
        peer.hold();
    });
    let run = load(server.address, |plan| plan.requests = Some(13));
    assert_eq!((run.of(Outcome::Ok), run.of(Truncated)), (12, 1), "{}", run.reasons());
    assert_eq!((run.opened(), run.total.bytes.body), (3, 10 * SIZE as u64 + 10));
    assert!(run.end.notes.iter().any(|note| note.contains(UNASKED)), "{:?}", run.end.notes);
}
