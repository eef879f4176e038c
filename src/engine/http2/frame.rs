//! Frames (RFC 9113, 4 and 6): their heads, and those that we send.

use super::code::Code;

/// Length of a frame's head.
pub(super) const HEAD: usize = 9;
/// The largest payload that a side takes unless it says otherwise, which we do not.
pub(super) const LARGEST: usize = 16_384;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITISED: u8 = 0x20;

/// The highest number of a stream, and the largest window.
pub(super) const HIGHEST: u32 = 0x7fff_ffff;

/// A frame's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Head {
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEAD]) -> Self {
        let [l0, l1, l2, kind, flags, stream @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & HIGHEST,
        }
    }

    #[inline]
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A number of 31 bits; the reserved bit is ignored.
pub(super) fn number(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & HIGHEST
}

#[inline]
pub(super) fn write_head(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind, flags, s0, s1, s2, s3]);
}

/// HEADERS and, where `block` is larger than a frame may be, CONTINUATION.
#[inline]
pub(super) fn write_headers(
    out: &mut Vec<u8>,
    stream: u32,
    block: &[u8],
    end_stream: bool,
    largest: usize,
) {
    let (mut kind, mut flags) = (HEADERS, if end_stream { END_STREAM } else { 0 });
    let mut rest = block;
    while rest.len() > largest {
        let (piece, behind) = rest.split_at(largest);
        write_head(out, piece.len(), kind, flags, stream);
        out.extend_from_slice(piece);
        (kind, flags, rest) = (CONTINUATION, 0, behind);
    }
    write_head(out, rest.len(), kind, flags | END_HEADERS, stream);
    out.extend_from_slice(rest);
}

pub(super) fn write_reset(out: &mut Vec<u8>, stream: u32, code: Code) {
    write_head(out, 4, RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

pub(super) fn write_window_update(out: &mut Vec<u8>, stream: u32, more: u32) {
    write_head(out, 4, WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&more.to_be_bytes());
}

pub(super) fn write_ping(out: &mut Vec<u8>, flags: u8, opaque: &[u8]) {
    write_head(out, opaque.len(), PING, flags, 0);
    out.extend_from_slice(opaque);
}

/// We take no streams of the server's, so the last one of them is 0.
pub(super) fn write_goaway(out: &mut Vec<u8>, code: Code) {
    write_head(out, 8, GOAWAY, 0, 0);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&code.0.to_be_bytes());
}
