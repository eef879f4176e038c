//! Decodes field blocks.

use super::table::{STATIC, Table, size};
use super::{Undecodable, huffman, integer};
use std::ops::Range;

/// The decoder of one connection.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: Table,
    /// What the server may make of the table's size.
    limit: usize,
    /// Text that is not as it came.
    scratch: Vec<u8>,
}

/// What a block has done to the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Size of the entries that it has inserted.
    pub(crate) inserted: usize,
    /// It has used entries of the dynamic table.
    pub(crate) referred: bool,
    /// It has changed the table's size.
    pub(crate) resized: bool,
}

/// A string of a literal.
enum Text<'a> {
    Plain(&'a [u8]),
    Decoded(Range<usize>),
}

impl Text<'_> {
    fn octets<'t>(&'t self, scratch: &'t [u8]) -> &'t [u8] {
        match self {
            Self::Plain(octets) => octets,
            Self::Decoded(place) => &scratch[place.clone()],
        }
    }
}

impl Decoder {
    /// A decoder with a table of at most `limit`.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { table: Table::new(limit), limit, scratch: Vec::new() }
    }

    /// The largest size of the table, as the server has set it.
    pub(crate) const fn table_size(&self) -> usize {
        self.table.largest()
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) const fn memory(&self) -> usize {
        self.table.memory() + self.scratch.capacity()
    }

    /// Hands every field of `block` to `field`.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<Effects, Undecodable> {
        let mut rest = block;
        let resized = self.take_size_updates(&mut rest)?;
        let mut effects = Effects { resized, ..Effects::default() };
        while let Some(first) = rest.first() {
            match first {
                0x80.. => {
                    let index = integer::read(&mut rest, 7)?;
                    let (name, value) = self.table.get(index)?;
                    effects.referred |= index > STATIC.len();
                    field(name, value);
                }
                0x40.. => self.take_literal(&mut rest, true, &mut effects, &mut field)?,
                0x20.. => return Err(Undecodable),
                _ => self.take_literal(&mut rest, false, &mut effects, &mut field)?,
            }
        }
        Ok(effects)
    }

    /// RFC 7541, 4.2: they come before the first field.
    fn take_size_updates(&mut self, rest: &mut &[u8]) -> Result<bool, Undecodable> {
        let mut resized = false;
        while let [0x20..0x40, ..] = rest {
            let largest = integer::read(rest, 5)?;
            if largest > self.limit {
                return Err(Undecodable);
            }
            self.table.resize(largest);
            resized = true;
        }
        Ok(resized)
    }

    fn take_literal(
        &mut self,
        rest: &mut &[u8],
        insert: bool,
        effects: &mut Effects,
        field: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Undecodable> {
        let index = integer::read(rest, if insert { 6 } else { 4 })?;
        effects.referred |= index > STATIC.len();
        let scratch = &mut self.scratch;
        scratch.clear();
        let literal = if index == 0 { Some(text(rest, scratch)?) } else { None };
        let value = text(rest, scratch)?;
        let value = value.octets(scratch);
        let name = match &literal {
            Some(name) => name.octets(scratch),
            None => self.table.get(index)?.0,
        };
        field(name, value);
        if insert {
            effects.inserted += size(name, value);
            match &literal {
                Some(name) => self.table.insert(name.octets(scratch), value),
                None => self.table.insert_named(index, value)?,
            }
        }
        Ok(())
    }
}

fn text<'a>(rest: &mut &'a [u8], scratch: &mut Vec<u8>) -> Result<Text<'a>, Undecodable> {
    let coded = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::read(rest, 7)?;
    let (octets, behind) = rest.split_at_checked(length).ok_or(Undecodable)?;
    *rest = behind;
    if !coded {
        return Ok(Text::Plain(octets));
    }
    let start = scratch.len();
    huffman::decode(octets, scratch)?;
    Ok(Text::Decoded(start..scratch.len()))
}

#[cfg(test)]
mod tests;
