//! The decision table of RFC 9110 and RFC 9112: what a connection's bytes and
//! its end come to, for status × framing × persistence × versions × end of the
//! body, and the same wherever the bytes are split.

use crate::http1::MAX_HEAD;
use crate::http1::fate::{Fate, Request, fate};

const fn ok(status: u16, body: u64, keep: bool) -> Fate {
    Fate::Complete { status, body, keep }
}

const GET: Request = Request { method: "GET", http10: false };

#[track_caller]
fn assert_fate(request: Request, wire: &[u8], expected: Fate) {
    let shown = String::from_utf8_lossy(&wire[..wire.len().min(300)]);
    assert_eq!(fate(request, &[wire]), expected, "{request:?} {shown:?}");
}

/// Checks the case whole, byte by byte, and split in two at every position.
#[track_caller]
fn assert_fate_in_any_split(request: Request, wire: &[u8], expected: Fate) {
    assert_fate(request, wire, expected);
    let shown = String::from_utf8_lossy(wire);
    let bytes: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(fate(request, &bytes), expected, "byte by byte: {request:?} {shown:?}");
    for at in 0..=wire.len() {
        let (left, right) = wire.split_at(at);
        assert_eq!(fate(request, &[left, right]), expected, "at {at}: {request:?} {shown:?}");
    }
}

/// Where framing fields put the end of a body.
#[derive(Clone, Copy, Debug)]
enum Means {
    Length(u64),
    Chunked(u64),
    UntilClose,
    Faulty,
}
use Means::{Chunked, Faulty, Length, UntilClose};

const CHUNKS: &str = "3\r\nhel\r\n02;a=\"b\"\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n";

/// Fields, the body as it is sent, what they mean.
const FRAMINGS: &[(&str, &str, Means)] = &[
    ("", "hello", UntilClose),
    ("Content-Length: 5\r\n", "hello", Length(5)),
    ("content-length:5\t \r\n", "hello", Length(5)),
    ("CONTENT-LENGTH: 005\r\n", "hello", Length(5)),
    ("Content-Length: 0\r\n", "", Length(0)),
    ("Content-Length: 5\r\nContent-Length: 5\r\n", "hello", Length(5)),
    ("Content-Length: 5, 5 ,5\r\n", "hello", Length(5)),
    ("Content-Length: 5\r\nContent-Length: 6\r\n", "hello", Faulty),
    ("Content-Length: 5, 6\r\n", "hello", Faulty),
    ("Content-Length: 5,\r\n", "hello", Faulty),
    ("Content-Length: -5\r\n", "hello", Faulty),
    ("Content-Length: +5\r\n", "hello", Faulty),
    ("Content-Length: 5 5\r\n", "hello", Faulty),
    ("Content-Length: 0x5\r\n", "hello", Faulty),
    ("Content-Length: 5.0\r\n", "hello", Faulty),
    ("Content-Length: \"5\"\r\n", "hello", Faulty),
    ("Content-Length:\r\n", "hello", Faulty),
    ("Content-Length: 18446744073709551616\r\n", "hello", Faulty),
    ("Content-Length: x\r\nContent-Length: 5\r\n", "hello", Faulty),
    ("Transfer-Encoding: chunked\r\n", CHUNKS, Chunked(5)),
    ("transfer-encoding:\tCHUNKED\r\n", CHUNKS, Chunked(5)),
    ("Transfer-Encoding: gzip, chunked\r\n", CHUNKS, Chunked(5)),
    ("Transfer-Encoding: ,chunked,,\r\n", CHUNKS, Chunked(5)),
    ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", CHUNKS, Chunked(5)),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", CHUNKS, Chunked(5)),
    ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", CHUNKS, Chunked(5)),
    ("Content-Length: 5, nonsense\r\nTransfer-Encoding: chunked\r\n", CHUNKS, Chunked(5)),
    ("Transfer-Encoding: chunked, gzip\r\n", "hello", UntilClose),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", "hello", UntilClose),
    ("Transfer-Encoding: identity\r\nContent-Length: 3\r\n", "hello", UntilClose),
    ("Transfer-Encoding: xchunked\r\n", "hello", UntilClose),
    ("Transfer-Encoding:\r\nContent-Length: 3\r\n", "hello", UntilClose),
    ("Transfer-Encoding: chunked;level=9\r\n", CHUNKS, Faulty),
];

