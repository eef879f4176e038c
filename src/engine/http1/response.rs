//! One connection's response parser: bytes in, [`Step`]s out. It owns memory
//! only while a head is partial, and may be fed any split of the stream.

use super::chunks::Chunks;
use super::head::{Framing, Head, HeadCache};
use super::{MAX_HEAD, Malformed};

/// A complete final response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    pub(crate) status: u16,
    /// Body bytes, without chunk framing.
    pub(crate) body: u64,
    /// The connection may carry another request.
    pub(crate) keep: bool,
    /// Bytes came after the response that nobody asked for.
    pub(crate) excess: bool,
}

/// What bytes led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The response goes on.
    More,
    /// It is complete; the parser stands at the start of the next one.
    Complete(Completed),
}

/// What the end of the connection means where the parser stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No byte of a response had come.
    Nothing,
    /// It was the end of the body.
    Complete(Completed),
    /// The response is cut short.
    Truncated,
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub(crate) struct Response {
    state: State,
    /// The part of a head that has come so far.
    partial: Vec<u8>,
    status: u16,
    keep: bool,
    body: u64,
    /// An interim response was seen: the connection has begun to answer.
    interim: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Length(u64),
    Chunked(Chunks),
    UntilClose,
}

impl Response {
    /// Takes the next bytes of the connection.
    #[inline]
    pub(crate) fn feed(&mut self, heads: &mut HeadCache, input: &[u8]) -> Result<Step, Malformed> {
        if matches!(self.state, State::Head)
            && self.partial.is_empty()
            && let Some((length, head)) = heads.repeated(input)
        {
            self.begin_body(head);
            return self.feed_body(&input[length..]);
        }
        self.feed_slowly(heads, input)
    }

    /// How many bytes are left of a body whose length is known; else 0.
    #[inline]
    pub(crate) const fn left(&self) -> u64 {
        match self.state {
            State::Length(left) => left,
            _ => 0,
        }
    }

    /// Takes the next `length` bytes unseen; no more than are left.
    #[inline]
    pub(crate) fn skip(&mut self, length: u64) -> Step {
        let State::Length(left) = &mut self.state else { return Step::More };
        let step = length.min(*left);
        *left -= step;
        self.body += step;
        if *left > 0 {
            return Step::More;
        }
        self.finish(length > step)
    }

    /// Interprets the end of the connection and makes the parser new.
    pub(crate) fn end(&mut self) -> End {
        let end = match self.state {
            State::Head if self.partial.is_empty() && !self.interim => End::Nothing,
            State::UntilClose => End::Complete(self.completed(false)),
            _ => End::Truncated,
        };
        *self = Self::default();
        end
    }

    /// True when a part of a response has come.
    pub(crate) fn begun(&self) -> bool {
        !matches!(self.state, State::Head) || !self.partial.is_empty() || self.interim
    }

    fn feed_slowly(&mut self, heads: &mut HeadCache, input: &[u8]) -> Result<Step, Malformed> {
        let mut input = input;
        while matches!(self.state, State::Head) {
            let Some((head, used)) = self.feed_head(heads, input)? else {
                return Ok(Step::More);
            };
            input = &input[used..];
            if head.is_interim() {
                self.interim = true;
            } else {
                self.begin_body(head);
            }
        }
        self.feed_body(input)
    }

    /// A whole head and how many bytes of `input` were its own, or none when
    /// it is still partial.
    fn feed_head(
        &mut self,
        heads: &mut HeadCache,
        input: &[u8],
    ) -> Result<Option<(Head, usize)>, Malformed> {
        if self.partial.is_empty() {
            refuse_other_protocols(input)?;
            if let Some(end) = head_end(input, 0) {
                return Ok(Some((heads.parse(&input[..end])?, end)));
            }
        }
        let before = self.partial.len();
        self.partial.extend_from_slice(input);
        refuse_other_protocols(&self.partial)?;
        let Some(end) = head_end(&self.partial, before.saturating_sub(3)) else {
            if self.partial.len() > MAX_HEAD {
                return Err("a response head larger than 64 KiB");
            }
            return Ok(None);
        };
        let head = heads.parse(&self.partial[..end])?;
        self.partial = Vec::new();
        Ok(Some((head, end - before)))
    }

    fn begin_body(&mut self, head: Head) {
        self.status = head.status;
        self.keep = head.keep;
        self.body = 0;
        self.state = match head.framing {
            Framing::Empty => State::Length(0),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunks::new()),
            Framing::UntilClose => State::UntilClose,
        };
    }

    #[inline]
    fn feed_body(&mut self, input: &[u8]) -> Result<Step, Malformed> {
        let used = match &mut self.state {
            State::Length(left) => {
                let step = (*left).min(input.len() as u64);
                *left -= step;
                self.body += step;
                (*left == 0).then_some(step as usize)
            }
            State::Chunked(chunks) => chunks.feed(input, &mut self.body)?,
            State::UntilClose => {
                self.body += input.len() as u64;
                None
            }
            State::Head => None,
        };
        Ok(used.map_or(Step::More, |used| self.finish(used < input.len())))
    }

    #[inline]
    fn finish(&mut self, excess: bool) -> Step {
        let completed = self.completed(excess);
        self.state = State::Head;
        self.interim = false;
        Step::Complete(completed)
    }

    const fn completed(&self, excess: bool) -> Completed {
        Completed { status: self.status, body: self.body, keep: self.keep && !excess, excess }
    }
}

/// Where the head that starts at 0 ends: behind its empty line. Bytes before
/// `from` are known to hold no such line.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(step) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        at += step + 1;
        match bytes[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// Refuses a stream that cannot become an HTTP/1 response, at its first bytes,
/// so that a server of another protocol does not look like a slow one.
fn refuse_other_protocols(start: &[u8]) -> Result<(), Malformed> {
    const PREFIX: &[u8] = b"HTTP/1.";
    let length = start.len().min(PREFIX.len());
    if start[..length] == PREFIX[..length] {
        return Ok(());
    }
    Err(match start {
        [0x14..=0x17, 0x03, ..] | [0x14..=0x17] => {
            "no HTTP response but TLS records: the port expects https"
        }
        [0, 0, _, 4, ..] => "no HTTP/1 response but HTTP/2 frames",
        [b'H', b'T', b'T', b'P', b'/', ..] => "an HTTP version other than 1.x",
        [b'S', b'S', b'H', ..] => "no HTTP response but an SSH greeting",
        [b'<', ..] => "a body without a response head (HTTP/0.9)",
        _ => "no HTTP response: the first bytes are not \"HTTP/1.\"",
    })
}

#[cfg(test)]
mod decisions;
#[cfg(test)]
mod tests;
