//! HTTP/1.1 and HTTP/1.0 from the client's side, free of I/O: a request becomes
//! bytes once, response bytes become events. RFC 9112 decides every case.
//! It must not know sockets, clocks or counters, so that drivers can swap.

mod chunks;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fate;
mod head;
#[cfg(test)]
mod oracle;
mod request;
mod response;

pub(crate) use head::HeadCache;
pub(crate) use request::request_bytes;
pub(crate) use response::{Completed, End, Response, Step};

/// The largest response head taken, in bytes.
pub(crate) const MAX_HEAD: usize = 64 * 1024;

/// Why bytes are no HTTP response, in words.
pub(crate) type Malformed = &'static str;

/// True for what a token may hold (RFC 9110, 5.6.2).
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
        || byte.is_ascii_alphanumeric()
}
