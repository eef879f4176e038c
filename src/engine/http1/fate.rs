//! What becomes of one request to which these bytes came and then the end of
//! the connection. The drivers ask the parser the same questions, in the same
//! order; this is for tests and the fuzz target.

use super::{End, HeadCache, Response, Step};

/// What was asked, as far as it decides what an answer means.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The method, as it was sent.
    pub method: &'static str,
    /// The request line said HTTP/1.0.
    pub http10: bool,
}

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A complete response.
    Complete {
        /// Its status.
        status: u16,
        /// Its body's length, without framing.
        body: u64,
        /// The connection may carry another request.
        keep: bool,
    },
    /// A response cut short.
    Truncated,
    /// What came is no response.
    Refused,
    /// Nothing came.
    Unanswered,
}

/// The fate of `request` when `pieces` come one after the other, and then the
/// end. Drivers close a connection on which something follows a response.
#[must_use]
pub fn fate(request: Request, pieces: &[&[u8]]) -> Fate {
    let mut heads = HeadCache::new(request.method, request.http10);
    let mut response = Response::default();
    let mut pieces = pieces.iter().filter(|piece| !piece.is_empty());
    while let Some(piece) = pieces.next() {
        match response.feed(&mut heads, piece) {
            Ok(Step::More) => {}
            Ok(Step::Complete(done)) => {
                let keep = done.keep && pieces.next().is_none();
                return Fate::Complete { status: done.status, body: done.body, keep };
            }
            Err(_) => return Fate::Refused,
        }
    }
    match response.end() {
        End::Nothing => Fate::Unanswered,
        End::Complete(done) => {
            Fate::Complete { status: done.status, body: done.body, keep: done.keep }
        }
        End::Truncated => Fate::Truncated,
    }
}
