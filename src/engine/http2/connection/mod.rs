//! One connection: streams, windows, and what the server's frames do to them.
//! Bytes in, [`Event`]s out; what is to be sent gathers in one buffer.

mod outgoing;
mod receive;
mod resets;
mod streams;
#[cfg(test)]
mod tests;

use super::code::{Breach, Code};
use super::frame::{self, END_STREAM, HIGHEST};
use super::heads::Heads;
use super::reader::Reader;
use super::request::{Encoding, Request};
use super::settings::{FIRST_WINDOW, Settings, WINDOW, write_greeting};
use outgoing::Outgoing;
use receive::Block;
use resets::Resets;
use streams::{Stream, Streams};

/// No more of request bodies is written ahead of the socket.
const ENOUGH: usize = 64 * 1024;
/// A server that lets so much of what we have to say lie is not listened to.
const CONGESTED: usize = 256 * 1024;
/// The body of a request goes out in frames of at most so many bytes.
const PIECE: usize = 16_384;

/// What has happened to the request of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A part of its response has come.
    Begun { user: usize },
    /// Its response is complete.
    Complete { user: usize, status: u16, body: u64 },
    /// There will be no response.
    Lost { user: usize, loss: Loss },
}

/// Why a stream has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The server has broken the protocol.
    Breach(Breach),
    /// The server has reset it.
    Reset(Code),
    /// The server has announced by GOAWAY that it does not process it.
    NotProcessed(Code),
}

/// The server's last GOAWAY.
#[derive(Clone, Copy, Debug)]
struct Farewell {
    last: u32,
    code: Code,
}

/// One HTTP/2 connection.
#[derive(Debug)]
pub(crate) struct Connection {
    reader: Reader,
    heads: Heads,
    streams: Streams,
    /// The number of the next stream.
    next: u32,
    out: Outgoing,
    encoding: Encoding,
    /// What the server has set, once it has.
    server: Settings,
    settled: bool,
    /// Our SETTINGS are not acknowledged.
    unacknowledged: bool,
    /// What the server takes of all bodies.
    window: i64,
    /// Of the window that the server has, so much is used up.
    used: u32,
    /// A field block of which more is to come.
    block: Option<Block>,
    resets: Resets,
    farewell: Option<Farewell>,
    breach: Option<Breach>,
    /// Answers have no content.
    is_head: bool,
}

impl Connection {
    /// A connection on which `request` will be made.
    pub(crate) fn new(request: &Request) -> Self {
        let mut out = Outgoing::default();
        write_greeting(out.buffer());
        Self {
            reader: Reader::default(),
            heads: Heads::new(),
            streams: Streams::default(),
            next: 1,
            out,
            encoding: Encoding::new(),
            server: Settings::default(),
            settled: false,
            unacknowledged: true,
            window: i64::from(FIRST_WINDOW),
            used: 0,
            block: None,
            resets: Resets::default(),
            farewell: None,
            breach: None,
            is_head: request.is_head,
        }
    }

    /// The server's SETTINGS have come.
    pub(crate) const fn is_settled(&self) -> bool {
        self.settled
    }

    /// True when further requests may go out on it.
    #[inline]
    pub(crate) const fn is_open(&self) -> bool {
        self.farewell.is_none() && self.breach.is_none() && self.next <= HIGHEST
    }

    /// How many streams the server allows at the same time.
    #[inline]
    pub(crate) const fn most_streams(&self) -> usize {
        self.server.most_streams
    }

    /// Streams in flight.
    #[inline]
    pub(crate) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// What the server has last broken the protocol by: the connection is over.
    #[inline]
    pub(crate) const fn breach(&self) -> Option<Breach> {
        self.breach
    }

