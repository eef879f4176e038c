//! What the h2 crate's errors mean for an attempt.

use super::wire::Seen;
use crate::clock::Nanos;
use crate::driver::failure::{Failure, in_words};
use benchd_model::Outcome;
use h2::Reason;
use std::io;

/// How far an attempt had come when it failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// When its request was handed over.
    pub(super) sent: Nanos,
    /// A part of its response had come.
    pub(super) begun: bool,
    /// Its connection had carried a request before.
    pub(super) reused: bool,
}

/// Why the attempt that met `error` failed.
pub(super) fn of_stream(error: &h2::Error, seen: &Seen, progress: Progress) -> Failure {
    match error.reason() {
        Some(code) if error.is_library() => violation(code),
        Some(code) if error.is_reset() => reset(code, progress),
        Some(code) if error.is_go_away() => left_behind(code, progress),
        _ if error.is_io() => of_end(seen, progress),
        _ => Failure::new(Outcome::Protocol, error.to_string()),
    }
}

/// The crate has found the server in breach of RFC 9113.
fn violation(code: Reason) -> Failure {
    let what = match code {
        Reason::ENHANCE_YOUR_CALM => {
            "a flood of empty or tiny frames, or of header fields, which the h2 library cuts off"
        }
        Reason::FRAME_SIZE_ERROR => "a frame of a length that is not allowed",
        Reason::FLOW_CONTROL_ERROR => "more than the flow-control window allows",
        Reason::COMPRESSION_ERROR => "header fields that cannot be decoded",
        _ => {
            "a frame or response that RFC 9113 forbids (malformed, out of place, or with another length than its Content-Length)"
        }
    };
    Failure::new(Outcome::Protocol, format!("the server sent {what}: {}", name(code)))
}

fn reset(code: Reason, progress: Progress) -> Failure {
    let code_name = name(code);
    if progress.begun {
        let reason = format!("the stream was reset inside the response: {code_name}");
        return Failure::new(blame(code, Outcome::Truncated), reason);
    }
    let hint = match code {
        Reason::REFUSED_STREAM => ", not processed",
        Reason::HTTP_1_1_REQUIRED => ", use protocol http1",
        _ => "",
    };
    let reason = format!("the server reset the stream: {code_name}{hint}");
    Failure::new(blame(code, Outcome::Reset), reason)
}

/// The server has announced by GOAWAY that it has not processed the request.
fn left_behind(code: Reason, progress: Progress) -> Failure {
    let outcome = if progress.begun { Outcome::Truncated } else { Outcome::Reset };
    let reason = match code {
        Reason::NO_ERROR => "not processed: the server was closing the connection (GOAWAY)".into(),
        _ => format!("not processed: the server gave the connection up (GOAWAY {})", name(code)),
    };
    Failure::new(blame(code, outcome), reason)
}

/// The connection ended under the attempt.
pub(super) fn of_end(seen: &Seen, progress: Progress) -> Failure {
    let read_error = seen.read_error.borrow();
    let after = match seen.farewell.get() {
        Some(code) => format!(" (after GOAWAY {})", name(code)),
        None => String::new(),
    };
    if let Some(error) = read_error.as_ref().filter(|error| is_tls(error)) {
        return Failure::new(Outcome::Tls, in_words(error));
    }
    let broken = read_error.as_ref().map(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "closed without TLS close_notify".to_owned(),
        _ => in_words(error),
    });
    if progress.begun {
        let how = broken.unwrap_or_else(|| "the connection was closed".to_owned());
        return Failure::new(Outcome::Truncated, format!("{how} inside the response{after}"));
    }
    if let Some(error) = seen.write_error.borrow().as_ref()
        && progress.sent >= seen.written_at.get()
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
fn blame(code: Reason, otherwise: Outcome) -> Outcome {
    match code {
        Reason::PROTOCOL_ERROR
        | Reason::FLOW_CONTROL_ERROR
        | Reason::SETTINGS_TIMEOUT
        | Reason::STREAM_CLOSED
        | Reason::FRAME_SIZE_ERROR
        | Reason::COMPRESSION_ERROR => Outcome::Protocol,
        _ => otherwise,
    }
}

/// A code as RFC 9113 writes it.
fn name(code: Reason) -> String {
    match format!("{code:?}") {
        unknown if unknown.starts_with("Reason(") => format!("code {}", u32::from(code)),
        name => name,
    }
}
