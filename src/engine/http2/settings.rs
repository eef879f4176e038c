//! SETTINGS (RFC 9113, 6.5): ours, and what the server's say.

use super::code::Breach;
use super::frame::{self, HIGHEST, LARGEST, SETTINGS, write_head, write_window_update};
use super::{LARGEST_HEAD, hpack};

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Windows of each stream and of the connection, in bytes, as h2load has them:
/// so large that no server ever waits for us.
pub(super) const WINDOW: u32 = (1 << 30) - 1;
/// Windows until a side says otherwise.
pub(super) const FIRST_WINDOW: u32 = 65_535;

/// How we begin: the preface, our settings and a large window.
pub(super) fn write_greeting(out: &mut Vec<u8>) {
    let settings = [
        (ENABLE_PUSH, 0),
        (INITIAL_WINDOW_SIZE, WINDOW),
        (MAX_HEADER_LIST_SIZE, LARGEST_HEAD as u32),
    ];
    out.extend_from_slice(PREFACE);
    write_head(out, settings.len() * 6, SETTINGS, 0, 0);
    for (name, value) in settings {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
    write_window_update(out, 0, WINDOW - FIRST_WINDOW);
}

/// What the server has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) header_table: u32,
    pub(super) most_streams: usize,
    pub(super) window: u32,
    pub(super) largest_frame: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            header_table: hpack::TABLE as u32,
            most_streams: usize::MAX,
            window: FIRST_WINDOW,
            largest_frame: LARGEST,
        }
    }
}

impl Settings {
    /// Takes one of the server's.
    pub(super) fn take(&mut self, name: u16, value: u32) -> Result<(), Breach> {
        match name {
            HEADER_TABLE_SIZE => self.header_table = value,
            // RFC 9113, 6.5.2: a server must not set it to anything but 0.
            ENABLE_PUSH if value != 0 => {
                return Err(Breach::protocol("SETTINGS_ENABLE_PUSH with another value than 0"));
            }
            MAX_CONCURRENT_STREAMS => self.most_streams = value as usize,
            INITIAL_WINDOW_SIZE if value > HIGHEST => {
                return Err(Breach::flow_control("SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1"));
            }
            INITIAL_WINDOW_SIZE => self.window = value,
            MAX_FRAME_SIZE if !(LARGEST as u32..1 << 24).contains(&value) => {
                let what = "SETTINGS_MAX_FRAME_SIZE outside of 16384 to 2^24-1";
                return Err(Breach::protocol(what));
            }
            MAX_FRAME_SIZE => self.largest_frame = value as usize,
            _ => {}
        }
        Ok(())
    }

    /// Takes the payload of one frame, in its order.
    pub(super) fn take_all(&mut self, payload: &[u8]) -> Result<(), Breach> {
        let (settings, []) = payload.as_chunks::<6>() else {
            return Err(Breach::frame_size("SETTINGS of a wrong length"));
        };
        settings.iter().try_for_each(|&[n0, n1, v0, v1, v2, v3]| {
            self.take(u16::from_be_bytes([n0, n1]), u32::from_be_bytes([v0, v1, v2, v3]))
        })
    }
}

pub(super) fn write_ack(out: &mut Vec<u8>) {
    write_head(out, 0, SETTINGS, frame::ACK, 0);
}
