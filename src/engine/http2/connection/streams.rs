//! The streams in flight, in the order of their numbers.

use std::collections::VecDeque;

/// An exchange in flight.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) number: u32,
    pub(super) user: usize,
    /// The final response's status; 0 before its head.
    pub(super) status: u16,
    /// Octets of content so far.
    pub(super) body: u64,
    /// Those that are still to come, where the head tells.
    pub(super) left: Option<u64>,
    /// Octets of the request's body that are not written.
    pub(super) unsent: usize,
    /// What the server takes of it.
    pub(super) window: i64,
    /// Of the window that the server has, so much is used up.
    pub(super) used: u32,
}

impl Stream {
    #[inline]
    pub(super) const fn new(number: u32, user: usize, window: i64, unsent: usize) -> Self {
        Self { number, user, status: 0, body: 0, left: None, unsent, window, used: 0 }
    }
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: VecDeque<Stream>,
}

impl Streams {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Adds a stream with a higher number than all others.
    #[inline]
    pub(super) fn push(&mut self, stream: Stream) {
        self.streams.push_back(stream);
    }

    /// Where the stream of that number is.
    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<usize> {
        match self.streams.front() {
            // Most servers answer in order.
            Some(first) if first.number == number => Some(0),
            _ => self.streams.binary_search_by_key(&number, |stream| stream.number).ok(),
        }
    }

    #[inline]
    pub(super) fn get(&mut self, at: usize) -> &mut Stream {
        &mut self.streams[at]
    }

    #[inline]
    pub(super) fn remove(&mut self, at: usize) -> Stream {
        self.streams.remove(at).expect("it was found there")
    }

    pub(super) fn pop_first(&mut self) -> Option<Stream> {
        self.streams.pop_front()
    }

    /// Takes out the last stream, if its number is above `number`.
    pub(super) fn pop_above(&mut self, number: u32) -> Option<Stream> {
        self.streams.pop_back_if(|stream| stream.number > number)
    }

    #[inline]
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.streams.iter_mut()
    }
}
