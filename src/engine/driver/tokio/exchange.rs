//! One request and its response on an open connection: write first, wait only
//! when the socket says so, stamp once per read.

use super::connect::{Connection, in_words};
use super::local::Local;
use super::slot::Failure;
use crate::clock::Nanos;
use crate::http1::{Completed, End, Response, Step};
use crate::record::Exchange;
use benchd_model::{Outcome, Span};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The talk of one slot with the server, request by request.
#[derive(Debug)]
pub(super) struct Talk {
    local: Rc<Local>,
    /// The slot's number.
    index: usize,
    response: Response,
    pub(super) attempt: Attempt,
}

/// The attempt that a slot is making.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) start: Nanos,
    pub(super) sent: Nanos,
    first_byte: Nanos,
    deadline: Nanos,
    pub(super) measured: bool,
    /// The whole request has gone out.
    flushed: bool,
    /// The server has closed the connection.
    pub(super) closed: bool,
    /// Bytes of the request that are written.
    written: usize,
    write_error: Option<io::Error>,
}

impl Talk {
    pub(super) fn new(local: Rc<Local>, index: usize) -> Self {
        Self { local, index, response: Response::default(), attempt: Attempt::default() }
    }

    /// Begins an attempt. On a kept connection the request is sent at once; a
    /// new connection moves `sent` to when it is ready.
    #[inline]
    pub(super) fn begin(&mut self, start: Nanos, deadline: Nanos, measured: bool) {
        self.attempt = Attempt { start, sent: start, deadline, measured, ..Attempt::default() };
    }

    /// Forgets what a failed attempt has left.
    pub(super) fn forget(&mut self) {
        self.response = Response::default();
    }

    /// Drives the exchange as far as the socket allows.
    #[inline]
    pub(super) fn poll(
        &mut self,
        connection: &mut Connection,
        context: &mut Context<'_>,
    ) -> Poll<Result<Exchange, Failure>> {
        if self.local.slots.passed(self.index) {
            return Poll::Ready(Err(self.too_slow()));
        }
        if !self.attempt.flushed && self.attempt.write_error.is_none() {
            self.write(connection, context);
        }
        self.read(connection, context)
    }

    /// Writes what the socket takes. An error is kept for later: the server
    /// may have answered before it stopped listening.
    fn write(&mut self, connection: &mut Connection, context: &mut Context<'_>) {
        let (local, attempt) = (&*self.local, &mut self.attempt);
        let request = &local.shared.prepared.request;
        while attempt.written < request.len() {
            match connection.transport.poll_write(context, &request[attempt.written..]) {
                Poll::Ready(Ok(written)) => {
                    attempt.written += written;
                    local.recorder.borrow_mut().sent(attempt.measured, written);
                }
                Poll::Ready(Err(error)) => {
                    attempt.write_error = Some(error);
                    return;
                }
                Poll::Pending => return,
            }
        }
        match connection.transport.poll_flush(context) {
            Poll::Ready(Ok(())) => attempt.flushed = true,
            Poll::Ready(Err(error)) => attempt.write_error = Some(error),
            Poll::Pending => {}
        }
    }

    #[inline]
    fn read(
        &mut self,
        connection: &mut Connection,
        context: &mut Context<'_>,
    ) -> Poll<Result<Exchange, Failure>> {
        loop {
            let local = &*self.local;
            let mut buffer = local.buffer.borrow_mut();
            let length = match connection.transport.poll_read(context, &mut buffer) {
                Poll::Ready(Ok(length)) => length,
                Poll::Ready(Err(error)) => {
                    drop(buffer);
                    return Poll::Ready(Err(self.broken(connection, &error)));
                }
                Poll::Pending => {
                    return match self.attempt.write_error.take() {
                        // Nothing can be sent, and nothing came: it is over.
                        Some(error) => Poll::Ready(Err(unsent(&error))),
                        None => Poll::Pending,
                    };
                }
            };
            let now = local.now();
            if length == 0 {
                drop(buffer);
                return Poll::Ready(self.end(connection, now));
            }
            local.recorder.borrow_mut().received(self.attempt.measured, length);
            if self.attempt.first_byte == 0 {
                self.attempt.first_byte = now;
            }
            let fed = self.response.feed(&mut local.heads.borrow_mut(), &buffer[..length]);
            match fed {
                Ok(Step::Complete(completed)) => {
                    drop(buffer);
                    return Poll::Ready(self.complete(connection, completed, now));
                }
                Ok(Step::More) => {}
                Err(reason) => {
                    return Poll::Ready(Err(Failure::new(Outcome::Protocol, reason)));
                }
            }
        }
    }

    /// A whole response is there; whether in time, the last stamp decides.
    #[inline]
    fn complete(
        &self,
        connection: &mut Connection,
        completed: Completed,
        done: Nanos,
    ) -> Result<Exchange, Failure> {
        let attempt = &self.attempt;
        if done > attempt.deadline {
            return Err(self.too_slow());
        }
        let keeps = self.local.shared.prepared.plan.keepalive && attempt.flushed;
        Ok(Exchange {
            start: attempt.start,
            sent: attempt.sent,
            first_byte: attempt.first_byte,
            done,
            completed,
            reused: std::mem::replace(&mut connection.used, true),
            kept: completed.keep && keeps,
        })
    }

    /// The server has closed the connection.
    fn end(&mut self, connection: &mut Connection, now: Nanos) -> Result<Exchange, Failure> {
        match self.response.end() {
            End::Complete(completed) => {
                self.attempt.closed = true;
                self.complete(connection, completed, now)
            }
            End::Truncated => {
                let reason = "the connection was closed inside the response";
                Err(Failure::new(Outcome::Truncated, reason))
            }
            End::Nothing => Err(match self.attempt.write_error.take() {
                Some(error) => unsent(&error),
                None => {
                    let kind = kind(connection);
                    let reason = format!("the server closed {kind} before it answered");
                    Failure::new(Outcome::Reset, reason)
                }
            }),
        }
    }

    /// Reading failed.
    fn broken(&mut self, connection: &Connection, error: &io::Error) -> Failure {
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "closed without TLS close_notify".to_owned(),
            _ => in_words(error),
        };
        if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
            return Failure::new(Outcome::Tls, reason);
        }
        if self.response.begun() {
            return Failure::new(Outcome::Truncated, format!("{reason} inside the response"));
        }
        match self.attempt.write_error.take() {
            Some(error) => unsent(&error),
            None => {
                let kind = kind(connection);
                Failure::new(Outcome::Reset, format!("{reason} on {kind}, before an answer"))
            }
        }
    }

    fn too_slow(&self) -> Failure {
        let prepared = &self.local.shared.prepared;
        let what = if self.attempt.written < prepared.request.len() {
            "request not fully sent"
        } else if self.response.begun() {
            "response not complete"
        } else {
            "no response"
        };
        let limit = Span::from(prepared.plan.timeout);
        Failure::new(Outcome::Timeout, format!("{what} within {limit}"))
    }
}

const fn kind(connection: &Connection) -> &'static str {
    if connection.used { "a kept connection" } else { "a new connection" }
}

fn unsent(error: &io::Error) -> Failure {
    Failure::new(Outcome::Send, in_words(error))
}
