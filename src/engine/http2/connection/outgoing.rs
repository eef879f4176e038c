//! What is to be written to the socket.

/// Written bytes are moved away when there are so many of them.
const STALE: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Outgoing {
    buffer: Vec<u8>,
    /// Of the buffer, so much is written.
    written: usize,
    /// Bytes written that are not in the buffer any more.
    gone: u64,
}

impl Outgoing {
    /// Where frames are appended.
    #[inline]
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    #[inline]
    pub(super) fn pending(&self) -> &[u8] {
        &self.buffer[self.written..]
    }

    #[inline]
    pub(super) fn written(&mut self, length: usize) {
        self.written += length;
        if self.written == self.buffer.len() || self.written >= STALE {
            self.gone += self.written as u64;
            self.buffer.drain(..self.written);
            self.written = 0;
        }
    }

    /// How many bytes there ever were.
    #[inline]
    pub(super) const fn position(&self) -> u64 {
        self.gone + self.buffer.len() as u64
    }
}
