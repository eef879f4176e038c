//! When a response is complete, and what its length may be.

use super::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, INITIAL_WINDOW_SIZE, OK, PADDED,
    PING, WINDOW_UPDATE, frame, greeting, head, load_http2,
};
use crate::support::Server;
use benchd_model::Outcome;

/// A server that answers every request with the same frames.
fn answering(frames: Vec<(u8, u8, Vec<u8>)>) -> Server {
    greeting(move |mut http2| {
        while let Some(stream) = http2.request() {
            let bytes: Vec<u8> = frames
                .iter()
                .flat_map(|(kind, flags, payload)| frame(*kind, *flags, stream, payload))
                .collect();
            http2.peer.send(bytes);
        }
    })
}

#[test]
fn responses_without_content_end_with_their_head() {
    for (method, status, length) in [
        ("HEAD", "200", Some("612")),
        ("GET", "204", None),
        ("GET", "304", Some("612")),
        ("GET", "200", Some("0")),
        ("GET", "200", None),
    ] {
        let head = head(status, length);
        let server = answering(vec![(HEADERS, END_HEADERS | END_STREAM, head)]);
        let run = load_http2(server.address, |plan| plan.request.method = method.into());
        run.all(Outcome::Ok, 10);
        assert_eq!((run.opened(), run.total.bytes.body), (1, 0), "{method} {status}");
    }
}

#[test]
fn interim_responses_trailers_and_padding_are_no_content() {
    let server = answering(vec![
        (HEADERS, END_HEADERS, head("100", None)),
        (HEADERS, END_HEADERS, head("103", None)),
        (HEADERS, END_HEADERS, head("200", Some("5"))),
        (DATA, PADDED, [&[200][..], b"he", &[0; 200]].concat()),
        (DATA, 0, Vec::new()),
        (DATA, PADDED, [&[0][..], b"llo"].concat()),
        // `a: b` in HPACK.
        (HEADERS, END_HEADERS | END_STREAM, vec![0x00, 1, b'a', 1, b'b']),
    ]);
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.bytes.body, run.total.status_codes[&200]), (1, 50, 10));
}

#[test]
fn a_body_of_another_length_than_announced_is_malformed() {
    for (length, body) in [("4", &b"hello"[..]), ("6", b"hello"), ("5", b""), ("x", b"hello")] {
        let server = answering(vec![
            (HEADERS, END_HEADERS, head("200", Some(length))),
            (DATA, END_STREAM, body.to_vec()),
        ]);
        let run = load_http2(server.address, |_| {});
        run.all(Outcome::Protocol, 10);
        assert!(run.reasons().contains("Content-Length"), "{}", run.reasons());
    }
    let server = answering(vec![(HEADERS, END_HEADERS | END_STREAM, head("200", Some("5")))]);
    load_http2(server.address, |_| {}).all(Outcome::Protocol, 10);
}

#[test]
fn statuses_are_counted_and_expected_ones_known() {
    let server = greeting(|mut http2| {
        let mut number = 0;
        while let Some(stream) = http2.request() {
            number += 1;
            let status = if number % 5 == 0 { "503" } else { "200" };
            // With a `server` field.
            let fields = [&head(status, None)[..], &[0x0f, 0x27, 1, b's']].concat();
            http2.send(HEADERS, END_HEADERS | END_STREAM, stream, &fields);
        }
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!((run.total.status_codes[&200], run.total.status_codes[&503]), (8, 2));
    assert_eq!(run.total.unexpected_status, 2);
    assert_eq!(run.end.first_response.unwrap().software.as_deref(), Some("s"));
}

#[test]
fn a_large_body_is_never_held_up_by_us() {
    const PIECES: usize = 2000;
    // No WINDOW_UPDATE of a stream is awaited: 32 MB must pass without.
    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            http2.send(HEADERS, END_HEADERS, stream, OK);
            for piece in 0..PIECES {
                let flags = if piece == PIECES - 1 { END_STREAM } else { 0 };
                http2.send(DATA, flags, stream, &[b'x'; 16_384]);
            }
        }
    });
    let run = load_http2(server.address, |plan| plan.requests = Some(3));
    run.all(Outcome::Ok, 3);
    assert_eq!(run.total.bytes.body, 3 * 16_384 * PIECES as u64);
    assert!(run.total.ttfb.max_us() <= run.total.latency.max_us());
}

