//! Error codes (RFC 9113, 7), and breaches of the protocol that end with one.

use std::fmt;

/// An error code, known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const NO_ERROR: Self = Self(0);
    pub(crate) const PROTOCOL_ERROR: Self = Self(1);
    pub(crate) const FLOW_CONTROL_ERROR: Self = Self(3);
    pub(crate) const SETTINGS_TIMEOUT: Self = Self(4);
    pub(crate) const STREAM_CLOSED: Self = Self(5);
    pub(crate) const FRAME_SIZE_ERROR: Self = Self(6);
    pub(crate) const REFUSED_STREAM: Self = Self(7);
    pub(crate) const CANCEL: Self = Self(8);
    pub(crate) const COMPRESSION_ERROR: Self = Self(9);
    pub(crate) const ENHANCE_YOUR_CALM: Self = Self(11);
    pub(crate) const HTTP_1_1_REQUIRED: Self = Self(13);
}

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for Code {
    /// As RFC 9113 writes it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => out.write_str(name),
            None => write!(out, "code {}", self.0),
        }
    }
}

/// What the server has sent against the rules, and the code that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) code: Code,
    /// Continues "the server sent …".
    pub(crate) what: &'static str,
}

impl Breach {
    pub(crate) const fn protocol(what: &'static str) -> Self {
        Self { code: Code::PROTOCOL_ERROR, what }
    }

    pub(crate) const fn frame_size(what: &'static str) -> Self {
        Self { code: Code::FRAME_SIZE_ERROR, what }
    }

    pub(crate) const fn flow_control(what: &'static str) -> Self {
        Self { code: Code::FLOW_CONTROL_ERROR, what }
    }
}
