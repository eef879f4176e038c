//! A connection's byte stream as the h2 crate sees it: it counts what passes,
//! stamps what comes, and remembers how it ended, since the crate's own errors
//! do not tell an answer that was cut short from a server that never spoke.
//! Read by the crate, a socket gives up what it has in scraps of the room that
//! is left in the crate's buffer, each with a system call and an answer of its
//! own; so it is read into the thread's buffer, and the crate reads from there.

use super::super::connect::Connection;
use super::super::local::Local;
use crate::clock::Nanos;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Length of a frame's head.
const FRAME_HEAD: usize = 9;
const SETTINGS: u8 = 4;

/// The byte stream of one connection.
#[derive(Debug)]
pub(super) struct Wire {
    connection: Connection,
    local: Rc<Local>,
    seen: Rc<Seen>,
    /// What was read and the crate has no room for yet.
    rest: Bytes,
}

/// What has been seen on a connection.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When bytes came last; 0 before the first ones.
    pub(super) read_at: Cell<Nanos>,
    /// When bytes were taken last by the socket.
    pub(super) written_at: Cell<Nanos>,
    /// The connection is over; nothing comes on it any more.
    pub(super) over: Cell<bool>,
    /// Why reading failed; none after an ordinary end.
    pub(super) read_error: RefCell<Option<io::Error>>,
    /// Why no more can be written.
    pub(super) write_error: RefCell<Option<io::Error>>,
    /// The server has sent GOAWAY with this code.
    pub(super) farewell: Cell<Option<h2::Reason>>,
    pub(super) tls: RefCell<Option<String>>,
    /// Requests handed over to the crate.
    pub(super) handed: Cell<usize>,
    /// How many of them there were when the socket last had taken everything.
    pub(super) taken: Cell<usize>,
    /// Bytes were read since the crate was last polled.
    has_read: Cell<bool>,
    start: Cell<[u8; FRAME_HEAD]>,
    start_length: Cell<usize>,
}

impl Wire {
    pub(super) fn new(connection: Connection, local: Rc<Local>) -> (Self, Rc<Seen>) {
        let seen = Rc::new(Seen::default());
        seen.tls.replace(connection.transport.describe_tls());
        (Self { connection, local, seen: seen.clone(), rest: Bytes::new() }, seen)
    }

    fn is_measured(&self, now: Nanos) -> bool {
        self.local.window().is_some_and(|window| now >= window.start)
    }

    fn written(&self, length: usize) {
        let now = self.local.now();
        self.seen.written_at.set(now);
        self.local.recorder.borrow_mut().sent(self.is_measured(now), length);
    }

    /// Reads what is there and hands over what the crate has room for.
    fn fill(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let local = self.local.clone();
        let mut receiving = local.buffer.borrow_mut();
        let length = ready!(self.connection.transport.poll_read(context, &mut receiving))?;
        let (fits, rest) = receiving[..length].split_at(length.min(buffer.remaining()));
        if !fits.is_empty() {
            self.note(&receiving[..length]);
        }
        buffer.put_slice(fits);
        self.rest = Bytes::copy_from_slice(rest);
        Poll::Ready(Ok(()))
    }

    /// Takes down what was read.
    fn note(&self, bytes: &[u8]) {
        let now = self.local.now();
        self.seen.read_at.set(now);
        self.seen.has_read.set(true);
        self.seen.keep_start(bytes);
        self.local.recorder.borrow_mut().received(self.is_measured(now), bytes.len());
    }

    /// A write that failed counts as done: what the server has said before it
    /// stopped listening is still to be read, and tells more than this error.
    fn failed(&self, error: io::Error, length: usize) -> Poll<io::Result<usize>> {
        self.seen.write_error.borrow_mut().get_or_insert(error);
        Poll::Ready(Ok(length))
    }

    fn is_deaf(&self) -> bool {
        self.seen.write_error.borrow().is_some()
    }
}

impl Seen {
    /// Requests that the socket has not taken, or not to their end.
    pub(super) fn unwritten(&self) -> usize {
        self.handed.get() - self.taken.get()
    }

    /// The crate is polled again: it may read once more.
    pub(super) fn begin_turn(&self) {
        self.has_read.set(false);
    }

    fn keep_start(&self, bytes: &[u8]) {
        let known = self.start_length.get();
        if known < FRAME_HEAD {
            let (mut start, more) = (self.start.get(), bytes.len().min(FRAME_HEAD - known));
            start[known..known + more].copy_from_slice(&bytes[..more]);
            self.start.set(start);
            self.start_length.set(known + more);
        }
    }

    /// Why the first bytes are not how an HTTP/2 server begins: with SETTINGS
    /// (RFC 9113, 3.4).
    pub(super) fn stranger(&self) -> Option<&'static str> {
        let start = self.start.get();
        let start = &start[..self.start_length.get()];
        match start {
            [b'H', b'T', b'T', b'P', b'/', ..] => Some(
                "the server answered in HTTP/1: on this port it does not speak HTTP/2 without TLS \
                 (nginx: listen … http2); protocol http1 measures it as it is",
            ),
            [0x14..=0x17, 3, ..] => Some("no HTTP/2 but TLS records: the port expects https"),
            [b'S', b'S', b'H', ..] => Some("no HTTP/2 but an SSH greeting"),
            [_, _, _, kind, flags, 0, 0, 0, 0] if *kind == SETTINGS && flags & 1 == 0 => None,
            _ if start.len() < FRAME_HEAD => None,
            _ => Some("no HTTP/2: the server's first frame is no SETTINGS"),
        }
    }
}

impl AsyncRead for Wire {
    /// Reads once per turn, so that every response is stamped when its bytes
    /// came and answered before more are taken.
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if !wire.rest.is_empty() {
            wire.seen.has_read.set(true);
            buffer.put_slice(&wire.rest.split_to(wire.rest.len().min(buffer.remaining())));
            return Poll::Ready(Ok(()));
        }
        if wire.seen.has_read.get() {
            if wire.connection.transport.poll_readable(context).is_ready() {
                context.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        match wire.fill(context, buffer) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(error)) => {
                let told = io::Error::from(error.kind());
                wire.seen.read_error.replace(Some(error));
                Poll::Ready(Err(told))
            }
            // Nothing can be sent, and nothing came: it is over.
            Poll::Pending if wire.is_deaf() => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        if wire.is_deaf() {
            return Poll::Ready(Ok(bytes.len()));
        }
        match ready!(wire.connection.transport.poll_write(context, bytes)) {
            Ok(length) => {
                wire.written(length);
                Poll::Ready(Ok(length))
            }
            Err(error) => wire.failed(error, bytes.len()),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        let whole = pieces.iter().map(|piece| piece.len()).sum();
        if wire.is_deaf() {
            return Poll::Ready(Ok(whole));
        }
        match ready!(wire.connection.transport.poll_write_vectored(context, pieces)) {
            Ok(length) => {
                wire.written(length);
                Poll::Ready(Ok(length))
            }
            Err(error) => wire.failed(error, whole),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if wire.is_deaf() {
            return Poll::Ready(Ok(()));
        }
        match ready!(wire.connection.transport.poll_flush(context)) {
            Ok(()) => {
                wire.seen.taken.set(wire.seen.handed.get());
                Poll::Ready(Ok(()))
            }
            Err(error) => wire.failed(error, 0).map_ok(drop),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if wire.is_deaf() {
            return Poll::Ready(Ok(()));
        }
        wire.connection.transport.poll_shutdown(context)
    }
}
