//! Servers that break RFC 9113.

use super::frames::{
    DATA, END_HEADERS, END_STREAM, HEADERS, OK, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, head,
    load_http2, once,
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
    for (what, fields) in [
        ("no status", vec![0x00, 1, b'a', 1, b'b']),
        ("an unknown pseudo field", [&[0x88, 0x00, 2, b':', b'x', 1, b'y'][..]].concat()),
        (
            "a field of one connection",
            [&[0x88, 0x00, 10][..], b"connection", &[5], b"close"].concat(),
        ),
        ("an upper-case name", [&[0x88, 0x00, 1, b'A', 1, b'b'][..]].concat()),
        ("a status that is no number", head("2x0", None)),
    ] {
        let server = once(frame(HEADERS, END_HEADERS | END_STREAM, 1, &fields));
        let run = load_http2(server.address, |plan| plan.requests = Some(1));
        run.all(Outcome::Protocol, 1);
        assert!(run.reasons().contains("forbids"), "{what}: {}", run.reasons());
    }
}
