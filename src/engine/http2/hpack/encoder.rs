//! Writes the representations of fields that a request needs (RFC 7541, 6).

use super::table::STATIC;
use super::{huffman, integer};

/// The index of a field that the static table has as it is.
pub(crate) fn static_field(name: &[u8], value: &[u8]) -> Option<usize> {
    let at = STATIC.iter().position(|(n, v)| *n == name && *v == value);
    at.map(|at| at + 1)
}

/// The index of the entry that is `number` places behind the newest one.
pub(crate) const fn dynamic_index(number: usize) -> usize {
    STATIC.len() + 1 + number
}

pub(crate) fn write_indexed(out: &mut Vec<u8>, index: usize) {
    integer::write(out, 0x80, 7, index);
}

/// A literal that the table takes, or does not take.
pub(crate) fn write_literal(out: &mut Vec<u8>, name: &[u8], value: &[u8], insert: bool) {
    let index = STATIC.iter().position(|(n, _)| *n == name).map_or(0, |at| at + 1);
    if insert {
        integer::write(out, 0x40, 6, index);
    } else {
        integer::write(out, 0, 4, index);
    }
    if index == 0 {
        write_text(out, name);
    }
    write_text(out, value);
}

pub(crate) fn write_size_update(out: &mut Vec<u8>, size: usize) {
    integer::write(out, 0x20, 5, size);
}

fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    let coded = huffman::encoded_length(text);
    if coded < text.len() {
        integer::write(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer::write(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}
