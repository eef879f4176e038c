//! HTTP/2 from the client's side, free of I/O: requests become frames, response
//! bytes become events. RFC 9113 decides every case, RFC 7541 what fields say.
//! It must not know sockets, clocks or counters, so that drivers can swap.

mod code;
mod connection;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fate;
mod frame;
mod heads;
mod hpack;
#[cfg(test)]
mod oracle;
mod reader;
mod request;
mod settings;

pub(crate) use code::{Breach, Code};
pub(crate) use connection::{Connection, Event, Loss};
pub(crate) use request::Request;

/// No more is taken of a response head, as with HTTP/1.
const LARGEST_HEAD: usize = 64 * 1024;
