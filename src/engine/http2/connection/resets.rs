//! Streams that were reset. The server may have sent frames on them before it
//! knew, so those are nothing to blame it for (RFC 9113, 5.1).

use std::collections::VecDeque;

const MOST: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Resets {
    /// The last ones.
    streams: VecDeque<u32>,
    /// The highest number of those that are forgotten.
    forgotten: u32,
}

impl Resets {
    pub(super) fn keep(&mut self, stream: u32) {
        if self.streams.len() == MOST
            && let Some(oldest) = self.streams.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.streams.push_back(stream);
    }

    /// True when `stream` has been reset, or may have been.
    pub(super) fn may_have(&self, stream: u32) -> bool {
        stream <= self.forgotten || self.streams.contains(&stream)
    }
}
