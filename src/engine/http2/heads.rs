//! What the field blocks of one connection say, as far as a load generator cares.
//!
//! Servers repeat themselves: equal blocks have an equal meaning as long as they
//! use no entry of the dynamic table, or the table is the same. So the last block
//! is kept with what it said. What its repetitions insert into the table is made up
//! for once another block needs the table: nobody has looked at it until then.

use super::hpack::{Decoder, Effects, TABLE, Undecodable, size};
use super::{Breach, LARGEST_HEAD};
use crate::http1::is_token_byte;

/// What a block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    status: Option<u16>,
    length: Length,
    /// Why no message may have these fields.
    malformed: Option<&'static str>,
    /// A field that is no pseudo field has come.
    regular: bool,
    size: usize,
}

/// What `content-length` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Absent,
    Octets(u64),
    Invalid,
}

/// A response's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) length: Option<u64>,
}

impl Head {
    /// The final response is still to come (RFC 9110, 15.2).
    pub(super) const fn is_interim(self) -> bool {
        matches!(self.status, 100..200)
    }
}

/// The field blocks of one connection.
#[derive(Debug)]
pub(super) struct Heads {
    decoder: Decoder,
    /// The last block, unless it says something else each time.
    last: Vec<u8>,
    /// What it said.
    fields: Fields,
    /// What each repetition inserts.
    inserted: usize,
    /// Repetitions whose insertions are not in the table yet.
    owed: usize,
    server: Vec<u8>,
}

impl Heads {
    pub(super) const fn new() -> Self {
        Self {
            decoder: Decoder::new(TABLE),
            last: Vec::new(),
            fields: Fields::NONE,
            inserted: 0,
            owed: 0,
            server: Vec::new(),
        }
    }

    /// What `block`, the next one of the connection, says.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Fields, Undecodable> {
        if !self.last.is_empty() && block == self.last {
            self.owed += usize::from(self.inserted > 0);
            return Ok(self.fields);
        }
        self.read_other(block)
    }

    #[cold]
    fn read_other(&mut self, block: &[u8]) -> Result<Fields, Undecodable> {
        self.make_up()?;
        let (mut fields, server) = (Fields::NONE, &mut self.server);
        let Effects { inserted, referred, resized } =
            self.decoder.decode(block, |name, value| {
                fields.take(name, value);
                match name {
                    b":status" => server.clear(),
                    b"server" if server.is_empty() => server.extend_from_slice(value),
                    _ => {}
                }
            })?;
        (self.fields, self.inserted) = (fields, inserted);
        let says_the_same = !resized && (!referred || inserted == 0);
        if says_the_same {
            self.last.extend_from_slice(block);
        }
        Ok(fields)
    }

    /// Inserts what is owed, as far as it is not evicted by the rest of it.
    fn make_up(&mut self) -> Result<(), Undecodable> {
        if self.owed > 0 {
            let lasting = self.decoder.table_size() / self.inserted + 1;
            for _ in 0..self.owed.min(lasting) {
                self.decoder.decode(&self.last, |_, _| ())?;
            }
        }
        self.owed = 0;
        self.last.clear();
        Ok(())
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn memory(&self) -> usize {
        self.decoder.memory() + self.last.capacity() + self.server.capacity()
    }

    /// The `server` field of the last response.
    pub(super) fn server(&self) -> Option<&[u8]> {
        (!self.server.is_empty()).then_some(&*self.server)
    }
}

impl Fields {
    const NONE: Self =
        Self { status: None, length: Length::Absent, malformed: None, regular: false, size: 0 };

    /// As the head of a response.
    #[inline]
    pub(super) fn head(&self) -> Result<Head, Breach> {
        match (self.malformed, self.status, self.length) {
            (Some(what), ..) => Err(Breach::protocol(what)),
            (_, None, _) => {
                Err(Breach::protocol("a response that RFC 9113 forbids: it has no :status"))
            }
            (_, Some(101), _) => Err(Breach::protocol(
                "a response that RFC 9113 forbids: status 101 is not for HTTP/2",
            )),
            (_, Some(status @ 100..200), _) => Ok(Head { status, length: None }),
            (_, _, Length::Invalid) => Err(Breach::protocol(
                "a response that RFC 9113 forbids: its Content-Length is no number",
            )),
            (_, Some(status), Length::Octets(octets)) => Ok(Head { status, length: Some(octets) }),
            (_, Some(status), Length::Absent) => Ok(Head { status, length: None }),
        }
    }

    /// As trailers.
    pub(super) fn trailers(&self) -> Result<(), Breach> {
        match (self.malformed, self.status) {
            (Some(what), _) => Err(Breach::protocol(what)),
            (None, Some(_)) => {
                Err(Breach::protocol("trailers that RFC 9113 forbids: they have a :status"))
            }
            (None, None) => Ok(()),
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) {
        self.size += size(name, value);
        if self.size > LARGEST_HEAD {
            self.malformed = Some("header fields of more than 64 KiB");
        }
        if self.malformed.is_none() {
            self.malformed = self.judge(name, value).err();
        }
    }

    /// RFC 9113, 8.2 and 8.3.
    fn judge(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if let [b':', pseudo @ ..] = name {
            if pseudo != b"status" {
                return Err("fields that RFC 9113 forbids: another pseudo field than :status");
            }
            if self.regular || self.status.is_some() {
                return Err("fields that RFC 9113 forbids: a :status out of place");
            }
            self.status = Some(status(value).ok_or(
                "a response that RFC 9113 forbids: its :status is not of three digits from 100 on",
            )?);
            return Ok(());
        }
        self.regular = true;
        if name.is_empty() || !name.iter().all(|byte| is_lower_token(*byte)) {
            return Err(
                "fields that RFC 9113 forbids: a name with other characters than it may have, such as upper-case ones",
            );
        }
        if !is_value(value) {
            return Err(
                "fields that RFC 9113 forbids: a value with control characters or with blanks around it",
            );
        }
        match name {
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => Err("fields that RFC 9113 forbids: those of an HTTP/1 connection"),
            b"te" if value != b"trailers" => {
                Err("fields that RFC 9113 forbids: those of an HTTP/1 connection")
            }
            b"content-length" => {
                let length = length(value).map_or(Length::Invalid, Length::Octets);
                let same = self.length == Length::Absent || self.length == length;
                self.length = if same { length } else { Length::Invalid };
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

const fn is_lower_token(byte: u8) -> bool {
    is_token_byte(byte) && !byte.is_ascii_uppercase()
}

/// RFC 9110, 5.5, without blanks at the ends.
fn is_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !blank(value.first())
        && !blank(value.last())
        && value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
}

/// Three digits, of which the first names a class (RFC 9110, 15).
fn status(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    let digit = |octet: &u8| u16::from(octet - b'0');
    Some(digit(a) * 100 + digit(b) * 10 + digit(c))
}

fn length(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let octets = str::from_utf8(value).ok().filter(|_| digits)?;
    octets.parse().ok()
}

#[cfg(test)]
mod tests;
