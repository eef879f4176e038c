//! Byte by byte, in every order, and against the h2 crate.

mod server;

use super::super::fate::{Fate, fates};
use super::super::oracle::disagreement;
use super::super::settings::WINDOW;
use super::{Connection, HIGHEST, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::runtime::Builder;

const STREAMS: usize = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags];
    [&head, &stream.to_be_bytes()[..], payload].concat()
}

fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// Field blocks: of heads, of trailers, of neither.
fn block() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => Just(vec![0x88]),
        2 => Just(vec![0x89]),
        1 => Just(b"\x08\x03103".to_vec()),
        // `content-length: 5`, also as an entry of the table.
        3 => Just(b"\x88\x0f\x0d\x015".to_vec()),
        3 => Just(b"\x88\x5c\x015".to_vec()),
        2 => Just(b"\x88\xbe".to_vec()),
        2 => Just(b"\x40\x01a\x01b".to_vec()),
        1 => Just(b"\x20\x3f\xe1\x1f\x88\x40\x01a\x01b".to_vec()),
        1 => vec(any::<u8>(), 0..12),
    ]
}

/// One frame of any kind, most of them in order.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![9 => (0..STREAMS as u32).prop_map(|n| 2 * n + 1), 1 => 0..12_u32];
    let headers = (block(), 0..4_u8, 0..3_u8, stream.clone());
    let headers = headers.prop_map(|(block, ends, padding, stream)| {
        let flags = (ends & 1) | 4;
        match (ends, padding) {
            (2, _) => {
                let (left, right) = block.split_at(block.len() / 2);
                [frame(1, 0, stream, left), frame(9, 4, stream, right)].concat()
            }
            (_, 0) => frame(1, flags, stream, &block),
            (_, 1) => frame(1, flags | 8, stream, &[&[3][..], &block, &[0; 3]].concat()),
            _ => frame(1, flags | 0x20, stream, &[&[0, 0, 0, 0, 9][..], &block].concat()),
        }
    });
    let data = (0..7_usize, 0..4_u8, stream.clone()).prop_map(|(length, flags, stream)| {
        let payload = vec![b'x'; length];
        match flags {
            0..2 => frame(0, flags, stream, &payload),
            _ => frame(0, (flags & 1) | 8, stream, &[&[2][..], &payload, &[0; 2]].concat()),
        }
    });
    let end = (stream.clone(), prop_oneof![Just(0_u8), Just(5)])
        .prop_map(|(stream, length)| frame(0, 1, stream, &vec![b'x'; length.into()]));
    let other = (0..12_u8, any::<u8>(), stream, vec(any::<u8>(), 0..9))
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    let about_all = prop_oneof![
        Just(frame(6, 0, 0, &[7; 8])),
        Just(frame(8, 0, 0, &[0, 0, 1, 0])),
        Just(frame(4, 0, 0, &[0, 4, 0, 0, 0, 9])),
        Just(frame(0xfa, 3, 5, &[1; 20])),
        (1..10_u8).prop_map(|last| frame(7, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0])),
        Just(frame(3, 0, 3, &[0, 0, 0, 8])),
    ];
    prop_oneof![5 => headers, 4 => data, 4 => end, 2 => about_all, 1 => other]
}

fn connection() -> impl Strategy<Value = Vec<u8>> {
    vec(any_frame(), 0..14).prop_map(|frames| [settings(), frames.concat()].concat())
}

