//! One request and its response on one stream.

use super::failure::{Progress, of_end, of_stream};
use super::session::Session;
use super::wire::Seen;
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::driver::talk::shortened;
use crate::http1::Completed;
use crate::http2::Request;
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use std::future::Future as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// An exchange in flight.
pub(super) struct Stream {
    /// Of the session that carries it.
    pub(super) session: usize,
    pub(super) seen: Rc<Seen>,
    pub(super) reused: bool,
    /// When its request was handed over.
    pub(super) sent: Nanos,
    /// The how manieth of its session it is.
    pub(super) number: usize,
    pub(super) first_byte: Nanos,
    /// The `Server` field, if it was asked for.
    pub(super) software: Option<String>,
    sender: SendStream<Bytes>,
    /// What is left to send of the body.
    unsent: Bytes,
    part: Part,
    status: u16,
    body: u64,
}

/// What is awaited.
enum Part {
    Head(ResponseFuture),
    Body(RecvStream),
}

impl Stream {
    /// Sends one more request on `session`, at `now`.
    pub(super) fn open(
        session: &mut Session,
        request: &Request,
        now: Nanos,
    ) -> Result<Self, h2::Error> {
        let bodyless = request.body.is_empty();
        let (response, mut sender) = session.sender.send_request(request.head(), bodyless)?;
        if !bodyless {
            sender.reserve_capacity(request.body.len());
        }
        session.streams += 1;
        let number = session.seen.handed.get() + 1;
        session.seen.handed.set(number);
        Ok(Self {
            session: session.number,
            seen: session.seen.clone(),
            reused: std::mem::replace(&mut session.carried, true),
            sent: now,
            number,
            first_byte: 0,
            software: None,
            sender,
            unsent: request.body.clone(),
            part: Part::Head(response),
            status: 0,
            body: 0,
        })
    }

    /// Goes on as far as the connection has come. Ready with the response when
    /// it is complete.
    #[inline]
    pub(super) fn poll(
        &mut self,
        wants_software: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<Completed, Failure>> {
        if !self.unsent.is_empty() {
            self.send_body(context);
        }
        match self.receive(wants_software, context) {
            Poll::Ready(Ok(())) => {
                let (status, body) = (self.status, self.body);
                Poll::Ready(Ok(Completed { status, body, keep: true, excess: false }))
            }
            Poll::Ready(Err(error)) => {
                Poll::Ready(Err(of_stream(&error, &self.seen, self.progress())))
            }
            Poll::Pending if self.seen.over.get() => {
                Poll::Ready(Err(of_end(&self.seen, self.progress())))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn receive(
        &mut self,
        wants_software: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), h2::Error>> {
        if let Part::Head(response) = &mut self.part {
            // Interim responses (RFC 9110, 15.2) are the first bytes, and no more.
            while let Some(interim) = ready!(response.poll_informational(context)) {
                interim?;
                self.first_byte = self.seen.read_at.get();
            }
            let response = ready!(Pin::new(response).poll(context))?;
            self.status = response.status().as_u16();
            if self.first_byte == 0 {
                self.first_byte = self.seen.read_at.get();
            }
            if wants_software {
                let name = response.headers().get(http::header::SERVER);
                self.software =
                    name.map(|name| shortened(&String::from_utf8_lossy(name.as_bytes())));
            }
            self.part = Part::Body(response.into_body());
        }
        let Part::Body(body) = &mut self.part else { return Poll::Pending };
        while !body.is_end_stream() {
            match ready!(body.poll_data(context)) {
                Some(Ok(bytes)) => {
                    self.body += bytes.len() as u64;
                    if !body.is_end_stream() {
                        body.flow_control().release_capacity(bytes.len())?;
                    }
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => {
                    ready!(body.poll_trailers(context))?;
                    return Poll::Ready(Ok(()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Hands over as much of the body as the server's windows allow. What stops
    /// it for good, the response's side will tell.
    fn send_body(&mut self, context: &mut Context<'_>) {
        while !self.unsent.is_empty() {
            let Poll::Ready(Some(Ok(room))) = self.sender.poll_capacity(context) else { return };
            let piece = self.unsent.split_to(room.min(self.unsent.len()));
            if self.sender.send_data(piece, self.unsent.is_empty()).is_err() {
                return;
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress { sent: self.sent, begun: self.has_begun(), reused: self.reused }
    }

    fn has_begun(&self) -> bool {
        self.first_byte != 0
    }

    /// What a request that takes too long still lacks.
    pub(super) fn lack(&self) -> &'static str {
        if self.has_begun() {
            "response not complete"
        } else if !self.unsent.is_empty() {
            "request not fully sent"
        } else {
            "no response"
        }
    }

    /// Tells the server that nobody waits for the rest any more.
    pub(super) fn cancel(&mut self) {
        self.sender.send_reset(Reason::CANCEL);
    }
}
