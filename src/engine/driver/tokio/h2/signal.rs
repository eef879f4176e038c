//! Who has something to do on one connection. Its task is polled for whatever
//! reason; these flags say which of its many streams the reason was.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};

const BITS: usize = u64::BITS as usize;

/// The flags of one connection.
#[derive(Debug)]
pub(super) struct Signal {
    task: Waker,
    /// The task is looking: what it is told now needs no waking.
    looking: AtomicBool,
    connection: AtomicBool,
    timer: AtomicBool,
    streams: Box<[AtomicU64]>,
}

impl Signal {
    pub(super) fn new(task: &Waker, streams: usize) -> Arc<Self> {
        Arc::new(Self {
            task: task.clone(),
            looking: AtomicBool::new(false),
            connection: AtomicBool::new(false),
            timer: AtomicBool::new(false),
            streams: (0..streams.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// A waker that tells of the socket or of frames to send.
    pub(super) fn connection_waker(self: &Arc<Self>) -> Waker {
        self.waker(About::Connection)
    }

    /// A waker that tells of passed deadlines and of the window.
    pub(super) fn timer_waker(self: &Arc<Self>) -> Waker {
        self.waker(About::Timer)
    }

    /// A waker that tells of one stream.
    pub(super) fn stream_waker(self: &Arc<Self>, stream: usize) -> Waker {
        self.waker(About::Stream(stream))
    }

    fn waker(self: &Arc<Self>, about: About) -> Waker {
        Waker::from(Arc::new(Bell { signal: self.clone(), about }))
    }

    /// The task looks (or has looked) at the flags.
    pub(super) fn look(&self, looking: bool) {
        self.looking.store(looking, Ordering::Relaxed);
    }

    pub(super) fn mark_connection(&self) {
        self.connection.store(true, Ordering::Relaxed);
    }

    pub(super) fn mark_stream(&self, stream: usize) {
        self.streams[stream / BITS].fetch_or(1 << (stream % BITS), Ordering::Relaxed);
    }

    pub(super) fn take_connection(&self) -> bool {
        self.connection.swap(false, Ordering::Relaxed)
    }

    pub(super) fn take_timer(&self) -> bool {
        self.timer.swap(false, Ordering::Relaxed)
    }

    /// How many words of flags there are.
    pub(super) fn words(&self) -> usize {
        self.streams.len()
    }

    /// The next marked stream of word `word`, unmarked.
    #[inline]
    pub(super) fn take_stream(&self, word: usize) -> Option<usize> {
        let bits = self.streams[word].load(Ordering::Relaxed);
        if bits == 0 {
            return None;
        }
        let bit = bits.trailing_zeros() as usize;
        self.streams[word].fetch_and(!(1 << bit), Ordering::Relaxed);
        Some(word * BITS + bit)
    }

    /// True when there is something to look at.
    pub(super) fn is_set(&self) -> bool {
        self.connection.load(Ordering::Relaxed)
            || self.timer.load(Ordering::Relaxed)
            || self.streams.iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }
}

#[derive(Clone, Copy, Debug)]
enum About {
    Connection,
    Timer,
    Stream(usize),
}

/// Sets one flag and wakes the task.
#[derive(Debug)]
struct Bell {
    signal: Arc<Signal>,
    about: About,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[inline]
    fn wake_by_ref(self: &Arc<Self>) {
        match self.about {
            About::Connection => self.signal.mark_connection(),
            About::Timer => self.signal.timer.store(true, Ordering::Relaxed),
            About::Stream(stream) => self.signal.mark_stream(stream),
        }
        if !self.signal.looking.load(Ordering::Relaxed) {
            self.signal.task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;
    use std::task::Waker;

    #[test]
    fn each_waker_tells_of_its_own() {
        let signal = Signal::new(Waker::noop(), 70);
        signal.stream_waker(69).wake();
        signal.stream_waker(3).wake();
        assert!(signal.is_set() && !signal.take_connection() && !signal.take_timer());
        assert_eq!((signal.take_stream(0), signal.take_stream(0)), (Some(3), None));
        assert_eq!((signal.take_stream(1), signal.take_stream(1)), (Some(69), None));
        signal.connection_waker().wake();
        signal.timer_waker().wake();
        assert!(signal.take_connection() && signal.take_timer() && !signal.is_set());
    }
}