fn check_splits(method: &str, bytes: &[u8], cut: Index) {
    let whole = fates(method, STREAMS, &[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(fates(method, STREAMS, &single), whole, "byte by byte");
    let (left, right) = bytes.split_at(cut.index(bytes.len() + 1));
    assert_eq!(fates(method, STREAMS, &[left, right]), whole, "split at {}", left.len());
}

fn check_oracle(bytes: &[u8]) {
    let runtime = Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(disagreement(STREAMS, bytes)), None);
}

proptest! {
    #[test]
    fn no_split_changes_anything(
        bytes in connection(),
        cut in any::<Index>(),
        is_head in any::<bool>(),
    ) {
        check_splits(if is_head { "HEAD" } else { "GET" }, &bytes, cut);
    }

    #[test]
    fn the_oracle_agrees(bytes in connection()) {
        check_oracle(&bytes);
    }

    #[test]
    fn no_change_of_bytes_does_harm(
        mut bytes in connection(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Index>(),
    ) {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check_splits("GET", &bytes, cut);
        check_oracle(&bytes);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..200), cut in any::<Index>()) {
        check_splits("GET", &[settings(), bytes].concat(), cut);
    }
}

fn complete(status: u16, body: u64) -> Fate {
    Fate::Complete { status, body }
}

#[test]
fn a_response_is_complete_with_the_last_octet_of_its_last_frame() {
    let wire = [settings(), frame(1, 4, 1, b"\x88\x0f\x0d\x015"), frame(0, 9, 1, b"\x02hello\0\0")]
        .concat();
    for length in 0..wire.len() {
        let begun = length >= 9 + 9 + 5;
        assert_eq!(fates("GET", 1, &[&wire[..length]]).0, [Fate::Unanswered { begun }]);
    }
    assert_eq!(fates("GET", 1, &[&wire]).0, [complete(200, 5)]);
}

/// The fate of one request to which these frames came.
fn fate(method: &str, frames: &[Vec<u8>]) -> Fate {
    let wire = [settings(), frames.concat()].concat();
    fates(method, 1, &[&wire]).0[0]
}

#[test]
fn content_must_be_as_long_as_it_says_and_trailers_do_not_change_that() {
    let head = |flags| frame(1, flags, 1, b"\x88\x0f\x0d\x015");
    let trailers = frame(1, 5, 1, b"\x00\x01a\x01b");
    let data = |flags, length| frame(0, flags, 1, &vec![b'x'; length]);
    assert_eq!(fate("GET", &[head(4), data(0, 5), trailers.clone()]), complete(200, 5));
    assert_eq!(fate("GET", &[head(4), data(0, 4), trailers.clone()]), Fate::Refused);
    assert_eq!(fate("GET", &[head(4), trailers]), Fate::Refused);
    assert_eq!(fate("GET", &[head(4), data(0, 6)]), Fate::Refused);
    assert_eq!(fate("GET", &[head(5)]), Fate::Refused);
    // Without content by definition (RFC 9110, 6.4.1).
    assert_eq!(fate("HEAD", &[head(5)]), complete(200, 0));
    assert_eq!(fate("HEAD", &[head(4), data(1, 0)]), complete(200, 0));
    assert_eq!(fate("HEAD", &[head(4), data(1, 5)]), Fate::Refused);
    let none = |index: u8| frame(1, 4, 1, &[index, 0x0f, 0x0d, 1, b'5']);
    // 204 and 304.
    for (index, status) in [(0x89, 204), (0x8b, 304)] {
        assert_eq!(fate("GET", &[none(index), data(1, 0)]), complete(status, 0));
        assert_eq!(fate("GET", &[none(index), data(1, 5)]), Fate::Refused);
    }
}

#[test]
fn a_server_that_takes_no_answers_is_not_listened_to_for_long() {
    let mut connection = Connection::new(&Request::for_test("GET"));
    let questions = frame(6, 0, 0, &[7; 8]).repeat(3000);
    assert_eq!(connection.next(&mut &settings()[..]), None);
    let mut asked = 0;
    while !connection.is_congested() && asked < 10 {
        assert_eq!(connection.next(&mut &questions[..]), None);
        asked += 1;
    }
    assert!(asked < 10 && connection.memory() < 400_000, "{}", connection.memory());
    // Our greeting, an ACK and the answers.
    assert_eq!(connection.position(), 24 + 27 + 13 + 9 + asked * 3000 * 17);
    connection.written(connection.pending().len());
    assert!(!connection.is_congested() && connection.memory() == 0);
}

#[test]
fn stream_numbers_are_used_up_once() {
    let request = Request::for_test("GET");
    let mut connection = Connection::new(&request);
    connection.next = HIGHEST;
    assert!(connection.is_open());
    assert_eq!(connection.open(&request, 0), HIGHEST);
    assert!(!connection.is_open());
}

#[test]
fn windows_of_the_server_are_opened_again_before_they_are_used_up() {
    let request = Request::for_test("GET");
    let mut connection = Connection::new(&request);
    let stream = connection.open(&request, 0);
    connection.written(connection.pending().len());
    let wire = [settings(), frame(1, 4, stream, &[0x88])].concat();
    connection.next(&mut &wire[..]);
    connection.written(connection.pending().len());
    let piece = frame(0, 0, stream, &[b'x'; 16_384]);
    let pieces = (WINDOW / 2).div_ceil(16_384);
    for number in 1..=pieces {
        assert_eq!(connection.next(&mut &piece[..]), None);
        assert_eq!(connection.pending().is_empty(), number < pieces, "{number}");
    }
    let more = (pieces * 16_384).to_be_bytes();
    let updates = [frame(8, 0, 0, &more), frame(8, 0, stream, &more)].concat();
    assert_eq!(connection.pending(), updates);
}
