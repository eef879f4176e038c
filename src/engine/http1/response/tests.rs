use super::{Completed, End, Response, Step};
use crate::http1::HeadCache;
use proptest::prelude::*;

/// Everything one connection said: the complete responses, then its end.
#[derive(Debug, PartialEq)]
enum Told {
    Response(Completed),
    Ended(End),
    Malformed(&'static str),
}

fn read(method: &str, pieces: &[&[u8]]) -> Vec<Told> {
    let mut heads = HeadCache::new(method, false);
    let mut response = Response::default();
    let mut told = Vec::new();
    for piece in pieces {
        match response.feed(&mut heads, piece) {
            Ok(Step::More) => {}
            Ok(Step::Complete(done)) => told.push(Told::Response(done)),
            Err(reason) => {
                told.push(Told::Malformed(reason));
                return told;
            }
        }
    }
    told.push(Told::Ended(response.end()));
    told
}

fn ok(status: u16, body: u64, keep: bool) -> Told {
    Told::Response(Completed { status, body, keep, excess: false })
}

const RESPONSES: &[(&[u8], u16, u64)] = &[
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n", 200, 5),
    (b"HTTP/1.1 204 No Content\r\nContent-Length: 100\r\n\r\n", 204, 0),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 201 C\r\ncontent-length:2\r\n\r\nab", 201, 2),
    (b"HTTP/1.1 404 Not Found\nContent-Length: 1\n\nx", 404, 1),
    (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, 0),
];

#[test]
fn a_response_is_the_same_split_at_every_byte() {
    for (wire, status, body) in RESPONSES {
        for at in 0..=wire.len() {
            let (left, right) = wire.split_at(at);
            let told = read("GET", &[left, right]);
            assert_eq!(told, [ok(*status, *body, true), Told::Ended(End::Nothing)], "{at}");
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(read("GET", &bytes)[0], ok(*status, *body, true));
    }
}

#[test]
fn a_connection_closed_at_every_byte_is_truncated_and_never_complete() {
    for (wire, ..) in RESPONSES {
        for at in 1..wire.len() {
            assert_eq!(read("GET", &[&wire[..at]]), [Told::Ended(End::Truncated)], "{at}");
        }
        assert_eq!(read("GET", &[b""]), [Told::Ended(End::Nothing)]);
    }
}

#[test]
fn without_length_the_close_is_the_end() {
    let told = read("GET", &[b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"]);
    assert_eq!(
        told,
        [Told::Ended(End::Complete(Completed {
            status: 200,
            body: 6,
            keep: false,
            excess: false,
        }))]
    );
}

#[test]
fn answers_to_head_have_no_body() {
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    assert_eq!(read("HEAD", &[wire])[0], ok(200, 0, true));
}

#[test]
fn bytes_behind_a_response_forbid_reuse() {
    let told = read("GET", &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc"]);
    let expected = Completed { status: 200, body: 2, keep: false, excess: true };
    assert_eq!(told[0], Told::Response(expected));
}

#[test]
fn other_protocols_are_named_at_their_first_bytes() {
    for (wire, word) in [
        (&b"\x15\x03\x01\x00\x02\x02\x16"[..], "https"),
        (b"\x16\x03", "https"),
        (b"\0\0\x12\x04\0\0\0\0\0", "HTTP/2"),
        (b"SSH-2.0-OpenSSH_9\r\n", "SSH"),
        (b"<html>", "HTTP/0.9"),
        (b"HTTP/2 200\r\n", "version"),
        (b"HTTP/1.10 200 OK\r\n\r\n", "version"),
        (b"\r\n\r\n", "no HTTP"),
        (b"HTTP/1.1 20x OK\r\n\r\n", "status"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "conflicting"),
    ] {
        match read("GET", &[wire]).as_slice() {
            [Told::Malformed(reason)] => assert!(reason.contains(word), "{reason}"),
            other => panic!("{word}: {other:?}"),
        }
    }
}

#[test]
fn an_endless_head_is_refused() {
    let line = b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    let mut pieces: Vec<&[u8]> = vec![b"HTTP/1.1 200 OK\r\n"];
    pieces.extend(std::iter::repeat_n(&line[..], 2000));
    let told = read("GET", &pieces);
    assert_eq!(told, [Told::Malformed("a response head larger than 64 KiB")]);
    let whole: Vec<u8> = [pieces.concat(), b"\r\n".to_vec()].concat();
    assert_eq!(read("GET", &[&whole]), told);
}

#[test]
fn a_partial_head_is_freed_when_it_is_whole() {
    let mut heads = HeadCache::new("GET", false);
    let mut response = Response::default();
    response.feed(&mut heads, b"HTTP/1.1 200 OK\r\nContent-").unwrap();
    assert!(response.begun());
    response.feed(&mut heads, b"Length: 3\r\n\r\nabc").unwrap();
    assert_eq!(response.partial.capacity(), 0);
    assert!(!response.begun());
}

proptest! {
    #[test]
    fn a_stream_of_responses_survives_random_splits(
        order in prop::collection::vec(0..RESPONSES.len(), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        // A client never has two responses due, so a piece ends where one ends.
        let mut heads = HeadCache::new("GET", false);
        let mut parser = Response::default();
        for (turn, which) in order.iter().enumerate() {
            let (wire, status, body) = RESPONSES[*which];
            let mut at: Vec<usize> =
                cuts.iter().skip(turn).map(|cut| cut.index(wire.len())).collect();
            at.sort_unstable();
            at.push(wire.len());
            at.dedup();
            let mut from = 0;
            let mut last = Step::More;
            for to in at {
                prop_assert_eq!(last, Step::More);
                last = parser.feed(&mut heads, &wire[from..to]).unwrap();
                from = to;
            }
            let done = Completed { status, body, keep: true, excess: false };
            prop_assert_eq!(last, Step::Complete(done));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..10),
    ) {
        let mut wire: Vec<&[u8]> = vec![b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"];
        wire.extend(pieces.iter().map(Vec::as_slice));
        read("GET", &wire);
        read("GET", &wire[1..]);
    }
}

#[test]
fn a_body_of_known_length_may_be_taken_unseen() {
    let mut heads = HeadCache::new("GET", false);
    let mut response = Response::default();
    assert_eq!(response.left(), 0);
    let start = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe";
    assert_eq!(response.feed(&mut heads, start), Ok(Step::More));
    assert_eq!((response.left(), response.skip(4), response.left()), (7, Step::More, 3));
    let Step::Complete(completed) = response.skip(3) else { panic!("it is complete") };
    assert_eq!((completed.body, completed.keep, completed.excess), (9, true, false));
    assert!(!response.begun());
}
