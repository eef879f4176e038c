//! The receive buffers of one ring, provided to the kernel in a ring of their
//! own: it takes one when bytes come, and gets it back once they are read. So
//! a connection that waits holds no buffer.

use io_uring::types::BufRingEntry;
use io_uring::{IoUring, Submitter};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// How many buffers there are; a power of two.
const COUNT: u16 = 256;

/// Bytes of each: a page of text in one piece.
const LENGTH: usize = 16 * 1024;

/// The only group of buffers there is.
pub(super) const GROUP: u16 = 0;

/// Buffers registered with a ring. They must outlive the ring, or at least
/// every receive on it.
#[derive(Debug)]
pub(super) struct Buffers {
    entries: Region,
    bytes: Region,
    /// Where the next buffer is handed back; wraps.
    tail: u16,
}

impl Buffers {
    /// Allocates the buffers and hands all of them to `uring`.
    pub(super) fn register(uring: &IoUring) -> io::Result<Self> {
        let mut buffers = Self {
            entries: Region::new(usize::from(COUNT) * size_of::<BufRingEntry>())?,
            bytes: Region::new(usize::from(COUNT) * LENGTH)?,
            tail: 0,
        };
        buffers.announce(&uring.submitter())?;
        (0..COUNT).for_each(|buffer| buffers.give(buffer));
        Ok(buffers)
    }

    #[expect(unsafe_code, reason = "the kernel keeps the address of the entries")]
    fn announce(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        let address = self.entries.start.as_ptr() as u64;
        // SAFETY: the region is page-aligned, holds `COUNT` entries and lives
        // until after the ring is gone: `Ring` drops it last, and leaks it
        // when a receive may still be under way.
        unsafe { submitter.register_buf_ring_with_flags(address, COUNT, GROUP, 0) }
    }

    /// The first `length` bytes of `buffer`, which the kernel has handed out.
    #[inline]
    #[expect(unsafe_code, reason = "the kernel has written these bytes")]
    pub(super) fn filled(&self, buffer: u16, length: usize) -> &[u8] {
        let at = usize::from(buffer % COUNT) * LENGTH;
        // SAFETY: the range lies within the region, which was zeroed at first,
        // so every byte is initialised. The kernel does not write to a buffer
        // that it has handed out until `give`, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.bytes.start.as_ptr().add(at), length.min(LENGTH)) }
    }

    /// Hands `buffer` back to the kernel.
    #[inline]
    #[expect(unsafe_code, reason = "entries are shared with the kernel")]
    pub(super) fn give(&mut self, buffer: u16) {
        let buffer = buffer % COUNT;
        let entries = self.entries.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the index is below `COUNT`, so the entry lies within its
        // region. The kernel does not read it before the tail moves past it.
        // Only address, length and number are written: in entry 0 the rest
        // holds the tail.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.tail % COUNT));
            entry.set_addr(self.bytes.start.as_ptr() as u64 + u64::from(buffer) * LENGTH as u64);
            entry.set_len(LENGTH as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is an aligned u16 inside the region; the kernel
        // reads it atomically, and this thread alone writes it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

/// Zeroed, page-aligned memory that the kernel may write to.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

impl Region {
    #[expect(unsafe_code, reason = "an ordinary box is not aligned to pages")]
    fn new(length: usize) -> io::Result<Self> {
        const PAGE: usize = 4096;
        assert!(length > 0, "no region is empty");
        let layout = Layout::from_size_align(length, PAGE).map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, layout })
    }
}

impl Drop for Region {
    #[expect(unsafe_code, reason = "memory is given back as it was taken")]
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
