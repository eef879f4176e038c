//! One request and its response on an open connection: write first, wait only
//! when the socket says so, stamp once per read.

use super::connect::in_words;
use super::slot::{Failure, Slot};
use crate::clock::Nanos;
use crate::http1::{Completed, End, Step};
use crate::record::Exchange;
use benchd_model::{Outcome, Span};
use std::io;
use std::task::{Context, Poll};

/// The attempt that a slot is making.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) start: Nanos,
    pub(super) sent: Nanos,
    first_byte: Nanos,
    deadline: Nanos,
    pub(super) measured: bool,
    /// Bytes of the request that are written.
    written: usize,
    flushed: bool,
    /// The server has closed the connection.
    pub(super) closed: bool,
    write_error: Option<io::Error>,
}

impl Attempt {
    /// On a kept connection the request is sent as soon as it begins; a new
    /// connection moves `sent` to when it is ready.
    #[inline]
    pub(super) fn begin(start: Nanos, deadline: Nanos, measured: bool) -> Self {
        Self {
            start,
            sent: start,
            first_byte: 0,
            deadline,
            measured,
            written: 0,
            flushed: false,
            closed: false,
            write_error: None,
        }
    }
}

impl Slot {
    /// Drives the exchange as far as the socket allows.
    #[inline]
    pub(super) fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Exchange, Failure>> {
        if self.local.slots.passed(self.index) {
            return Poll::Ready(Err(self.too_slow()));
        }
        if !self.attempt.flushed && self.attempt.write_error.is_none() {
            self.write(context);
        }
        self.read(context)
    }

    /// Writes what the socket takes. An error is kept for later: the server
    /// may have answered before it stopped listening.
    fn write(&mut self, context: &mut Context<'_>) {
        let (local, attempt) = (&*self.local, &mut self.attempt);
        let request = &local.shared.prepared.request;
        let Some(connection) = &mut self.connection else { return };
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
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Result<Exchange, Failure>> {
        loop {
            let Some(connection) = &mut self.connection else {
                return Poll::Ready(Err(Failure::new(Outcome::Reset, "no connection")));
            };
            let local = &*self.local;
            let mut buffer = local.buffer.borrow_mut();
            let length = match connection.transport.poll_read(context, &mut buffer) {
                Poll::Ready(Ok(0)) => {
                    drop(buffer);
                    return Poll::Ready(self.end());
                }
                Poll::Ready(Ok(length)) => length,
                Poll::Ready(Err(error)) => {
                    drop(buffer);
                    return Poll::Ready(Err(self.broken(&error)));
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
            local.recorder.borrow_mut().received(self.attempt.measured, length);
            if self.attempt.first_byte == 0 {
                self.attempt.first_byte = now;
            }
            let fed = self.response.feed(&mut local.heads.borrow_mut(), &buffer[..length]);
            match fed {
                Ok(Step::Complete(completed)) => {
                    drop(buffer);
                    return Poll::Ready(self.complete(completed, now));
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
    fn complete(&mut self, completed: Completed, done: Nanos) -> Result<Exchange, Failure> {
        if done > self.attempt.deadline {
            return Err(self.too_slow());
        }
        let Some(connection) = &mut self.connection else {
            return Err(Failure::new(Outcome::Reset, "no connection"));
        };
        let reused = std::mem::replace(&mut connection.used, true);
        let kept =
            completed.keep && self.attempt.flushed && self.local.shared.prepared.plan.keepalive;
        let attempt = &self.attempt;
        Ok(Exchange {
            start: attempt.start,
            sent: attempt.sent,
            first_byte: attempt.first_byte,
            done,
            completed,
            reused,
            kept,
        })
    }

    /// The server has closed the connection.
    fn end(&mut self) -> Result<Exchange, Failure> {
        match self.response.end() {
            End::Complete(completed) => {
                let now = self.local.now();
                self.attempt.closed = true;
                self.complete(completed, now)
            }
            End::Truncated => Err(Failure::new(
                Outcome::Truncated,
                "the connection was closed inside the response",
            )),
            End::Nothing => match self.attempt.write_error.take() {
                Some(error) => Err(unsent(&error)),
                None => Err(Failure::new(
                    Outcome::Reset,
                    format!("the server closed {} before it answered", self.kind()),
                )),
            },
        }
    }

    /// Reading failed.
    fn broken(&mut self, error: &io::Error) -> Failure {
        let reason = in_words(error);
        if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
            return Failure::new(Outcome::Tls, reason);
        }
        if self.response.begun() {
            return Failure::new(Outcome::Truncated, format!("{reason} inside the response"));
        }
        match self.attempt.write_error.take() {
            Some(error) => unsent(&error),
            None => Failure::new(Outcome::Reset, format!("{reason} on {}", self.kind())),
        }
    }

    fn kind(&self) -> &'static str {
        match &self.connection {
            Some(connection) if connection.used => "a kept connection",
            _ => "a new connection",
        }
    }

    fn too_slow(&self) -> Failure {
        let limit = Span::from(self.local.shared.prepared.plan.timeout);
        let request = self.local.shared.prepared.request.len();
        let what = if self.attempt.written < request {
            "request not fully sent"
        } else if self.response.begun() {
            "response not complete"
        } else {
            "no response"
        };
        Failure::new(Outcome::Timeout, format!("{what} within {limit}"))
    }
}

fn unsent(error: &io::Error) -> Failure {
    Failure::new(Outcome::Send, in_words(error))
}
