//! One user's talk with the server, request by request, as far as it is the
//! same for every driver: what bytes, ends and errors mean for the attempt.
//! It knows no sockets.

use super::failure::{Failure, in_words};
use crate::clock::Nanos;
use crate::http1::{Completed, End, HeadCache, Response, Step};
use crate::record::{Exchange, Recorder};
use crate::shared::Shared;
use benchd_model::Outcome;
use benchd_model::recording::FirstResponse;
use std::io;

/// Of a server's name, so much is kept.
const LONGEST_NAME: usize = 256;

/// The talk of one slot.
#[derive(Debug, Default)]
pub(super) struct Talk {
    response: Response,
    pub(super) attempt: Attempt,
    /// The connection has carried a request.
    pub(super) used: bool,
    /// The number of the endpoint that the connection leads to.
    pub(super) endpoint: u32,
}

/// The attempt that a slot is making.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) start: Nanos,
    pub(super) sent: Nanos,
    first_byte: Nanos,
    deadline: Nanos,
    pub(super) measured: bool,
    /// How late the request of an open loop went out is recorded.
    pub(super) lateness_known: bool,
    /// The whole request has gone out.
    pub(super) flushed: bool,
    /// The server has closed the connection.
    pub(super) closed: bool,
    /// Bytes of the request that are written.
    pub(super) written: usize,
    /// Why no more can be written. The server may have answered before it
    /// stopped listening, so this is not the end yet.
    pub(super) write_error: Option<io::Error>,
}

impl Talk {
    /// Begins an attempt that counts from `start` at `now`. On a kept connection
    /// the request is sent at once; a new connection moves `sent` to when it is
    /// ready.
    #[inline]
    pub(super) fn begin(&mut self, start: Nanos, now: Nanos, deadline: Nanos, measured: bool) {
        self.attempt = Attempt { start, sent: now, deadline, measured, ..Attempt::default() };
    }

    /// Records how late the request of an open loop goes out, but not again when
    /// it has to be sent anew.
    #[inline]
    pub(super) fn goes_out(&mut self, recorder: &mut Recorder) {
        let attempt = &mut self.attempt;
        if !std::mem::replace(&mut attempt.lateness_known, true) {
            recorder.sent_late(attempt.measured, attempt.start, attempt.sent);
        }
    }

    /// Forgets what a failed attempt has left.
    pub(super) fn forget(&mut self) {
        self.response = Response::default();
    }

    /// Takes bytes that came at `now`; none while the response goes on.
    #[inline]
    pub(super) fn take(
        &mut self,
        shared: &Shared,
        heads: &mut HeadCache,
        bytes: &[u8],
        now: Nanos,
    ) -> Option<Result<Exchange, Failure>> {
        if self.attempt.first_byte == 0 {
            self.attempt.first_byte = now;
        }
        match self.response.feed(heads, bytes) {
            Ok(Step::Complete(completed)) => Some(self.complete(shared, completed, now)),
            Ok(Step::More) => self.goes_on(shared, now),
            Err(reason) => Some(Err(Failure::new(Outcome::Protocol, reason))),
        }
    }

    /// Bytes that are certain to be body, so that nobody need look at them.
    #[inline]
    pub(super) fn unseen(&self) -> u64 {
        self.response.left()
    }

    /// Takes `length` of the unseen bytes.
    #[inline]
    pub(super) fn skip(
        &mut self,
        shared: &Shared,
        length: usize,
        now: Nanos,
    ) -> Option<Result<Exchange, Failure>> {
        match self.response.skip(length as u64) {
            Step::Complete(completed) => Some(self.complete(shared, completed, now)),
            Step::More => self.goes_on(shared, now),
        }
    }

    /// More is to come. Where it never stops coming, nobody else would notice for
    /// long that the time is over.
    #[inline]
    fn goes_on(&self, shared: &Shared, now: Nanos) -> Option<Result<Exchange, Failure>> {
        let late = now > self.attempt.deadline;
        late.then(|| Err(Failure::too_slow(shared, Outcome::Timeout, "response not complete")))
    }

    /// A whole response is there; whether in time, the last stamp decides.
    #[inline]
    fn complete(
        &mut self,
        shared: &Shared,
        completed: Completed,
        done: Nanos,
    ) -> Result<Exchange, Failure> {
        let attempt = &self.attempt;
        if done > attempt.deadline {
            // It was not when the time was over.
            let what = "response not complete";
            return Err(Failure::too_slow(shared, Outcome::Timeout, what));
        }
        let keeps = shared.prepared.plan.keepalive && attempt.flushed;
        Ok(Exchange {
            endpoint: self.endpoint,
            start: attempt.start,
            sent: attempt.sent,
            first_byte: attempt.first_byte,
            done,
            completed,
            reused: std::mem::replace(&mut self.used, true),
            kept: completed.keep && keeps,
        })
    }

