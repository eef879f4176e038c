//! One HTTP/2 connection: opened until the server's SETTINGS are known, then
//! driven by the task that owns it.

use super::super::connect::{Stage, connect};
use super::super::local::Local;
use super::failure::{Progress, of_end, of_stream};
use super::stream::Stream;
use super::wire::{Seen, Wire};
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::endpoint::Route;
use benchd_model::Outcome;
use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Ping, PingPong};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Windows of each stream and of the connection, in bytes, as h2load has them:
/// so large that no server ever waits for us.
const WINDOW: u32 = (1 << 30) - 1;

/// No more is taken of a response head, as with HTTP/1.
const LARGEST_HEAD: u32 = 64 * 1024;

/// Stands for a limit on streams that is not known yet.
const NOT_TOLD: usize = usize::MAX - 1;

/// One HTTP/2 connection.
pub(super) struct Session {
    /// Tells the sessions of one slot apart.
    pub(super) number: usize,
    /// The number of its endpoint.
    pub(super) endpoint: u32,
    connection: Connection<Wire, Bytes>,
    pub(super) sender: SendRequest<Bytes>,
    pub(super) seen: Rc<Seen>,
    /// Streams in flight.
    pub(super) streams: usize,
    /// How many the server allows at the same time.
    pub(super) limit: usize,
    /// It has carried a request.
    pub(super) carried: bool,
    /// Nobody waited for it when it was opened.
    pub(super) ahead: bool,
    pings: Option<PingPong>,
    /// When the server was asked whether it still lives.
    asked: Option<Nanos>,
}

/// Opens session `number` for the connection whose own slot is `slot` and has
/// its deadline armed.
pub(super) async fn open(
    local: Rc<Local>,
    slot: usize,
    route: Route,
    number: usize,
    stage: Rc<Cell<Stage>>,
) -> Result<Session, Failure> {
    let connection = connect(&local, slot, route, &stage).await?;
    if let Some(agreed) = connection.transport.agreed_protocol().filter(|name| *name != b"h2") {
        return Err(not_agreed(agreed));
    }
    stage.set(Stage::Greeting);
    let (wire, seen) = Wire::new(connection, local.clone());
    let begun = settings().handshake(wire).await;
    let (sender, mut connection) = begun.map_err(|error| unopened(&error, &seen))?;
    let pings = connection.ping_pong();
    let mut session = Session {
        number,
        endpoint: route.endpoint,
        connection,
        sender,
        seen,
        streams: 0,
        limit: NOT_TOLD,
        carried: false,
        ahead: false,
        pings,
        asked: None,
    };
    poll_fn(|context| session.poll_settled(&local, slot, context)).await?;
    Ok(session)
}

fn settings() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_header_list_size(LARGEST_HEAD)
        .initial_max_send_streams(NOT_TOLD)
        // A server that breaks the protocol again and again is to be measured.
        .max_local_error_reset_streams(None);
    builder
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

/// Why a connection that is open did not become an HTTP/2 one.
fn unopened(error: &h2::Error, seen: &Seen) -> Failure {
    if let Some(stranger) = seen.stranger() {
        return Failure::new(Outcome::Protocol, stranger);
    }
    of_stream(error, seen, Progress { sent: 0, begun: false, reused: false })
}

impl Session {
    /// Drives the connection: reads once, sends what is queued. Ready when it
    /// is over.
    #[inline]
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        self.seen.begin_turn();
        let polled = Pin::new(&mut self.connection).poll(context);
        self.limit = self.sender.current_max_send_streams();
        if let Poll::Ready(ended) = &polled {
            self.seen.over.set(true);
            self.keep_farewell(ended.as_ref().err(), context);
        }
        polled
    }

    /// The crate may call a connection that the server gave up an ordinary end.
    #[cold]
    fn keep_farewell(&mut self, error: Option<&h2::Error>, context: &mut Context<'_>) {
        let code = |error: &h2::Error| {
            let farewell = error.is_go_away() && error.is_remote();
            error.reason().filter(|_| farewell)
        };
        let refusal = match self.sender.poll_ready(context) {
            Poll::Ready(Err(error)) => code(&error),
            Poll::Ready(Ok(())) | Poll::Pending => None,
        };
        self.seen.farewell.set(error.and_then(code).or(refusal));
    }

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
        let polled = self.poll(context);
        if let Some(stranger) = self.seen.stranger() {
            return Poll::Ready(Err(Failure::new(Outcome::Protocol, stranger)));
        }
        if self.limit != NOT_TOLD {
            return Poll::Ready(Ok(()));
        }
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(unopened(&error, &self.seen))),
            Poll::Ready(Ok(())) => {
                let progress = Progress { sent: 0, begun: false, reused: false };
                Poll::Ready(Err(of_end(&self.seen, progress)))
            }
        }
    }

    /// A request timed out. True when the connection itself is dead: the server has
    /// not read so far, or has said nothing at all since then, although it was asked
    /// before by a PING.
    pub(super) fn is_dead(&mut self, request: &Stream, now: Nanos) -> bool {
        let sent = request.sent;
        if self.seen.taken.get() < request.number {
            return true;
        }
        if self.seen.read_at.get() >= sent {
            return false;
        }
        match self.asked {
            // Asked and not answered: for a whole time limit, or not yet so long.
            Some(asked) if self.seen.read_at.get() < asked => asked <= sent,
            _ => {
                self.ask(now);
                false
            }
        }
    }

    fn ask(&mut self, now: Nanos) {
        let Some(pings) = &mut self.pings else { return };
        // The answer to the last one, if there was one, is taken first.
        let answered = pings.poll_pong(&mut Context::from_waker(Waker::noop()));
        if !matches!(answered, Poll::Ready(Err(_))) && pings.send_ping(Ping::opaque()).is_ok() {
            self.asked = Some(now);
        }
    }
}
