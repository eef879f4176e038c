//! Finds the frames in a byte stream, however it is split. Payloads are handed
//! out where they lie; only those that come in pieces are collected. Those of
//! DATA and of unknown frames are passed over.

use super::code::Breach;
use super::frame::{CONTINUATION, DATA, HEAD, Head, LARGEST, PADDED, SETTINGS};

/// What the next bytes led to.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// More bytes are needed.
    More,
    /// A frame has begun. Its payload is whole; of DATA it is the length of the
    /// padding, if there is any, and of unknown frames nothing.
    Frame(Head, Payload<'a>),
    /// What was passed over of this frame is complete.
    Passed(Head),
}

/// The bytes of a payload.
#[derive(Debug)]
pub(super) enum Payload<'a> {
    Here(&'a [u8]),
    /// To be given back to the reader.
    Collected(Vec<u8>),
}

impl Payload<'_> {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::Collected(bytes) => bytes,
        }
    }
}

/// Where a byte stream stands.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// What has come of a head or payload that is not whole.
    partial: Vec<u8>,
    at: At,
    /// The first frame has begun.
    begun: bool,
    stranger: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    #[default]
    Head,
    /// So many bytes of its payload are needed in one piece.
    Payload(Head, usize),
    /// So many bytes of its payload are still to be passed over.
    Passing(Head, usize),
}

impl Reader {
    /// Takes what it can of `input`.
    #[inline]
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Step<'a>, Breach> {
        loop {
            match self.at {
                At::Head => {
                    if !self.begun {
                        self.look_at_first(input)?;
                    }
                    let Some(head) = self.head(input) else { return Ok(Step::More) };
                    if head.length > LARGEST {
                        return Err(Breach::frame_size("a frame larger than allowed"));
                    }
                    let needed = needed(head);
                    if needed > head.length {
                        return Err(Breach::frame_size("a padded frame without room for it"));
                    }
                    self.begun = true;
                    self.at = At::Payload(head, needed);
                }
                At::Payload(head, needed) => {
                    let Some(payload) = self.payload(input, needed) else { return Ok(Step::More) };
                    self.at = if is_passed(head.kind) {
                        At::Passing(head, head.length - needed)
                    } else {
                        At::Head
                    };
                    return Ok(Step::Frame(head, payload));
                }
                At::Passing(head, left) => {
                    let passed = left.min(input.len());
                    *input = &input[passed..];
                    if passed < left {
                        self.at = At::Passing(head, left - passed);
                        return Ok(Step::More);
                    }
                    self.at = At::Head;
                    return Ok(Step::Passed(head));
                }
            }
        }
    }

    /// Keeps the buffer of a collected payload for the next one.
    #[inline]
    pub(super) fn give_back(&mut self, payload: Payload<'_>) {
        if let Payload::Collected(mut bytes) = payload {
            bytes.clear();
            self.partial = bytes;
        }
    }

    #[inline]
    fn head(&mut self, input: &mut &[u8]) -> Option<Head> {
        if self.partial.is_empty()
            && let Some((head, rest)) = input.split_first_chunk::<HEAD>()
        {
            *input = rest;
            return Some(Head::parse(head));
        }
        self.collect(input, HEAD);
        let head = Head::parse(self.partial.first_chunk::<HEAD>()?);
        self.partial.clear();
        Some(head)
    }

    #[inline]
    fn payload<'a>(&mut self, input: &mut &'a [u8], needed: usize) -> Option<Payload<'a>> {
        if self.partial.is_empty()
            && let Some((payload, rest)) = input.split_at_checked(needed)
        {
            *input = rest;
            return Some(Payload::Here(payload));
        }
        self.collect(input, needed);
        let whole = self.partial.len() == needed;
        whole.then(|| Payload::Collected(std::mem::take(&mut self.partial)))
    }

    fn collect(&mut self, input: &mut &[u8], needed: usize) {
        let (more, rest) = input.split_at(input.len().min(needed - self.partial.len()));
        self.partial.extend_from_slice(more);
        *input = rest;
    }

    /// The first frame must be SETTINGS (RFC 9113, 3.4).
    fn look_at_first(&mut self, input: &[u8]) -> Result<(), Breach> {
        let mut start = [0; HEAD];
        let length = self.partial.len() + input.len().min(HEAD - self.partial.len());
        let bytes = self.partial.iter().chain(input).zip(&mut start);
        bytes.for_each(|(byte, place)| *place = *byte);
        self.stranger = stranger(&start[..length]);
        match self.stranger {
            Some(what) => Err(Breach::protocol(what)),
            None => Ok(()),
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) const fn memory(&self) -> usize {
        self.partial.capacity()
    }

    /// What the server speaks instead of HTTP/2.
    pub(super) const fn stranger(&self) -> Option<&'static str> {
        self.stranger
    }
}

/// So much of the payload must be there before anything can be done.
#[inline]
const fn needed(head: Head) -> usize {
    match head.kind {
        DATA => head.has(PADDED) as usize,
        kind if is_passed(kind) => 0,
        _ => head.length,
    }
}

#[inline]
const fn is_passed(kind: u8) -> bool {
    kind == DATA || kind > CONTINUATION
}

/// Why these first bytes are not how an HTTP/2 server begins.
fn stranger(start: &[u8]) -> Option<&'static str> {
    match start {
        [b'H', b'T', b'T', b'P', b'/', ..] => Some(
            "the server answered in HTTP/1: on this port it does not speak HTTP/2 without TLS \
             (nginx: listen … http2); protocol http1 measures it as it is",
        ),
        [0x14..=0x17, 3, ..] => Some("no HTTP/2 but TLS records: the port expects https"),
        [b'S', b'S', b'H', ..] => Some("no HTTP/2 but an SSH greeting"),
        [_, _, _, kind, flags, 0, 0, 0, 0] if *kind == SETTINGS && flags & 1 == 0 => None,
        _ if start.len() < HEAD => None,
        _ => Some("no HTTP/2: the server's first frame is no SETTINGS"),
    }
}