    /// The server has closed the connection.
    pub(super) fn end(&mut self, shared: &Shared, now: Nanos) -> Result<Exchange, Failure> {
        match self.response.end() {
            End::Complete(completed) => {
                self.attempt.closed = true;
                self.complete(shared, completed, now)
            }
            End::Truncated => {
                let reason = "the connection was closed inside the response";
                Err(Failure::new(Outcome::Truncated, reason))
            }
            End::Nothing => Err(match self.attempt.write_error.take() {
                Some(error) => Failure::unsent(&error),
                None => {
                    let kind = self.kind();
                    let reason = format!("the server closed {kind} before it answered");
                    Failure::new(Outcome::Reset, reason)
                }
            }),
        }
    }

    /// Reading failed.
    pub(super) fn broken(&mut self, error: &io::Error) -> Failure {
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "closed without TLS close_notify".to_owned(),
            _ => in_words(error),
        };
        if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
            return Failure::new(Outcome::Tls, crate::tls::reason(error));
        }
        if self.response.begun() {
            return Failure::new(Outcome::Truncated, format!("{reason} inside the response"));
        }
        match self.attempt.write_error.take() {
            Some(error) => Failure::unsent(&error),
            None => {
                let kind = self.kind();
                Failure::new(Outcome::Reset, format!("{reason} on {kind}, before an answer"))
            }
        }
    }

    /// The deadline has passed.
    pub(super) fn too_slow(&self, shared: &Shared) -> Failure {
        let what = if self.attempt.written < shared.prepared.request.len() {
            "request not fully sent"
        } else if self.response.begun() {
            "response not complete"
        } else {
            "no response"
        };
        Failure::too_slow(shared, Outcome::Timeout, what)
    }

    const fn kind(&self) -> &'static str {
        if self.used { "a kept connection" } else { "a new connection" }
    }

    /// Records a complete exchange.
    #[inline]
    pub(super) fn settle(
        &self,
        exchange: &Exchange,
        recorder: &mut Recorder,
        heads: &HeadCache,
        describe_tls: impl FnOnce() -> Option<String>,
    ) {
        settle(self.attempt.measured, exchange, recorder, || FirstResponse {
            software: heads.server().map(shortened),
            document_bytes: exchange.completed.body,
            tls: describe_tls(),
        });
        if self.attempt.measured && exchange.completed.excess {
            recorder.note(super::failure::UNASKED.to_owned());
        }
    }

    /// Records a failed attempt.
    pub(super) fn fail(&mut self, failure: &Failure, recorder: &mut Recorder, now: Nanos) {
        let attempt = &self.attempt;
        if attempt.measured {
            let (outcome, reason) = (failure.outcome, &*failure.reason);
            recorder.failed(self.endpoint, outcome, reason, attempt.start, now);
        } else {
            recorder.warmed_up(failure.outcome, now);
        }
        self.forget();
    }
}

/// Records a complete exchange, and what it tells of the server if it is the
/// first one.
#[inline]
pub(super) fn settle(
    measured: bool,
    exchange: &Exchange,
    recorder: &mut Recorder,
    first: impl FnOnce() -> FirstResponse,
) {
    if !measured {
        recorder.warmed_up(Outcome::Ok, exchange.done);
        return;
    }
    if recorder.wants_first_response() {
        recorder.offer_first_response(exchange.completed.status, first);
    }
    recorder.complete(exchange);
}

/// A server's name, as much of it as is kept.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::Talk;
    use crate::http1::HeadCache;
    use crate::shared::Shared;
    use benchd_model::Outcome;

    #[test]
    fn a_body_that_goes_on_ends_with_its_time() {
        let shared = Shared::for_test("127.0.0.1:1".parse().unwrap());
        let mut heads = HeadCache::new("GET", false);
        let mut talk = Talk::default();
        talk.begin(1, 1, 10, true);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
        assert!(talk.take(&shared, &mut heads, head, 5).is_none());
        assert!(talk.take(&shared, &mut heads, b"a", 10).is_none());
        assert!(talk.skip(&shared, 1, 10).is_none());
        let late = [talk.take(&shared, &mut heads, b"b", 11), talk.skip(&shared, 1, 11)];
        for ended in late {
            assert_eq!(ended.unwrap().unwrap_err().outcome, Outcome::Timeout);
        }
    }

    #[test]
    fn a_response_that_is_complete_too_late_is_not_called_none() {
        let shared = Shared::for_test("127.0.0.1:1".parse().unwrap());
        let mut heads = HeadCache::new("GET", false);
        let mut talk = Talk::default();
        for (now, in_time) in [(10, true), (11, false)] {
            talk.begin(1, 1, 10, true);
            talk.attempt.written = shared.prepared.request.len();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            let ended = talk.take(&shared, &mut heads, answer, now).unwrap();
            assert_eq!(ended.is_ok(), in_time);
            if let Err(failure) = ended {
                assert_eq!(failure.outcome, Outcome::Timeout);
                assert!(failure.reason.contains("not complete"), "{}", failure.reason);
            }
        }
    }
}
