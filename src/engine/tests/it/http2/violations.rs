//! Servers that break RFC 9113.

use super::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, OK, PING, PUSH_PROMISE,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, farewell, frame, greeting, head, load_http2, once,
};
use benchd_model::Outcome;

#[test]
fn every_breach_is_a_protocol_failure_and_ends_the_connection() {
    let half = frame(HEADERS, END_HEADERS, 1, OK);
    let behind_half = |rest: Vec<u8>| [half.clone(), rest].concat();
    for (what, frames) in [
        ("a frame larger than allowed", frame(DATA, 0, 1, &vec![0; 16_385])),
        ("DATA before HEADERS", frame(DATA, END_STREAM, 1, b"hello")),
        ("DATA on a stream nobody opened", frame(DATA, END_STREAM, 7, b"hello")),
        ("HEADERS on an even stream", frame(HEADERS, END_HEADERS | END_STREAM, 2, OK)),
        ("HEADERS on stream 0", frame(HEADERS, END_HEADERS | END_STREAM, 0, OK)),
        ("RST_STREAM on an idle stream", frame(RST_STREAM, 0, 9, &[0; 4])),
        ("a window that overflows", frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes())),
        ("an increment of 0", frame(WINDOW_UPDATE, 0, 0, &[0; 4])),
        (
            "HPACK beyond the table",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff, 0xff, 0x7f]),
        ),
        ("SETTINGS of a wrong length", frame(SETTINGS, 0, 0, &[0; 5])),
        ("SETTINGS on a stream", frame(SETTINGS, 0, 1, &[])),
        (
            "an ACK that nobody awaits",
            [frame(SETTINGS, 1, 0, &[]), frame(SETTINGS, 1, 0, &[])].concat(),
        ),
        (
            "another frame than CONTINUATION",
            [frame(HEADERS, END_STREAM, 1, OK), frame(DATA, END_STREAM, 1, b"")].concat(),
        ),
        ("padding longer than the frame", behind_half(frame(DATA, 8 | END_STREAM, 1, &[9, 0]))),
        ("padding without its length", behind_half(frame(DATA, 8 | END_STREAM, 1, &[]))),
        ("HEADERS without room for padding", frame(HEADERS, 8 | END_HEADERS, 1, &[5, 0x88])),
        ("HEADERS without room for a priority", frame(HEADERS, 0x20 | END_HEADERS, 1, &[0; 4])),
        ("CONTINUATION out of place", frame(CONTINUATION, END_HEADERS, 1, OK)),
        (
            "CONTINUATION of another stream",
            [frame(HEADERS, 0, 1, &[]), frame(CONTINUATION, END_HEADERS, 3, OK)].concat(),
        ),
        (
            "an unknown frame inside a field block",
            [frame(HEADERS, 0, 1, &[]), frame(0xfa, 0, 1, &[])].concat(),
        ),
        (
            "a field block without end",
            [frame(HEADERS, 0, 1, &[]), frame(CONTINUATION, 0, 1, &[0; 16_384]).repeat(5)].concat(),
        ),
        ("PUSH_PROMISE", frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
        ("push enabled", frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1])),
        ("too large a first window", frame(SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0])),
        ("too small a largest frame", frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 0x3f, 0xff])),
        (
            "a setting that lets a window overflow",
            [
                frame(WINDOW_UPDATE, 0, 1, &0x7fff_0000_u32.to_be_bytes()),
                frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0xff, 0xff]),
            ]
            .concat(),
        ),
        ("PING of a wrong length", frame(PING, 0, 0, &[0; 7])),
        ("PING on a stream", frame(PING, 0, 1, &[0; 8])),
        ("GOAWAY of a wrong length", frame(GOAWAY, 0, 0, &[0; 7])),
        (
            "GOAWAY that takes back another",
            [frame(GOAWAY, 0, 0, &farewell(1, 0)), frame(GOAWAY, 0, 0, &farewell(3, 0))].concat(),
        ),
        ("WINDOW_UPDATE of a wrong length", frame(WINDOW_UPDATE, 0, 1, &[0; 3])),
        ("RST_STREAM of a wrong length", frame(RST_STREAM, 0, 1, &[0; 3])),
        (
            "a table larger than we allow",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x3f, 0xe2, 0x1f, 0x88]),
        ),
        (
            "a table resized behind a field",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x88, 0x20]),
        ),
        (
            "Huffman with its end inside",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x08, 0x84, 0xff, 0xff, 0xff, 0xff]),
        ),
    ] {
        let server = once(frames);
        let run = load_http2(server.address, |plan| plan.requests = Some(2));
        run.all(Outcome::Protocol, 2);
        assert!(run.reasons().contains("the server sent "), "{what}: {}", run.reasons());
        assert_eq!(run.opened(), 2, "{what}");
    }
}

