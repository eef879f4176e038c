//! RST_STREAM of every kind.

use super::frames::{
    DATA, END_HEADERS, END_STREAM, HEADERS, Http2, MAX_CONCURRENT_STREAMS, OK, RST_STREAM, frame,
    greeting, head, load_http2,
};
use crate::support::Server;
use benchd_model::Outcome;

/// A server that resets every stream with `code`, after `before`.
fn resetting(code: u32, answer: &'static [u8]) -> Server {
    greeting(move |mut http2| {
        while let Some(stream) = http2.request() {
            if !answer.is_empty() {
                http2.send(HEADERS, END_HEADERS, stream, answer);
                http2.send(DATA, 0, stream, b"half");
            }
            http2.send(RST_STREAM, 0, stream, &code.to_be_bytes());
        }
    })
}

#[test]
fn a_reset_stream_is_classed_by_its_code_and_the_connection_goes_on() {
    for (code, outcome, words) in [
        (0, Outcome::Reset, "NO_ERROR"),
        (1, Outcome::Protocol, "PROTOCOL_ERROR"),
        (2, Outcome::Reset, "INTERNAL_ERROR"),
        (3, Outcome::Protocol, "FLOW_CONTROL_ERROR"),
        (7, Outcome::Reset, "REFUSED_STREAM, not processed"),
        (8, Outcome::Reset, "CANCEL"),
        (11, Outcome::Reset, "ENHANCE_YOUR_CALM"),
        (13, Outcome::Reset, "HTTP_1_1_REQUIRED, use protocol http1"),
        (99, Outcome::Reset, "code 99"),
    ] {
        let server = resetting(code, &[]);
        let run = load_http2(server.address, |_| {});
        run.all(outcome, 10);
        let reason = format!("{{\"the server reset the stream: {words}\": 10}}");
        assert_eq!(run.reasons(), reason);
        assert_eq!((run.opened(), run.total.bytes.body), (1, 0));
    }
}

#[test]
fn a_reset_inside_the_response_cuts_it_short() {
    for (code, outcome) in
        [(0, Outcome::Truncated), (2, Outcome::Truncated), (1, Outcome::Protocol)]
    {
        let server = resetting(code, OK);
        let run = load_http2(server.address, |plan| plan.streams = 3);
        run.all(outcome, 10);
        assert!(run.reasons().contains("inside the response"), "{}", run.reasons());
        assert_eq!(run.opened(), 1);
    }
}

#[test]
fn a_complete_answer_counts_although_the_rest_of_the_request_is_not_wanted() {
    // RFC 9113, 8.1: the server answers early and asks by NO_ERROR to stop.
    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            let answer = [
                frame(HEADERS, END_HEADERS, stream, &head("413", Some("3"))),
                frame(DATA, END_STREAM, stream, b"big"),
                frame(RST_STREAM, 0, stream, &[0; 4]),
            ];
            http2.peer.send(answer.concat());
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.request.method = "POST".into();
        plan.request.body = vec![b'x'; 1 << 20];
    });
    run.all(Outcome::Ok, 10);
    assert_eq!((run.total.status_codes[&413], run.opened()), (10, 1));
}

#[test]
fn streams_that_make_way_at_the_server_s_limit_keep_their_connection() {
    // Both answers come at once, early: until the streams are reset they count.
    let server = Server::start(|peer| {
        let Some(mut http2) = Http2::greet(peer, &[(MAX_CONCURRENT_STREAMS, 2)]) else { return };
        while let (Some(first), Some(second)) = (http2.request(), http2.request()) {
            let answer = |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, OK);
            http2.peer.send([answer(first), answer(second)].concat());
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.request.method = "POST".into();
        plan.request.body = vec![b'x'; 1 << 20];
        (plan.streams, plan.requests) = (2, Some(20));
    });
    run.all(Outcome::Ok, 20);
    assert_eq!((run.opened(), run.end.streams_achieved), (1, 2));
}

#[test]
fn a_reset_stream_leaves_its_neighbours_alone() {
    let server = greeting(|mut http2| {
        let mut number = 0;
        while let Some(stream) = http2.request() {
            number += 1;
            match number % 5 {
                0 => http2.send(RST_STREAM, 0, stream, &7_u32.to_be_bytes()),
                _ => http2.answer(stream, b"hello"),
            }
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.streams = 7;
        plan.requests = Some(100);
    });
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Reset)), (80, 20), "{}", run.reasons());
    assert_eq!((run.opened(), run.total.bytes.body), (1, 400));
}
