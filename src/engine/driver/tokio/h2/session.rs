//! One HTTP/2 connection: opened until the server's SETTINGS are known, then
//! driven by the task that owns it.

use super::super::connect::{Connection, Stage, connect};
use super::super::local::Local;
use super::failure::{Progress, of_end};
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::endpoint::Route;
use crate::http2::{self, Request};
use benchd_model::Outcome;
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// One HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Session {
    /// Tells the sessions of one slot apart.
    pub(super) number: usize,
    /// The number of its endpoint.
    pub(super) endpoint: u32,
    connection: Connection,
    pub(super) http2: http2::Connection,
    /// It has carried a request.
    pub(super) carried: bool,
    /// Nobody waited for it when it was opened.
    pub(super) ahead: bool,
    /// When bytes came last; 0 before the first ones.
    read_at: Nanos,
    /// Bytes that the socket has taken.
    pub(super) written: u64,
    /// Why reading failed; none after an ordinary end.
    pub(super) read_error: Option<io::Error>,
    /// Why no more can be written. What the server has said before it stopped
    /// listening is still to be read, and tells more than this error.
    pub(super) write_error: Option<io::Error>,
    /// Requests made on it.
    handed: usize,
    /// How many of them there were when the socket last had taken everything.
    taken: usize,
    /// When the server was asked whether it still lives.
    asked: Option<Nanos>,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// The session that carries it.
    pub(super) session: usize,
    pub(super) stream: u32,
    /// The how manieth of its session it is.
    number: usize,
    /// Where it begins among all bytes of its session.
    position: u64,
    pub(super) reused: bool,
    /// When it was handed over.
    pub(super) sent: Nanos,
    /// When a part of its response came; 0 before.
    pub(super) first_byte: Nanos,
}

impl Flight {
    pub(super) const fn progress(&self) -> Progress {
        Progress { position: self.position, begun: self.first_byte != 0, reused: self.reused }
    }
}

/// Opens session `number` for the connection whose own slot is `slot` and has
/// its deadline armed.
pub(super) async fn open(
    local: Rc<Local>,
    slot: usize,
    route: Route,
    number: usize,
    stage: Rc<Cell<Stage>>,
) -> Result<Box<Session>, Failure> {
    let connection = connect(&local, slot, route, &stage).await?;
    if let Some(agreed) = connection.transport.agreed_protocol().filter(|name| *name != b"h2") {
        return Err(not_agreed(agreed));
    }
    stage.set(Stage::Greeting);
    let mut session = Box::new(Session {
        number,
        endpoint: route.endpoint,
        connection,
        http2: http2::Connection::new(local.request()),
        carried: false,
        ahead: false,
        read_at: 0,
        written: 0,
        read_error: None,
        write_error: None,
        handed: 0,
        taken: 0,
        asked: None,
    });
    poll_fn(|context| session.poll_settled(&local, slot, context)).await?;
    Ok(session)
}

fn not_agreed(agreed: &[u8]) -> Failure {
    let reason = match agreed {
        [] => "the server did not agree to HTTP/2: it takes no part in ALPN".to_owned(),
        other => format!(
            "the server did not agree to HTTP/2 (ALPN h2): it chose {}",
            String::from_utf8_lossy(other)
        ),
    };
    Failure::new(Outcome::Tls, reason)
}