#[test]
fn a_malformed_response_costs_its_stream_alone() {
    let fields = |fields: &[u8]| vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, fields)];
    let begun = |rest: Vec<u8>| vec![frame(HEADERS, END_HEADERS, 1, OK), rest];
    let large = [&[0x88, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e][..], &[b'x'; 4000], &[0xbe; 20]];
    for (what, frames) in [
        ("no status", fields(&[0x00, 1, b'a', 1, b'b'])),
        ("an unknown pseudo field", fields(&[0x88, 0x00, 2, b':', b'x', 1, b'y'])),
        ("a field of one connection", fields(b"\x88\x00\x0aconnection\x05close")),
        ("an upper-case name", fields(&[0x88, 0x00, 1, b'A', 1, b'b'])),
        ("a status that is no number", fields(&head("2x0", None))),
        ("a status behind a field", fields(&[0x00, 1, b'a', 1, b'b', 0x88])),
        ("a value with a line break", fields(b"\x88\x00\x01a\x03b\r\n")),
        ("status 101", fields(&head("101", None))),
        ("an interim response that ends the stream", fields(&head("103", None))),
        ("two lengths", fields(b"\x88\x0f\x0d\x011\x0f\x0d\x012")),
        ("a head that is large only once decoded", fields(&large.concat())),
        ("trailers that do not end the stream", begun(frame(HEADERS, END_HEADERS, 1, &[]))),
        ("trailers with a status", begun(frame(HEADERS, END_HEADERS | END_STREAM, 1, OK))),
        ("a window that grows by 0", begun(frame(WINDOW_UPDATE, 0, 1, &[0; 4]))),
        ("a window that overflows", begun(frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff]))),
    ] {
        let bytes = frames.concat();
        let server = greeting(move |mut http2| {
            if let Some(stream) = http2.request() {
                assert_eq!(stream, 1);
                http2.peer.send(&bytes);
                http2.answer_all(b"hello");
            }
        });
        let run = load_http2(server.address, |_| {});
        assert_eq!((run.of(Outcome::Protocol), run.of(Outcome::Ok)), (1, 9), "{what}");
        assert!(run.reasons().contains("the server sent "), "{what}: {}", run.reasons());
        assert_eq!(run.opened(), 1, "{what}");
    }
}

#[test]
fn frames_behind_an_end_are_a_breach_and_behind_a_reset_are_not() {
    let server = once(
        [
            frame(HEADERS, END_HEADERS | END_STREAM, 1, OK),
            frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]),
            frame(RST_STREAM, 0, 1, &[0; 4]),
            frame(DATA, 0, 1, b"more"),
        ]
        .concat(),
    );
    let run = load_http2(server.address, |plan| plan.requests = Some(2));
    assert_eq!((run.of(Outcome::Ok), run.opened()), (2, 2), "{}", run.reasons());

    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            http2.send(RST_STREAM, 0, stream, &[0; 4]);
            http2.send(HEADERS, END_HEADERS, stream, OK);
            http2.send(DATA, END_STREAM, stream, b"late");
        }
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Reset, 10);
    assert_eq!(run.opened(), 1);
}
