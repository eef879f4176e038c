//! Responses from a grammar, then damaged, given to us and to hyper.

use super::super::fate::Request;
use super::disagreement;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;

const FIELDS: &[&str] = &[
    "Content-Length: 5",
    "Content-Length: 0",
    "content-length : 12",
    "Content-Length: 5, 5",
    "Content-Length: 5,6",
    "Content-Length: +5",
    "Content-Length:",
    "Content-Length: 18446744073709551614",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, Chunked",
    "Transfer-Encoding: chunked, gzip",
    "Transfer-Encoding: identity",
    "Transfer-Encoding:",
    "Connection: close",
    "Connection: keep-alive",
    "connection: upgrade, Keep-Alive",
    "Connection: x,CLOSE",
    "Server: t\u{e4}st",
    "X: folded\r\n line",
    "Keep-Alive: timeout=5",
];
const STATUSES: &[&str] = &[
    "200 OK",
    "200",
    "404 ",
    "503 Busy",
    "204 No Content",
    "304 X",
    "101 X",
    "205 X",
    "600 X",
    "099 X",
    "1000 X",
    "20 X",
];
const INTERIM: &[&str] = &[
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early\r\nLink: </a>\r\nContent-Length: 3\r\n\r\n",
    "HTTP/1.0 199\r\nConnection: close\r\n\r\n",
];

/// The cases that once failed, tried first.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/oracle.txt");

/// What a server sends; shown as text.
struct Wire(Vec<u8>);

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

fn chunked() -> impl Strategy<Value = String> {
    let extension = select(&["", ";a", "; a=\"b;\"", " \t"][..]);
    let chunks = prop::collection::vec((1usize..40, extension), 0..4);
    let trailers = select(&["", "A: b\r\n", "A: b\r\nC: d\r\n"][..]);
    (chunks, trailers).prop_map(|(chunks, trailers)| {
        let mut body = String::new();
        for (size, extension) in chunks {
            body += &format!("{size:x}{extension}\r\n{}\r\n", "z".repeat(size));
        }
        body + "0\r\n" + trailers + "\r\n"
    })
}

prop_compose! {
    fn response()(
        interim in prop::collection::vec(select(INTERIM), 0..3),
        version in prop_oneof![8 => Just("1.1"), 3 => Just("1.0"), 1 => select(&["1.2", "2.0"][..])],
        status in select(STATUSES),
        fields in prop::collection::vec(select(FIELDS), 0..4),
        end in prop_oneof![9 => Just("\r\n"), 1 => Just("\n")],
        body in prop_oneof![
            3 => chunked(),
            4 => (0usize..14).prop_map(|length| "hello world!!!"[..length].to_owned()),
        ],
        tail in prop_oneof![6 => Just(""), 1 => select(&["x", "\r\n", "HTTP/1.1 200 OK\r\n\r\n"][..])],
    ) -> Vec<u8> {
        let fields: String = fields.iter().map(|field| format!("{field}{end}")).collect();
        let head = format!("{}HTTP/{version} {status}{end}{fields}{end}", interim.concat());
        [head, body, tail.to_owned()].concat().into_bytes()
    }
}

/// Damage at one place.
#[derive(Clone, Debug)]
enum Damage {
    Replace(u8),
    Insert(u8),
    Remove(usize),
    Repeat(usize),
    Cut,
}

fn damage() -> impl Strategy<Value = Vec<(Index, Damage)>> {
    let byte = || prop_oneof![select(&b"\r\n\t :;,0159aAfFg\0\x7f\xff\"-+"[..]), any::<u8>()];
    let damage = prop_oneof![
        4 => byte().prop_map(Damage::Replace),
        4 => byte().prop_map(Damage::Insert),
        2 => (1usize..9).prop_map(Damage::Remove),
        1 => (1usize..40).prop_map(Damage::Repeat),
        1 => Just(Damage::Cut),
    ];
    prop_oneof![
        2 => Just(Vec::new()),
        3 => prop::collection::vec((any::<Index>(), damage), 1..4),
    ]
}

fn damaged(mut wire: Vec<u8>, damage: Vec<(Index, Damage)>) -> Wire {
    for (place, damage) in damage {
        if wire.is_empty() {
            break;
        }
        let at = place.index(wire.len());
        match damage {
            Damage::Replace(byte) => wire[at] = byte,
            Damage::Insert(byte) => wire.insert(at, byte),
            Damage::Remove(length) => drop(wire.drain(at..wire.len().min(at + length))),
            Damage::Repeat(length) => {
                let part = wire[at..wire.len().min(at + length)].to_vec();
                wire.splice(at..at, part);
            }
            Damage::Cut => wire.truncate(at),
        }
    }
    Wire(wire)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases * 8,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(SEEDS))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn hyper_agrees_wherever_both_accept(
        Wire(wire) in (response(), damage()).prop_map(|(wire, damage)| damaged(wire, damage)),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
        method in select(&["GET", "HEAD", "POST"][..]),
        http10 in prop::bool::weighted(0.2),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(wire.len() + 1)).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([wire.len()]);
        let pieces: Vec<&[u8]> =
            ends.scan(0, |from, to| Some(&wire[std::mem::replace(from, to)..to])).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let disagreement = runtime.block_on(disagreement(Request { method, http10 }, &pieces));
        prop_assert_eq!(disagreement, None);
    }
}

/// What the fuzzer found.
#[test]
fn an_octet_in_a_folded_list_is_a_known_difference() {
    let wire = b"HTTP/1.1 600 X\r\nTransfer-Encoding: x\n y: \xffgzip, Chunked\r\n\r\n5\r\n+\r\n";
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = Request { method: "POST", http10: true };
    assert_eq!(runtime.block_on(disagreement(request, &[wire])), None);
}
