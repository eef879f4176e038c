//! The tables that indices lead to (RFC 7541, 2.3).

use super::Undecodable;
use std::collections::VecDeque;
use std::ops::Range;

/// What an entry counts beside its octets.
const OVERHEAD: usize = 32;

/// The static table; its first entry has the index 1.
pub(super) const STATIC: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// What an entry of these octets counts.
#[inline]
pub(crate) const fn size(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + OVERHEAD
}

/// The dynamic table behind the static one. The octets of its entries lie behind
/// one another; those of evicted ones go when as many have gathered.
#[derive(Debug)]
pub(super) struct Table {
    octets: Vec<u8>,
    /// Octets that were taken off the front so far.
    gone: usize,
    /// Oldest first.
    entries: VecDeque<Entry>,
    size: usize,
    largest: usize,
}

/// Where an entry lies, counted from the first octet that there ever was.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    name: usize,
    value: usize,
}

impl Entry {
    const fn size(self) -> usize {
        self.name + self.value + OVERHEAD
    }
}

impl Table {
    pub(super) const fn new(largest: usize) -> Self {
        Self { octets: Vec::new(), gone: 0, entries: VecDeque::new(), size: 0, largest }
    }

    pub(super) const fn largest(&self) -> usize {
        self.largest
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) const fn memory(&self) -> usize {
        self.octets.capacity()
    }

    /// The field of this index.
    pub(super) fn get(&self, index: usize) -> Result<(&[u8], &[u8]), Undecodable> {
        let index = index.checked_sub(1).ok_or(Undecodable)?;
        if let Some(field) = STATIC.get(index) {
            return Ok(*field);
        }
        let entry = self.entry(index - STATIC.len())?;
        let (name, value) = self.octets[self.place(entry)].split_at(entry.name);
        Ok((name, value))
    }

    /// The entry with so many newer ones.
    fn entry(&self, newer: usize) -> Result<Entry, Undecodable> {
        let at = self.entries.len().checked_sub(newer + 1).ok_or(Undecodable)?;
        Ok(self.entries[at])
    }

    const fn place(&self, entry: Entry) -> Range<usize> {
        let start = entry.start - self.gone;
        start..start + entry.name + entry.value
    }

    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let start = self.gone + self.octets.len();
        self.octets.extend_from_slice(name);
        self.push(start, name.len(), value);
    }

    /// Inserts `value` under the name of index `index`, which may lie in an entry
    /// that makes way for this one.
    pub(super) fn insert_named(&mut self, index: usize, value: &[u8]) -> Result<(), Undecodable> {
        let index = index.checked_sub(1).ok_or(Undecodable)?;
        if let Some((name, _)) = STATIC.get(index) {
            self.insert(name, value);
            return Ok(());
        }
        let entry = self.entry(index - STATIC.len())?;
        let start = self.gone + self.octets.len();
        let name = self.place(entry).start;
        self.octets.extend_from_within(name..name + entry.name);
        self.push(start, entry.name, value);
        Ok(())
    }

    /// The name is there already.
    fn push(&mut self, start: usize, name: usize, value: &[u8]) {
        self.octets.extend_from_slice(value);
        let entry = Entry { start, name, value: value.len() };
        self.evict(self.largest.saturating_sub(entry.size()));
        if entry.size() <= self.largest {
            self.size += entry.size();
            self.entries.push_back(entry);
        }
        self.clear_away();
    }

    pub(super) fn resize(&mut self, largest: usize) {
        self.largest = largest;
        self.evict(largest);
        self.clear_away();
    }

    /// Evicts until no more than `size` is taken.
    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.size();
        }
    }

    /// Drops the octets of no entry once they are as many as a full table's.
    fn clear_away(&mut self) {
        let end = self.gone + self.octets.len();
        let unused = self.entries.front().map_or(end, |oldest| oldest.start) - self.gone;
        if unused >= self.largest {
            self.octets.drain(..unused);
            self.gone += unused;
        }
    }
}
