//! The figures: kept per thread without locks, cut into seconds, merged over
//! threads by the coordinator. It knows neither sockets nor HTTP.

mod cpu;
mod in_flight;
mod merge;
mod recorder;
mod second;

pub(crate) use merge::Merger;
pub(crate) use recorder::{Exchange, Handshake, Recorder, ThreadEnd};
pub(crate) use second::Second;

/// The four times of one complete response, as ab defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Start of the attempt, in µs since the start of the measuring window.
    pub start_us: u64,
    /// Start to the first write, TCP and TLS included; 0 on a kept connection.
    pub connect_us: u32,
    /// First write to first byte.
    pub wait_us: u32,
    /// Start to the last byte.
    pub total_us: u32,
}
