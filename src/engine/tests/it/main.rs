//! The engine against small scripted servers that misbehave on purpose, on
//! the portable driver; `uring` runs the same on the other one.

#![expect(clippy::unwrap_used, reason = "a script that fails must end its test")]

mod certificate;
mod connections;
mod endings;
mod endpoints;
mod failures;
mod framing;
mod handshakes;
mod http2;
mod latencies;
mod latencies_open_loop;
mod open_loop;
mod requests;
mod script;
mod sealing;
mod support;
mod tls;

use benchd_engine::DriverChoice;

const DRIVER: DriverChoice = DriverChoice::Tokio;
const SEALED: bool = false;