impl Session {
    /// Ready when the server's SETTINGS have been taken.
    fn poll_settled(
        &mut self,
        local: &Local,
        slot: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        if local.slots.passed(slot) {
            return Poll::Ready(Err(Stage::Greeting.too_slow(&local.shared)));
        }
        loop {
            self.write(local, local.now(), context);
            let mut buffer = local.buffer.borrow_mut();
            let Poll::Ready(length) = self.poll_read(local, &mut buffer, context) else {
                return Poll::Pending;
            };
            let mut input = &buffer[..length];
            while self.http2.next(&mut input).is_some() {}
            if length == 0 || self.http2.breach().is_some() {
                return Poll::Ready(Err(of_end(self, Progress::default())));
            }
            if self.http2.is_settled() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Reads once. Ready with how many bytes came; 0 when none will any more.
    #[inline]
    pub(super) fn poll_read(
        &mut self,
        local: &Local,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Poll<usize> {
        if self.http2.is_congested() {
            return Poll::Pending;
        }
        match self.connection.transport.poll_read(context, buffer) {
            Poll::Ready(Ok(0)) => Poll::Ready(0),
            Poll::Ready(Ok(length)) => {
                self.read_at = local.now();
                let measured = local.is_measured(self.read_at);
                local.recorder.borrow_mut().received(measured, length);
                Poll::Ready(length)
            }
            Poll::Ready(Err(error)) => {
                self.read_error = Some(error);
                Poll::Ready(0)
            }
            // Nothing can be sent, and nothing came: it is over.
            Poll::Pending if self.write_error.is_some() => Poll::Ready(0),
            Poll::Pending => Poll::Pending,
        }
    }

    /// True when there may be more to read; the context is left with the socket
    /// otherwise.
    #[inline]
    pub(super) fn has_more(&self, context: &mut Context<'_>) -> bool {
        self.connection.transport.poll_readable(context).is_ready()
    }

    /// When the bytes came that were read last.
    #[inline]
    pub(super) const fn read_at(&self) -> Nanos {
        self.read_at
    }

    /// Makes the request of `user`, at `now`.
    #[inline]
    pub(super) fn send(&mut self, request: &Request, user: usize, now: Nanos) -> Flight {
        self.handed += 1;
        Flight {
            session: self.number,
            position: self.http2.position(),
            stream: self.http2.open(request, user),
            number: self.handed,
            reused: std::mem::replace(&mut self.carried, true),
            sent: now,
            first_byte: 0,
        }
    }

    /// Writes what there is at `now`, as far as the socket takes it. True when there
    /// may be something to read that was left so far.
    #[inline]
    pub(super) fn write(&mut self, local: &Local, now: Nanos, context: &mut Context<'_>) -> bool {
        let was_congested = self.http2.is_congested();
        if self.write_error.is_none() {
            let Poll::Ready(Err(error)) = self.poll_write(local, now, context) else {
                return was_congested && !self.http2.is_congested();
            };
            self.write_error = Some(error);
        }
        let lost = self.http2.pending().len();
        self.http2.written(lost);
        lost > 0
    }

    #[inline]
    fn poll_write(
        &mut self,
        local: &Local,
        now: Nanos,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let transport = &mut self.connection.transport;
        loop {
            self.http2.write_bodies(&local.request().body);
            let pending = self.http2.pending();
            if pending.is_empty() {
                break;
            }
            let length = ready!(transport.poll_write(context, pending))?;
            if length == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.http2.written(length);
            self.written += length as u64;
            local.recorder.borrow_mut().sent(local.is_measured(now), length);
        }
        ready!(transport.poll_flush(context))?;
        self.taken = self.handed;
        Poll::Ready(Ok(()))
    }

    /// Gives `flight` up at `now`, whose time has passed. What it lacks, and whether
    /// the connection itself is dead.
    pub(super) fn give_up(&mut self, flight: &Flight, now: Nanos) -> (&'static str, bool) {
        let lack = match self.http2.cancel(flight.stream) {
            _ if flight.first_byte != 0 => "response not complete",
            true => "no response",
            false => "request not fully sent",
        };
        (lack, self.is_dead(flight, now))
    }

    /// True when the server has not read so far, or has said nothing at all since
    /// then, although it was asked before by a PING.
    fn is_dead(&mut self, flight: &Flight, now: Nanos) -> bool {
        if self.taken < flight.number {
            return true;
        }
        if self.read_at >= flight.sent {
            return false;
        }
        match self.asked {
            // Asked and not answered: for a whole time limit, or not yet so long.
            Some(asked) if self.read_at < asked => asked <= flight.sent,
            _ => {
                self.http2.ping();
                self.asked = Some(now);
                false
            }
        }
    }

    pub(super) fn describe_tls(&self) -> Option<String> {
        self.connection.transport.describe_tls()
    }

    /// Requests that the socket has not taken, or not to their end.
    #[inline]
    pub(super) const fn unwritten(&self) -> usize {
        self.handed - self.taken
    }
}
