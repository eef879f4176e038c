//! Use cases: what the service does, without a word of HTTP.

pub(crate) mod cancel;
pub(crate) mod submit;
pub(crate) mod wait;
