//! What the end of a stream or connection means for an attempt.

use super::session::Session;
use crate::driver::failure::{Failure, in_words};
use crate::http2::{Breach, Code, Loss};
use benchd_model::Outcome;
use std::io;

/// How far an attempt had come when it failed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Where its request begins among all bytes of its connection.
    pub(super) position: u64,
    /// A part of its response had come.
    pub(super) begun: bool,
    /// Its connection had carried a request before.
    pub(super) reused: bool,
}

/// Why the attempt with this loss failed.
pub(super) fn of_loss(loss: Loss, progress: Progress) -> Failure {
    match loss {
        Loss::Breach(breach) => of_breach(breach),
        Loss::Reset(code) => reset(code, progress),
        Loss::NotProcessed(code) => left_behind(code, progress.begun),
    }
}

fn of_breach(Breach { code, what }: Breach) -> Failure {
    Failure::new(Outcome::Protocol, format!("the server sent {what}: {code}"))
}

fn reset(code: Code, progress: Progress) -> Failure {
    if progress.begun {
        let reason = format!("the stream was reset inside the response: {code}");
        return Failure::new(blame(code, Outcome::Truncated), reason);
    }
    let hint = match code {
        Code::REFUSED_STREAM => ", not processed",
        Code::HTTP_1_1_REQUIRED => ", use protocol http1",
        _ => "",
    };
    let reason = format!("the server reset the stream: {code}{hint}");
    Failure::new(blame(code, Outcome::Reset), reason)
}

/// The server has announced by GOAWAY that it has not processed the request.
pub(super) fn left_behind(code: Code, begun: bool) -> Failure {
    let outcome = if begun { Outcome::Truncated } else { Outcome::Reset };
    let reason = match code {
        Code::NO_ERROR => "not processed: the server was closing the connection (GOAWAY)".into(),
        _ => format!("not processed: the server gave the connection up (GOAWAY {code})"),
    };
    Failure::new(blame(code, outcome), reason)
}

/// The connection ended under the attempt.
pub(super) fn of_end(session: &Session, progress: Progress) -> Failure {
    if let Some(stranger) = session.http2.stranger() {
        return Failure::new(Outcome::Protocol, stranger);
    }
    if let Some(breach) = session.http2.breach() {
        return of_breach(breach);
    }
    let after = match session.http2.farewell() {
        Some(code) => format!(" (after GOAWAY {code})"),
        None => String::new(),
    };
    if let Some(error) = session.read_error.as_ref().filter(|error| is_tls(error)) {
        return Failure::new(Outcome::Tls, in_words(error));
    }
    let broken = session.read_error.as_ref().map(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "closed without TLS close_notify".to_owned(),
        _ => in_words(error),
    });
    if progress.begun {
        let how = broken.unwrap_or_else(|| "the connection was closed".to_owned());
        return Failure::new(Outcome::Truncated, format!("{how} inside the response{after}"));
    }
    if let Some(error) = &session.write_error
        && progress.position >= session.written
    {
        return Failure::unsent(error);
    }
    let kind = if progress.reused { "a kept connection" } else { "a new connection" };
    let reason = match broken {
        Some(error) => format!("{error} on {kind}, before an answer{after}"),
        None => format!("the server closed {kind} before it answered{after}"),
    };
    Failure::new(Outcome::Reset, reason)
}

fn is_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// Codes by which one side accuses the other of a breach are a matter of the
/// protocol, whoever says so; others are `otherwise`.
const fn blame(code: Code, otherwise: Outcome) -> Outcome {
    match code {
        Code::PROTOCOL_ERROR
        | Code::FLOW_CONTROL_ERROR
        | Code::SETTINGS_TIMEOUT
        | Code::STREAM_CLOSED
        | Code::FRAME_SIZE_ERROR
        | Code::COMPRESSION_ERROR => Outcome::Protocol,
        _ => otherwise,
    }
}