    /// What the server speaks instead of HTTP/2.
    pub(crate) const fn stranger(&self) -> Option<&'static str> {
        self.reader.stranger()
    }

    /// The code of the server's GOAWAY.
    pub(crate) fn farewell(&self) -> Option<Code> {
        self.farewell.map(|farewell| farewell.code)
    }

    /// The `server` field of the last response.
    pub(crate) fn software(&self) -> Option<&[u8]> {
        self.heads.server()
    }

    /// Makes the request once more, for `user`. The number of its stream.
    #[inline]
    pub(crate) fn open(&mut self, request: &Request, user: usize) -> u32 {
        let number = self.next;
        self.next += 2;
        let (out, largest) = (self.out.buffer(), self.server.largest_frame);
        let bodyless = request.body.is_empty();
        self.encoding.next(request, |block| {
            frame::write_headers(out, number, block, bodyless, largest);
        });
        let window = i64::from(self.server.window);
        self.streams.push(Stream::new(number, user, window, request.body.len()));
        number
    }

    /// Writes as much of the bodies as the windows and the buffer have room for.
    #[inline]
    pub(crate) fn write_bodies(&mut self, body: &[u8]) {
        if !body.is_empty() {
            self.write_bodies_of_streams(body);
        }
    }

    fn write_bodies_of_streams(&mut self, body: &[u8]) {
        let largest = PIECE.min(self.server.largest_frame);
        for stream in self.streams.all() {
            while stream.unsent > 0 {
                if self.window <= 0 || self.out.pending().len() >= ENOUGH {
                    return;
                }
                if stream.window <= 0 {
                    break;
                }
                let room = usize::try_from(self.window.min(stream.window)).unwrap_or(largest);
                let start = body.len() - stream.unsent;
                let piece = &body[start..start + stream.unsent.min(room).min(largest)];
                stream.unsent -= piece.len();
                self.window -= piece.len() as i64;
                stream.window -= piece.len() as i64;
                let (out, flags) =
                    (self.out.buffer(), if stream.unsent == 0 { END_STREAM } else { 0 });
                frame::write_head(out, piece.len(), frame::DATA, flags, stream.number);
                out.extend_from_slice(piece);
            }
        }
    }

    /// Gives up `stream`. True when its whole request is written.
    pub(crate) fn cancel(&mut self, stream: u32) -> bool {
        let Some(at) = self.streams.find(stream) else { return true };
        let stream = self.streams.remove(at);
        self.reset(stream.number, Code::CANCEL);
        stream.unsent == 0
    }

    /// Asks whether the server still lives.
    pub(crate) fn ping(&mut self) {
        frame::write_ping(self.out.buffer(), 0, b"benchd!?");
    }

    /// A user whose stream is still in flight, when the connection is over.
    pub(crate) fn take_user(&mut self) -> Option<usize> {
        self.streams.pop_first().map(|stream| stream.user)
    }

    /// What is to be written.
    #[inline]
    pub(crate) fn pending(&self) -> &[u8] {
        self.out.pending()
    }

    /// So much of it has been.
    #[inline]
    pub(crate) fn written(&mut self, length: usize) {
        self.out.written(length);
    }

    /// How many bytes were ever to be written.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.out.position()
    }

    /// The server must first take what we have to say.
    #[inline]
    pub(crate) fn is_congested(&self) -> bool {
        self.out.pending().len() >= CONGESTED
    }

    /// Octets that are kept of what the server has sent, and for it.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn memory(&self) -> usize {
        let block = self.block.as_ref().map_or(0, Block::memory);
        self.reader.memory() + self.heads.memory() + block + self.out.pending().len()
    }

    fn reset(&mut self, stream: u32, code: Code) {
        frame::write_reset(self.out.buffer(), stream, code);
        self.resets.keep(stream);
    }

    /// What the server has used of a window; the update for it, when it is time.
    #[inline]
    const fn use_up(used: &mut u32, length: usize) -> Option<u32> {
        *used += length as u32;
        if *used < WINDOW / 2 {
            return None;
        }
        Some(std::mem::replace(used, 0))
    }
}
