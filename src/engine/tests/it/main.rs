//! The engine against small scripted servers that misbehave on purpose.

#![expect(clippy::unwrap_used, reason = "a script that fails must end its test")]

mod connections;
mod endings;
mod failures;
mod framing;
mod requests;
mod support;
mod tls;
