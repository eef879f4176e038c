//! The receive buffers of one ring, provided to the kernel in a ring of their
//! own: it takes one when bytes come, and gets it back once they are read. So
//! a connection that waits holds no buffer.

use io_uring::types::BufRingEntry;
use io_uring::{IoUring, Submitter};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
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
            entries: Region::zeroed(usize::from(COUNT) * size_of::<BufRingEntry>())?,
            bytes: Region::untouched(usize::from(COUNT) * LENGTH)?,
            tail: 0,
        };
        buffers.announce(&uring.submitter())?;
        (0..COUNT).for_each(|buffer| buffers.give(buffer));
        Ok(buffers)
    }

    #[expect(unsafe_code, reason = "the kernel keeps the address of the entries")]
    fn announce(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        let address = self.entries.start() as u64;
        // SAFETY: the region is page-aligned, holds `COUNT` entries and lives
        // until after the ring is gone: `Ring` drops it last, and leaks it
        // when a receive may still be under way.
        unsafe { submitter.register_buf_ring_with_flags(address, COUNT, GROUP, 0) }
    }

    /// What a completion says that the kernel has lent us: `length` bytes of
    /// `buffer`. Only of that may it be made.
    #[inline]
    pub(super) fn lent(buffer: u16, length: usize) -> Lent {
        Lent { buffer: buffer % COUNT, length: length.min(LENGTH) }
    }

    /// The bytes that have come.
    #[inline]
    #[expect(unsafe_code, reason = "the kernel has written these bytes")]
    pub(super) fn filled(&self, lent: &Lent) -> &[u8] {
        let at = usize::from(lent.buffer) * LENGTH;
        // SAFETY: the range lies within the region, and the kernel has written
        // all of it before it completed the receive. It does not write to the
        // buffer again before `take_back`, which takes the loan and `&mut self`.
        unsafe { std::slice::from_raw_parts(self.bytes.start().add(at), lent.length) }
    }

    /// Hands a buffer that has been read back to the kernel.
    #[inline]
    pub(super) fn take_back(&mut self, lent: Lent) {
        self.give(lent.buffer);
    }

    /// Lets the kernel write to `buffer`, which is below `COUNT`, not the
    /// kernel's already, and read by nobody.
    #[inline]
    #[expect(unsafe_code, reason = "entries are shared with the kernel")]
    fn give(&mut self, buffer: u16) {
        let entries = self.entries.start().cast::<BufRingEntry>();
        // SAFETY: the index is below `COUNT`, so the entry lies within its
        // region. The kernel does not read it before the tail moves past it.
        // Only address, length and number are written: in entry 0 the rest
        // holds the tail.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.tail % COUNT));
            entry.set_addr(self.bytes.start() as u64 + u64::from(buffer) * LENGTH as u64);
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

/// A buffer that the kernel has filled. It is no copy: who has it alone may
/// read it and hand it back.
#[derive(Debug)]
pub(super) struct Lent {
    buffer: u16,
    length: usize,
}

/// Page-aligned memory that the kernel may write to.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

impl Region {
    #[expect(unsafe_code, reason = "an ordinary box is not aligned to pages")]
    fn zeroed(length: usize) -> io::Result<Self> {
        let layout = in_pages(length)?;
        // SAFETY: the layout is not empty.
        Self::taken(unsafe { alloc_zeroed(layout) }, layout)
    }

    /// Not initialised, so that pages nobody writes to cost nothing.
    #[expect(unsafe_code, reason = "an ordinary box is not aligned to pages")]
    pub(super) fn untouched(length: usize) -> io::Result<Self> {
        let layout = in_pages(length)?;
        // SAFETY: the layout is not empty.
        Self::taken(unsafe { alloc(layout) }, layout)
    }

    fn taken(start: *mut u8, layout: Layout) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, layout })
    }

    /// Where it starts. Who writes there sees to it that nobody else does.
    pub(super) const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

/// At least one byte on a boundary between pages.
fn in_pages(length: usize) -> io::Result<Layout> {
    Layout::from_size_align(length.max(1), 4096).map_err(io::Error::other)
}

impl Drop for Region {
    #[expect(unsafe_code, reason = "memory is given back as it was taken")]
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout by the same allocator.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