/// Fields, and whether they ask to stay; none when they say nothing.
const PERSISTENCE: &[(&str, Option<bool>)] = &[
    ("", None),
    ("Connection: close\r\n", Some(false)),
    ("CONNECTION: CLOSE\r\n", Some(false)),
    ("Connection: keep-alive\r\n", Some(true)),
    ("connection: Upgrade,Keep-Alive\r\n", Some(true)),
    ("Connection: keep-alive, close\r\n", Some(false)),
    ("Connection: close\r\nConnection: keep-alive\r\n", Some(false)),
    ("Connection: x\r\nConnection:\tclose\r\n", Some(false)),
    ("Connection: closed, unkeep-alive,\r\n", None),
    ("Keep-Alive: timeout=5\r\nProxy-Connection: close\r\n", None),
];

/// A status line's end, its status, and whether it never has a body.
const STATUSES: &[(&[u8], u16, bool)] = &[
    (b"200 OK", 200, false),
    (b"201", 201, false),
    (b"404 ", 404, false),
    (b"302 caf\xe9 \xff\tau lait", 302, false),
    (b"205 Reset Content", 205, false),
    (b"503 HTTP/1.1 200 OK", 503, false),
    (b"204 No Content", 204, true),
    (b"304 Not Modified", 304, true),
    (b"101 Switching Protocols", 101, true),
    (b"599 x", 599, false),
    (b"600 x", 600, false),
    (b"999 x", 999, false),
    (b"099 x", 99, false),
    (b"000 x", 0, false),
];

const INTERIM: &[&str] = &[
    "",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n\
     HTTP/1.0 102 Processing\r\nConnection: close\r\n\r\nHTTP/1.1 199\r\n\r\n",
];

const TAILS: &[&str] = &["X", "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"];

struct Case {
    request: Request,
    version: &'static str,
    interim: &'static str,
    status: &'static (&'static [u8], u16, bool),
    framing: &'static (&'static str, &'static str, Means),
    persistence: &'static (&'static str, Option<bool>),
}

impl Case {
    fn bodyless(&self) -> bool {
        self.request.method == "HEAD" || self.status.2
    }

    fn head(&self) -> Vec<u8> {
        let line = [self.interim, "HTTP/", self.version, " "].concat().into_bytes();
        let fields = ["\r\n", self.framing.0, "Server: x\r\n", self.persistence.0, "\r\n"].concat();
        [line, self.status.0.to_vec(), fields.into_bytes()].concat()
    }

    fn body(&self) -> &'static str {
        if self.bodyless() { "" } else { self.framing.1 }
    }

    fn means(&self) -> Means {
        if self.bodyless() { Length(0) } else { self.framing.2 }
    }

    /// RFC 9112, 9.3, and 6.1 for codings in HTTP/1.0.
    fn keeps(&self) -> bool {
        let coded = self.framing.0.to_lowercase().contains("transfer-encoding");
        let http10 = self.request.http10 || self.version == "1.0";
        let faulty = coded && self.version == "1.0";
        self.persistence.1.unwrap_or(!http10) && !faulty && self.status.1 != 101
    }

    /// The head, the body, and then the end.
    fn whole(&self) -> (Vec<u8>, Fate) {
        let wire = [self.head(), self.body().into()].concat();
        let status = self.status.1;
        let fate = match self.means() {
            Length(body) | Chunked(body) => ok(status, body, self.keeps()),
            UntilClose => ok(status, self.body().len() as u64, false),
            Faulty => Fate::Refused,
        };
        (wire, fate)
    }

    /// The same without its last byte.
    fn short(&self) -> (Vec<u8>, Fate) {
        let (mut wire, whole) = self.whole();
        wire.pop();
        let fate = match self.means() {
            UntilClose => ok(self.status.1, self.body().len() as u64 - 1, false),
            Faulty => whole,
            Length(_) | Chunked(_) => Fate::Truncated,
        };
        (wire, fate)
    }

    /// The same with `tail` behind it.
    fn followed_by(&self, tail: &str) -> (Vec<u8>, Fate) {
        let (mut wire, whole) = self.whole();
        wire.extend_from_slice(tail.as_bytes());
        let fate = match self.means() {
            Length(body) | Chunked(body) => ok(self.status.1, body, false),
            UntilClose => ok(self.status.1, (self.body().len() + tail.len()) as u64, false),
            Faulty => whole,
        };
        (wire, fate)
    }

    fn all_ends(&self) -> impl Iterator<Item = (Vec<u8>, Fate)> {
        let tails = TAILS.iter().map(|tail| self.followed_by(tail));
        [self.whole(), self.short()].into_iter().chain(tails)
    }
}

