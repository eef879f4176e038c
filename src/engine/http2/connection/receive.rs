//! What the server's frames do to a connection.

use super::super::code::{Breach, Code};
use super::super::frame::{
    self, ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, HIGHEST, Head, PADDED,
    PING, PRIORITISED, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::super::reader::Step;
use super::super::{LARGEST_HEAD, settings};
use super::{Connection, Event, Farewell, Loss};

const UNREQUESTED: Breach = Breach::protocol("a frame on a stream that nobody has opened");

/// A field block in several frames.
#[derive(Debug)]
pub(super) struct Block {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
}

#[cfg(any(test, feature = "fuzzing"))]
impl Block {
    pub(super) const fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// What a frame that is about one stream finds.
enum Found {
    /// The stream at this place.
    Live(usize),
    /// One that is over, by a reset of either side perhaps.
    Closed,
}

type Outcome = Result<Option<Event>, Breach>;

impl Connection {
    /// Takes what it can of `input`, up to the next event. None when all is taken.
    #[inline]
    pub(crate) fn next(&mut self, input: &mut &[u8]) -> Option<Event> {
        loop {
            if (self.farewell.is_some() || self.breach.is_some())
                && let Some(event) = self.next_lost()
            {
                return Some(event);
            }
            if self.breach.is_some() {
                *input = &[];
                return None;
            }
            let outcome = match self.reader.next(input) {
                Ok(Step::More) => return None,
                Ok(Step::Frame(head, payload)) => {
                    let outcome = self.take(head, payload.bytes());
                    self.reader.give_back(payload);
                    outcome
                }
                Ok(Step::Passed(head)) => Ok(self.pass(head)),
                Err(breach) => Err(breach),
            };
            match outcome {
                Ok(None) => {}
                Ok(event) => return event,
                Err(breach) => self.break_off(breach),
            }
        }
    }

    #[cold]
    fn break_off(&mut self, breach: Breach) {
        frame::write_goaway(self.out.buffer(), breach.code);
        self.breach = Some(breach);
    }

    /// The next stream that does not outlive the connection, or its GOAWAY.
    #[cold]
    fn next_lost(&mut self) -> Option<Event> {
        let lost = |user, loss| Some(Event::Lost { user, loss });
        if let Some(Farewell { last, code }) = self.farewell
            && let Some(stream) = self.streams.pop_above(last)
        {
            return lost(stream.user, Loss::NotProcessed(code));
        }
        let breach = self.breach?;
        lost(self.streams.pop_first()?.user, Loss::Breach(breach))
    }

    #[inline]
    fn take(&mut self, head: Head, payload: &[u8]) -> Outcome {
        if let Some(block) = &self.block
            && (head.kind != CONTINUATION || head.stream != block.stream)
        {
            return Err(Breach::protocol("another frame inside a field block"));
        }
        match head.kind {
            DATA => self.take_data(head, payload),
            HEADERS => self.take_headers(head, payload),
            CONTINUATION => self.take_continuation(head, payload),
            RST_STREAM => self.take_reset(head, payload),
            SETTINGS => self.take_settings(head, payload).map(|()| None),
            PING => self.take_ping(head, payload).map(|()| None),
            GOAWAY => self.take_goaway(head, payload).map(|()| None),
            WINDOW_UPDATE => self.take_window_update(head, payload),
            PRIORITY if head.stream == 0 => Err(Breach::protocol("PRIORITY on stream 0")),
            PRIORITY if payload.len() != 5 => Err(Breach::frame_size("PRIORITY of a wrong length")),
            PUSH_PROMISE => Err(Breach::protocol("PUSH_PROMISE, although push is disabled")),
            _ => Ok(None),
        }
    }

    #[inline]
    fn find(&self, head: Head) -> Result<Found, Breach> {
        match self.streams.find(head.stream) {
            Some(at) => Ok(Found::Live(at)),
            None if head.stream.is_multiple_of(2) || head.stream >= self.next => Err(UNREQUESTED),
            None => Ok(Found::Closed),
        }
    }

    /// As [`Self::find`], for frames that must not follow the end of a response.
    #[inline]
    fn find_open(&self, head: Head) -> Result<Found, Breach> {
        let found = self.find(head)?;
        if matches!(found, Found::Closed) && !self.resets.may_have(head.stream) {
            let what = "a frame on a stream that it had ended";
            return Err(Breach { code: Code::STREAM_CLOSED, what });
        }
        Ok(found)
    }

    /// The stream at `at` ends because of what the server has sent on it.
    #[cold]
    fn fail(&mut self, at: usize, breach: Breach) -> Event {
        let stream = self.streams.remove(at);
        self.reset(stream.number, breach.code);
        Event::Lost { user: stream.user, loss: Loss::Breach(breach) }
    }

    #[inline]
    fn take_headers(&mut self, head: Head, payload: &[u8]) -> Outcome {
        let fragment =
            if head.has(PADDED | PRIORITISED) { unpadded(head, payload)? } else { payload };
        let end_stream = head.has(END_STREAM);
        if head.has(END_HEADERS) {
            return self.take_block(head, end_stream, fragment);
        }
        let block = Block { stream: head.stream, end_stream, bytes: fragment.to_vec() };
        self.block = Some(block);
        Ok(None)
    }

    fn take_continuation(&mut self, head: Head, payload: &[u8]) -> Outcome {
        let Some(mut block) = self.block.take() else {
            return Err(Breach::protocol("CONTINUATION out of place"));
        };
        if block.bytes.len() + payload.len() > LARGEST_HEAD {
            let what = "header fields of more than 64 KiB";
            return Err(Breach { code: Code::ENHANCE_YOUR_CALM, what });
        }
        block.bytes.extend_from_slice(payload);
        if head.has(END_HEADERS) {
            return self.take_block(head, block.end_stream, &block.bytes);
        }
        self.block = Some(block);
        Ok(None)
    }

    /// Takes a whole field block: the head of a response, or trailers.
    #[inline]
    fn take_block(&mut self, head: Head, end_stream: bool, block: &[u8]) -> Outcome {
        let undecodable =
            Breach { code: Code::COMPRESSION_ERROR, what: "header fields that cannot be decoded" };
        let found = self.find_open(head)?;
        let fields = self.heads.read(block).map_err(|_| undecodable)?;
        let Found::Live(at) = found else { return Ok(None) };
        let stream = self.streams.get(at);
        if stream.status != 0 {
            let ended = end_stream.then_some(()).ok_or(Breach::protocol(
                "trailers that RFC 9113 forbids: they do not end the stream",
            ));
            return Ok(Some(match ended.and_then(|()| fields.trailers()) {
                Ok(()) => self.end(at),
                Err(breach) => self.fail(at, breach),
            }));
        }
        let response = match fields.head() {
            Ok(response) => response,
            Err(breach) => return Ok(Some(self.fail(at, breach))),
        };
        let user = stream.user;
        if response.is_interim() {
            if end_stream {
                let what = "a response that RFC 9113 forbids: an interim one ends the stream";
                return Ok(Some(self.fail(at, Breach::protocol(what))));
            }
            return Ok(Some(Event::Begun { user }));
        }
        let is_bodyless = self.is_head || matches!(response.status, 204 | 304);
        stream.status = response.status;
        stream.left = if is_bodyless { Some(0) } else { response.length };
        if end_stream {
            return Ok(Some(self.end(at)));
        }
        Ok(Some(Event::Begun { user }))
    }

    /// The server has ended the stream at `at`.
    #[inline]
    fn end(&mut self, at: usize) -> Event {
        let stream = self.streams.get(at);
        if stream.left.is_some_and(|left| left > 0) {
            return self.fail(at, WRONG_LENGTH);
        }
        let stream = self.streams.remove(at);
        if stream.unsent > 0 {
            // Nobody needs the rest of the request any more (RFC 9113, 8.1).
            self.reset(stream.number, Code::CANCEL);
        }
        Event::Complete { user: stream.user, status: stream.status, body: stream.body }
    }

    /// Takes a DATA frame whose payload is to be passed over: how long it will be
    /// is known, and all that it means but its end.
    #[inline]
    fn take_data(&mut self, head: Head, payload: &[u8]) -> Outcome {
        let padding = payload.first().map_or(0, |length| 1 + usize::from(*length));
        let Some(length) = head.length.checked_sub(padding) else {
            return Err(Breach::protocol("padding longer than its frame"));
        };
        let found = self.find_open(head)?;
        if let Some(more) = Self::use_up(&mut self.used, head.length) {
            frame::write_window_update(self.out.buffer(), 0, more);
        }
        let Found::Live(at) = found else { return Ok(None) };
        let stream = self.streams.get(at);
        if stream.status == 0 {
            return Err(Breach::protocol("DATA before the head of the response"));
        }
        stream.body += length as u64;
        match stream.left.map(|left| left.checked_sub(length as u64)) {
            Some(None) => return Ok(Some(self.fail(at, WRONG_LENGTH))),
            Some(left) => stream.left = left,
            None => {}
        }
        if let Some(more) = Self::use_up(&mut stream.used, head.length)
            && !head.has(END_STREAM)
        {
            frame::write_window_update(self.out.buffer(), head.stream, more);
        }
        Ok(None)
    }

    /// A payload that was passed over is complete.
    #[inline]
    fn pass(&mut self, head: Head) -> Option<Event> {
        if head.kind != DATA || !head.has(END_STREAM) {
            return None;
        }
        let at = self.streams.find(head.stream)?;
        Some(self.end(at))
    }

    #[cold]
    fn take_reset(&mut self, head: Head, payload: &[u8]) -> Outcome {
        let Ok(code) = <[u8; 4]>::try_from(payload) else {
            return Err(Breach::frame_size("RST_STREAM of a wrong length"));
        };
        let Found::Live(at) = self.find(head)? else { return Ok(None) };
        let stream = self.streams.remove(at);
        self.resets.keep(stream.number);
        let loss = Loss::Reset(Code(u32::from_be_bytes(code)));
        Ok(Some(Event::Lost { user: stream.user, loss }))
    }

    #[cold]
    fn take_settings(&mut self, head: Head, payload: &[u8]) -> Result<(), Breach> {
        if head.stream != 0 {
            return Err(Breach::protocol("SETTINGS on a stream"));
        }
        if head.has(ACK) {
            if !payload.is_empty() {
                return Err(Breach::frame_size("an acknowledgement of SETTINGS with settings"));
            }
            if !std::mem::take(&mut self.unacknowledged) {
                let what = "an acknowledgement of SETTINGS that were not sent";
                return Err(Breach::protocol(what));
            }
            return Ok(());
        }
        let before = self.server;
        self.server.take_all(payload)?;
        let more = i64::from(self.server.window) - i64::from(before.window);
        for stream in self.streams.all() {
            stream.window += more;
            if stream.window > i64::from(HIGHEST) {
                return Err(OVERFLOW);
            }
        }
        self.encoding.set_limit(self.server.header_table);
        settings::write_ack(self.out.buffer());
        self.settled = true;
        Ok(())
    }

    #[cold]
    fn take_ping(&mut self, head: Head, payload: &[u8]) -> Result<(), Breach> {
        if head.stream != 0 {
            return Err(Breach::protocol("PING on a stream"));
        }
        if payload.len() != 8 {
            return Err(Breach::frame_size("PING of a wrong length"));
        }
        if !head.has(ACK) {
            frame::write_ping(self.out.buffer(), ACK, payload);
        }
        Ok(())
    }

    #[cold]
    fn take_goaway(&mut self, head: Head, payload: &[u8]) -> Result<(), Breach> {
        if head.stream != 0 {
            return Err(Breach::protocol("GOAWAY on a stream"));
        }
        let [l0, l1, l2, l3, c0, c1, c2, c3, ..] = *payload else {
            return Err(Breach::frame_size("GOAWAY of a wrong length"));
        };
        let last = frame::number([l0, l1, l2, l3]);
        if self.farewell.is_some_and(|farewell| last > farewell.last) {
            return Err(Breach::protocol("GOAWAY that takes back an earlier one"));
        }
        self.farewell = Some(Farewell { last, code: Code(u32::from_be_bytes([c0, c1, c2, c3])) });
        Ok(())
    }

    #[cold]
    fn take_window_update(&mut self, head: Head, payload: &[u8]) -> Outcome {
        let Ok(more) = <[u8; 4]>::try_from(payload) else {
            return Err(Breach::frame_size("WINDOW_UPDATE of a wrong length"));
        };
        let more = i64::from(frame::number(more));
        let at = match head.stream {
            0 => None,
            _ => match self.find(head)? {
                Found::Live(at) => Some(at),
                Found::Closed => return Ok(None),
            },
        };
        let window = match at {
            Some(at) => &mut self.streams.get(at).window,
            None => &mut self.window,
        };
        *window += more;
        let breach = if more == 0 {
            Breach::protocol("WINDOW_UPDATE by 0")
        } else if *window > i64::from(HIGHEST) {
            OVERFLOW
        } else {
            return Ok(None);
        };
        match at {
            Some(at) => Ok(Some(self.fail(at, breach))),
            None => Err(breach),
        }
    }
}

const WRONG_LENGTH: Breach = Breach::protocol(
    "a response that RFC 9113 forbids: its content has another length than its Content-Length, or than none",
);
const OVERFLOW: Breach = Breach::flow_control("a flow-control window above 2^31-1");

/// The field block fragment of HEADERS without padding and priority.
fn unpadded(head: Head, payload: &[u8]) -> Result<&[u8], Breach> {
    let cut = || Breach::frame_size("HEADERS without room for what its flags announce");
    let (padding, rest) = match payload.split_first() {
        Some((padding, rest)) if head.has(PADDED) => (usize::from(*padding), rest),
        None if head.has(PADDED) => return Err(cut()),
        _ => (0, payload),
    };
    let start = if head.has(PRIORITISED) { 5 } else { 0 };
    let rest = rest.get(start..).ok_or_else(cut)?;
    let length = rest.len().checked_sub(padding);
    let length = length.ok_or(Breach::protocol("padding longer than its frame"))?;
    Ok(&rest[..length])
}
