//! HPACK (RFC 7541).

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;

pub(super) use decoder::{Decoder, Effects};
pub(super) use encoder::{
    dynamic_index, static_field, write_indexed, write_literal, write_size_update,
};
pub(super) use table::size;

/// The largest size of a dynamic table, unless a side says otherwise, which we do
/// not: it would change what the server does.
pub(super) const TABLE: usize = 4096;

/// A block that is no HPACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Undecodable;