fn requests() -> impl Iterator<Item = Request> + Clone {
    let methods = ["GET", "HEAD", "head"];
    methods.into_iter().flat_map(|method| [false, true].map(|http10| Request { method, http10 }))
}

#[test]
fn every_status_framing_persistence_version_and_end_is_decided_as_the_rfc_does() {
    for (status, framing) in STATUSES.iter().flat_map(|s| FRAMINGS.iter().map(move |f| (s, f))) {
        for (request, persistence) in
            requests().flat_map(|r| PERSISTENCE.iter().map(move |p| (r, p)))
        {
            for (version, interim) in ["1.0", "1.1", "1.2", "1.9"].into_iter().zip(
                // Which interim responses come makes no difference.
                INTERIM.iter().cycle().skip(status.0.len() + framing.0.len()),
            ) {
                let case = Case { request, version, interim, status, framing, persistence };
                case.all_ends().for_each(|(wire, fate)| assert_fate(request, &wire, fate));
            }
        }
    }
}

#[test]
fn where_the_bytes_are_split_decides_nothing() {
    let mut others = INTERIM.iter().cycle().zip(PERSISTENCE.iter().cycle()).zip(requests().cycle());
    for (status, framing) in STATUSES.iter().flat_map(|s| FRAMINGS.iter().map(move |f| (s, f))) {
        let ((interim, persistence), request) = others.next().unwrap();
        let case = Case { request, version: "1.1", interim, status, framing, persistence };
        case.all_ends().for_each(|(wire, fate)| assert_fate_in_any_split(request, &wire, fate));
    }
}

#[test]
fn a_connection_that_ends_before_the_last_byte_never_completed_a_response() {
    for (framing, interim) in FRAMINGS.iter().zip(INTERIM.iter().cycle()) {
        let (status, persistence) = (&STATUSES[0], &PERSISTENCE[0]);
        let case = Case { request: GET, version: "1.1", interim, status, framing, persistence };
        let (wire, _) = case.whole();
        for cut in 0..wire.len() {
            let got = fate(GET, &[&wire[..cut]]);
            let expected = match case.means() {
                _ if cut == 0 => Fate::Unanswered,
                UntilClose if cut >= case.head().len() => {
                    ok(200, (cut - case.head().len()) as u64, false)
                }
                Faulty if cut >= case.head().len() => Fate::Refused,
                _ => Fate::Truncated,
            };
            assert_eq!(got, expected, "{cut} of {:?}", String::from_utf8_lossy(&wire));
        }
    }
}

const HELLO: Fate = ok(200, 5, true);
const REFUSED: Fate = Fate::Refused;

