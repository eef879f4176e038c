//! The engine against small scripted servers that misbehave on purpose.

mod connections;
mod endings;
mod failures;
mod framing;
mod requests;
mod support;
mod tls;
