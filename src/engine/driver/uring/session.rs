//! TLS on one connection: records in, plain bytes out, and the other way round.
//! It knows no ring and no stage.

use crate::clock::Nanos;
use crate::tls::{self, TlsPlan};
use rustix::io::retry_on_intr;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use rustls::ClientConnection;
use std::io::{self, IoSlice, Write};
use std::os::fd::BorrowedFd;

/// TLS on one connection.
#[derive(Debug)]
pub(super) struct Session {
    connection: ClientConnection,
    /// When the connection was there.
    pub(super) since: Nanos,
    /// How long it took until then.
    pub(super) connect: Nanos,
    /// What ended it, with nothing to be taken any more.
    lost: Option<io::Error>,
}

/// How a send went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Plain bytes that were taken.
    pub(super) taken: usize,
    /// All that there is to send has gone out.
    pub(super) flushed: bool,
}

/// What has come and is not yet read.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    Nothing,
    /// Not empty.
    Bytes(&'a [u8]),
    /// The server has said that there will be no more.
    End,
    /// The connection ended without a word.
    Broken(io::Error),
}

impl Session {
    /// Begins a handshake on a connection that is there since `since`.
    pub(super) fn new(plan: &TlsPlan, since: Nanos, connect: Nanos) -> io::Result<Self> {
        let connection = ClientConnection::new(plan.config.clone(), plan.server_name.clone());
        Ok(Self { connection: connection.map_err(wrong)?, since, connect, lost: None })
    }

    pub(super) fn is_shaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    pub(super) fn is_resumed(&self) -> bool {
        tls::is_resumed(&self.connection)
    }

    /// TLS version and cipher suite.
    pub(super) fn describe(&self) -> Option<String> {
        tls::describe(&self.connection)
    }

    /// Takes some of the bytes that have come, and leaves the rest in `bytes`.
    /// What they say is to be heard before more are taken.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> io::Result<()> {
        if self.connection.read_tls(bytes)? == 0 {
            // After the server has said that there is no more.
            *bytes = &[];
        }
        self.connection.process_new_packets().map(drop).map_err(wrong)
    }

    /// Takes all bytes though nobody waits for what they say, as far as there is
    /// room for it: one TLS record.
    pub(super) fn take_unasked(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.take(&mut bytes)?;
        }
        Ok(())
    }

    /// No more bytes will come.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.take(&mut &[][..])
    }

    /// Nothing more can be taken, because of `error`. What was taken before is
    /// still heard.
    pub(super) fn lose(&mut self, error: io::Error) {
        self.lost.get_or_insert(error);
    }

    /// What has come and is not yet read.
    pub(super) fn heard(&mut self) -> Heard<'_> {
        match (self.connection.reader().into_first_chunk(), &self.lost) {
            (Ok([]), _) => Heard::End,
            (Ok(bytes), _) => Heard::Bytes(bytes),
            (Err(_), Some(error)) => Heard::Broken(same(error)),
            (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => Heard::Nothing,
            (Err(error), None) => Heard::Broken(error),
        }
    }

    /// True while there is nothing to hear.
    pub(super) fn is_quiet(&mut self) -> bool {
        matches!(self.heard(), Heard::Nothing)
    }

    /// The first `length` bytes that were heard are read.
    pub(super) fn consume(&mut self, length: usize) {
        io::BufRead::consume(&mut self.connection.reader(), length);
    }

    /// Sends what `socket` takes of `plain`, behind what is left from before.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, plain: &[u8]) -> io::Result<Sent> {
        let mut taken = 0;
        loop {
            taken += self.connection.writer().write(&plain[taken..])?;
            let flushed = self.flush(socket)?;
            if taken == plain.len() || !flushed {
                return Ok(Sent { taken, flushed });
            }
        }
    }

    /// Sends what is left from before. False when the socket takes no more.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Outlet(socket)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                written => written.map(drop)?,
            }
        }
        Ok(true)
    }
}

fn wrong(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// `error` once more, as far as failures are told apart.
fn same(error: &io::Error) -> io::Error {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match (error.raw_os_error(), of_tls) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, Some(of_tls)) => wrong(of_tls.clone()),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

const FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

/// Writes to a socket what it takes at once.
struct Outlet<'a>(BorrowedFd<'a>);

impl Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| send(self.0, bytes, FLAGS))?)
    }

    /// What TLS has to say and a request leave together.
    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [piece] = pieces {
            return self.write(piece);
        }
        let send = || sendmsg(self.0, pieces, &mut SendAncillaryBuffer::default(), FLAGS);
        Ok(retry_on_intr(send)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