/// What is neither here nor there in the product above.
const SYNTAX: &[(&[u8], Fate)] = &[
    // Lines that end in LF alone are lines (RFC 9112, 2.2).
    (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\nContent-Length: 5\r\n\nhello", HELLO),
    // Folded lines and spaces before the colon are obsolete, and clear.
    (b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\nContent-Length: 5\r\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 9\r\nContent-Length: 5\r\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello", REFUSED),
    // Values may hold any octet but controls (RFC 9110, 5.5).
    (b"HTTP/1.1 200 OK\r\nX: \xe4\xff\t\"\r\nContent-Length: 5\r\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 5\r\n\r\nhello", HELLO),
    (b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200 OK\r\nX: a\rContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200 O\rK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200 O\0K\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    // Names are tokens, and never missing.
    (b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200 OK\r\nX\xe4: x\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    // Nothing comes before a status line, and its parts have one form.
    (b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b" HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.15 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1\t200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 1000 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 2e2 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 -20 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1 200OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    (b"HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
    // Other protocols.
    (b"<html>hello</html>", REFUSED),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REFUSED),
    (b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80", REFUSED),
    (b"\x15\x03\x01\0\x02\x02\x46", REFUSED),
    (b"220 smtp.test ESMTP\r\n", REFUSED),
    (b"GET / HTTP/1.1\r\n\r\n", REFUSED),
    // The largest length there is.
    (b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello", Fate::Truncated),
];

#[test]
fn what_is_written_oddly_is_taken_or_refused_as_the_rfc_does() {
    for (wire, fate) in SYNTAX {
        assert_fate_in_any_split(GET, wire, *fate);
    }
}

/// Chunked bodies and how many bytes they hold; none for no chunked body.
const BODIES: &[(&[u8], Option<u64>)] = &[
    (b"0\r\n\r\n", Some(0)),
    (b"00000000000000000000\r\n\r\n", Some(0)),
    (b"5\r\nhello\r\n0\r\n\r\n", Some(5)),
    (b"0000000000000000000005\r\nhello\r\n0\r\n\r\n", Some(5)),
    (b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", Some(20)),
    (b"5 \t\r\nhello\r\n0\r\n\r\n", Some(5)),
    (b"5 ; a = b\r\nhello\r\n0;last\r\n\r\n", Some(5)),
    (b"5;a=\"\\\";\xff\0\"\r\nhello\r\n0\r\n\r\n", Some(5)),
    (b"4\r\n\r\n\r\n\r\n0\r\n\r\n", Some(4)),
    (b"0\r\nA: b\r\nC: d\r\n\r\n", Some(0)),
    (b"0\r\nA: b\n\n", Some(0)),
    (b"0\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", Some(0)),
    (b"0\r\nA : b\r\n\tc\r\nD:\r\n\r\n", Some(0)),
    (b"0\r\nA\r\n\r\n", None),
    (b"0\r\n A: b\r\n\r\n", None),
    (b"0\r\nA: b\0\r\n\r\n", None),
    (b"0\r\nA: b\rC: d\r\n\r\n", None),
    (b"\r\n0\r\n\r\n", None),
    (b" 5\r\nhello\r\n0\r\n\r\n", None),
    (b";a\r\n0\r\n\r\n", None),
    (b"5\nhello\r\n0\r\n\r\n", None),
    (b"5;a\nhello\r\n0\r\n\r\n", None),
    (b"5\rhello\r\n0\r\n\r\n", None),
    (b"5 5\r\nhello\r\n0\r\n\r\n", None),
    (b"-5\r\nhello\r\n0\r\n\r\n", None),
    (b"0x5\r\nhello\r\n0\r\n\r\n", None),
    (b"g\r\nhello\r\n0\r\n\r\n", None),
    (b"10000000000000005\r\nhello\r\n0\r\n\r\n", None),
    (b"4\r\nhello\r\n0\r\n\r\n", None),
    (b"5\r\nhello0\r\n\r\n", None),
    (b"5\r\nhello\n0\r\n\r\n", None),
    (b"0\r\n\rX", None),
];

#[test]
fn a_chunked_body_is_one_or_is_refused() {
    for (body, length) in BODIES {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let wire = [&head[..], body].concat();
        let fate = length.map_or(REFUSED, |length| ok(200, length, true));
        assert_fate_in_any_split(GET, &wire, fate);
    }
}

#[test]
fn a_head_is_limited_to_64_kib_and_8192_fields_in_any_split() {
    let head = |fields: &str, filler: usize| {
        let fields = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}X: ");
        [fields.as_bytes(), &vec![b'a'; filler], b"\r\n\r\n"].concat()
    };
    let bare = head("", 0).len();
    for (wire, fate) in [
        (head("", MAX_HEAD - bare), ok(200, 0, true)),
        (head("", MAX_HEAD - bare + 1), REFUSED),
        (head(&"a:\r\n".repeat(8190), 0), ok(200, 0, true)),
        (head(&"a:\r\n".repeat(8191), 0), REFUSED),
    ] {
        for size in [wire.len(), wire.len() - 1, 40_000, 16 * 1024, 1460, 1] {
            let pieces: Vec<&[u8]> = wire.chunks(size).collect();
            assert_eq!(self::fate(GET, &pieces), fate, "{} bytes by {size}", wire.len());
        }
    }
}