#[test]
fn a_request_body_is_sent_as_the_windows_allow() {
    const LENGTH: usize = 300_000;
    let server = greeting(|mut http2| {
        let mut received = 0;
        while let Some(Frame { kind, flags, stream, payload }) = http2.frame() {
            if kind != DATA {
                continue;
            }
            received += payload.len();
            let more = (payload.len() as u32).to_be_bytes();
            if !payload.is_empty() {
                http2.send(WINDOW_UPDATE, 0, 0, &more);
                http2.send(WINDOW_UPDATE, 0, stream, &more);
            }
            if flags & END_STREAM > 0 && received == LENGTH {
                received = 0;
                http2.answer(stream, b"");
            }
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.request.method = "PUT".into();
        plan.request.body = vec![b'x'; LENGTH];
        plan.requests = Some(5);
    });
    run.all(Outcome::Ok, 5);
    assert!(run.total.bytes.sent > 5 * LENGTH as u64);
}

#[test]
fn a_head_may_come_in_many_frames() {
    let block = [&head("200", Some("5"))[..], b"\x40\x01a\x01b"].concat();
    let mut frames = vec![(HEADERS, 0, Vec::new())];
    frames.extend(block.iter().map(|octet| (CONTINUATION, 0, vec![*octet])));
    frames.push((CONTINUATION, END_HEADERS, Vec::new()));
    // Padded, and with a priority.
    let padding = [&[7, 0, 0, 0, 3, 16][..], &head("103", None), &[0; 7]].concat();
    frames.insert(0, (HEADERS, END_HEADERS | PADDED | 0x20, padding));
    frames.push((DATA, END_STREAM, b"hello".to_vec()));
    let server = answering(frames);
    let run = load_http2(server.address, |plan| plan.streams = 3);
    run.all(Outcome::Ok, 10);
    assert_eq!((run.opened(), run.total.bytes.body), (1, 50));
}

#[test]
fn windows_that_shrink_below_nothing_hold_the_body_until_they_are_open_again() {
    const LENGTH: usize = 100_000;
    let server = greeting(|mut http2| {
        while let Some(stream) = http2.request() {
            let mut received = 0;
            while received < 65_535 {
                received += http2.await_kind(DATA).map_or(65_535, |frame| frame.payload.len());
            }
            http2.settings(&[(INITIAL_WINDOW_SIZE, 10)]);
            http2.send(WINDOW_UPDATE, 0, 0, &(LENGTH as u32).to_be_bytes());
            http2.send(WINDOW_UPDATE, 0, stream, &65_525_u32.to_be_bytes());
            http2.seen.clear();
            // What the windows let out may come behind the first answer.
            for _ in 0..2 {
                http2.send(PING, 0, 0, &[1; 8]);
                http2.await_kind(PING);
            }
            let early = http2.seen.iter().filter(|frame| frame.kind == DATA).count();
            http2.send(WINDOW_UPDATE, 0, stream, &(LENGTH as u32).to_be_bytes());
            while received < LENGTH {
                received += http2.await_kind(DATA).map_or(LENGTH, |frame| frame.payload.len());
            }
            let status = if early == 0 && received == LENGTH { "200" } else { "500" };
            http2.settings(&[(INITIAL_WINDOW_SIZE, 65_535)]);
            http2.send(HEADERS, END_HEADERS | END_STREAM, stream, &head(status, None));
        }
    });
    let run = load_http2(server.address, |plan| {
        plan.request.method = "PUT".into();
        plan.request.body = vec![b'x'; LENGTH];
        plan.requests = Some(3);
    });
    run.all(Outcome::Ok, 3);
    assert_eq!((run.total.status_codes[&200], run.opened()), (3, 1));
}
