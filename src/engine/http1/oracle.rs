//! The same bytes given to hyper's client: where both accept, both must say the
//! same; where one refuses, the reason must be among those that are known.

use super::fate::{Fate, Request, fate};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

/// What both make of the same bytes, which are in lower case here.
struct Difference<'a> {
    wire: &'a [u8],
    ours: Fate,
    theirs: Option<Answer>,
}

/// Tells a known difference.
type IsIt = fn(&Difference<'_>) -> bool;

/// Where we differ from hyper and mean to: why, and how to tell.
const KNOWN: &[(&str, IsIt)] = &[
    ("only servers may skip an empty line before a message (RFC 9112, 2.2)", |it| {
        it.ours == Fate::Refused && it.skips_an_empty_line()
    }),
    ("HTTP/1.2 is to be taken as HTTP/1.1 (RFC 9110, 2.5)", |it| {
        it.theirs.is_none() && it.lines(b"http/1.").any(|rest| matches!(rest, [b'2'..=b'9', ..]))
    }),
    ("a status outside of 100 to 599 is as good as a 5xx (RFC 9110, 15)", |it| {
        it.theirs.is_none() && matches!(it.ours, Fate::Complete { status: 0..100, .. })
    }),
    ("with a coding in HTTP/1.0, process and close (RFC 9112, 6.1)", |it| {
        let closed = !matches!(it.ours, Fate::Complete { keep: true, .. });
        closed && it.lines(b"http/1.0").next().is_some() && it.lines(CODING).next().is_some()
    }),
    ("chunked has no parameters (RFC 9112, 7.1)", |it| {
        it.ours == Fate::Refused && it.lines(CODING).any(|value| value.contains(&b';'))
    }),
    ("empty elements of a list are nothing (RFC 9110, 5.6.1)", |it| {
        let last_is_empty =
            |value: &[u8]| matches!(value.trim_ascii().last(), None | Some(b',' | b':'));
        it.lines(CODING).last().is_some_and(last_is_empty)
    }),
    ("lines of trailers may end in LF, and be folded, as those of heads", |it| {
        it.lines(b"0").next().is_some()
            && it.wire.windows(2).any(|two| {
                matches!(two, [b'\n', b' ' | b'\t'] | [b' ' | b'\t', b':'])
                    || two[1] == b'\n' && two[0] != b'\r'
            })
    }),
    ("any octet may stand in a list (RFC 9110, 5.5)", |it| {
        let other = |value: &[u8]| !value.is_ascii();
        it.lines(b"connection").any(other) || it.lines(CODING).any(other)
    }),
    ("the two largest lengths are lengths", |it| {
        it.ours == Fate::Truncated
            && it.lines(b"content-length").any(|value| value.trim_ascii().len() > 19)
    }),
];

const CODING: &[u8] = b"transfer-encoding";

impl Difference<'_> {
    /// What follows `start` in each line that starts so, with the lines folded
    /// behind it.
    fn lines<'b>(&'b self, start: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        let begins = |at: &usize| *at == 0 || self.wire[at - 1] == b'\n';
        let begins = (0..self.wire.len()).filter(begins);
        begins.filter_map(move |at| self.wire[at..].strip_prefix(start)).map(|rest| {
            let ends = |two: &[u8]| two[0] == b'\n' && !matches!(two[1], b' ' | b'\t');
            &rest[..rest.windows(2).position(ends).unwrap_or(rest.len())]
        })
    }

    /// True when a message has an empty line in front that ends no other.
    fn skips_an_empty_line(&self) -> bool {
        let starts = self.wire.windows(6).enumerate().filter(|(_, word)| *word == b"http/1");
        starts.map(|(start, _)| &self.wire[..start]).any(|before| {
            let blank = before.iter().rev().take_while(|byte| b"\r\n".contains(byte)).count();
            let ends = &before[before.len() - blank..];
            let lines = ends.iter().filter(|byte| **byte == b'\n').count();
            lines > 2 || lines > 0 && blank == before.len()
        })
    }
}

/// A response that hyper found complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    status: u16,
    body: u64,
    reusable: bool,
}

/// How we and hyper differ about `pieces`, if we do and should not.
pub(crate) async fn disagreement(request: Request, pieces: &[&[u8]]) -> Option<String> {
    let (ours, theirs) = (fate(request, pieces), ask_hyper(request, pieces).await);
    let agreed = match (ours, theirs) {
        // HTTP/1.0 was asked, and persists with us only when it is told so.
        (Fate::Complete { status, body, keep: false }, Some(answer)) if request.http10 => {
            answer == Answer { status, body, ..answer }
        }
        (Fate::Complete { status, body, keep }, Some(answer)) => {
            answer == Answer { status, body, reusable: keep }
        }
        (Fate::Complete { .. }, None) | (_, Some(_)) => false,
        (_, None) => true,
    };
    let wire = pieces.concat();
    let difference = Difference { wire: &wire.to_ascii_lowercase(), ours, theirs };
    if agreed || KNOWN.iter().any(|(_, is_it)| is_it(&difference)) {
        return None;
    }
    let wire = wire.escape_ascii();
    Some(format!("{request:?}: ours {ours:?}, hyper's {theirs:?}, of \"{wire}\""))
}

/// The response that hyper takes; none when it finds none, or none complete.
async fn ask_hyper(request: Request, pieces: &[&[u8]]) -> Option<Answer> {
    let (near, mut far) = duplex(1 << 20);
    let (mut sender, connection) = Builder::new()
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .handshake(TokioIo::new(near))
        .await
        .ok()?;
    let connection = tokio::spawn(connection);
    let asked = request_to_send(request);
    let asking = tokio::spawn(async move {
        let response = sender.send_request(asked).await.ok()?;
        let status = response.status().as_u16();
        let (mut body, mut length) = (response.into_body(), 0);
        while let Some(frame) = body.frame().await {
            length += frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
        }
        Some((status, length, sender))
    });
    read_request(&mut far).await;
    for piece in pieces {
        // hyper may have closed, and says why by its answer.
        far.write_all(piece).await.ok();
        settle().await;
    }
    let before_the_end = asking.is_finished();
    if !before_the_end {
        drop(far);
    }
    let answered = asking.await.expect("hyper does not panic");
    settle().await;
    let answer = answered.map(|(status, body, sender)| Answer {
        status,
        body,
        reusable: before_the_end && sender.is_ready(),
    });
    connection.abort();
    answer
}

fn request_to_send(request: Request) -> hyper::Request<Empty<Bytes>> {
    let mut asked = hyper::Request::builder().method(request.method).uri("/").header("host", "h");
    if request.http10 {
        asked = asked.version(hyper::Version::HTTP_10).header("connection", "keep-alive");
    }
    asked.body(Empty::new()).expect("a method is all that varies")
}

async fn read_request(far: &mut DuplexStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && matches!(far.read_buf(&mut head).await, Ok(1..)) {}
}

/// Lets everybody go on as far as they can: the streams are in memory, so a few
/// turns on one thread are enough.
async fn settle() {
    for _ in 0..12 {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
