//! The same scripted servers as in `it`, against the io_uring driver. Where the
//! kernel refuses a ring, this is the tokio driver once more.

#![expect(clippy::unwrap_used, reason = "a script that fails must end its test")]

#[path = "../it/certificate.rs"]
mod certificate;
#[path = "../it/connections.rs"]
mod connections;
#[path = "../it/endings.rs"]
mod endings;
#[path = "../it/endpoints.rs"]
mod endpoints;
#[path = "../it/failures.rs"]
mod failures;
#[path = "../it/framing.rs"]
mod framing;
#[path = "../it/handshakes.rs"]
mod handshakes;
#[path = "../it/latencies.rs"]
mod latencies;
#[path = "../it/latencies_open_loop.rs"]
mod latencies_open_loop;
#[path = "../it/open_loop.rs"]
mod open_loop;
#[path = "../it/requests.rs"]
mod requests;
#[path = "../it/script.rs"]
mod script;
#[path = "../it/sealing.rs"]
mod sealing;
#[path = "../it/support.rs"]
mod support;
#[path = "../it/tls.rs"]
mod tls;

use benchd_engine::DriverChoice;

const DRIVER: DriverChoice = DriverChoice::Uring;
const SEALED: bool = false;
