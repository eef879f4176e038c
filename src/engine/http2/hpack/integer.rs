//! Integers with a prefix (RFC 7541, 5.1).

use super::Undecodable;

/// So many octets behind the prefix are read, enough for every length and index.
const MOST_OCTETS: u32 = 4;

/// Reads an integer from the last `prefix` bits of the first octet on.
#[inline]
pub(super) fn read(input: &mut &[u8], prefix: u32) -> Result<usize, Undecodable> {
    let (first, mut rest) = input.split_first().ok_or(Undecodable)?;
    let most = (1 << prefix) - 1;
    let mut value = usize::from(*first) & most;
    if value == most {
        for octet in 0.. {
            let (next, behind) = rest.split_first().ok_or(Undecodable)?;
            if octet == MOST_OCTETS {
                return Err(Undecodable);
            }
            rest = behind;
            value += usize::from(next & 0x7f) << (7 * octet);
            if next & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    Ok(value)
}

/// Appends `value`; `flags` are the bits before the prefix.
pub(super) fn write(out: &mut Vec<u8>, flags: u8, prefix: u32, value: usize) {
    let most = (1 << prefix) - 1;
    if value < most {
        return out.push(flags | value as u8);
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    /// RFC 7541, C.1.
    #[test]
    fn the_rfc_s_examples() {
        for (value, prefix, flags, octets) in [
            (10, 5, 0xe0, &[0xea][..]),
            (1337, 5, 0xe0, &[0xff, 0x9a, 0x0a]),
            (42, 8, 0, &[42]),
            (31, 5, 0, &[0x1f, 0]),
            (127, 7, 0x80, &[0xff, 0]),
        ] {
            let mut out = Vec::new();
            write(&mut out, flags, prefix, value);
            assert_eq!(out, octets);
            let mut input = octets;
            assert_eq!((read(&mut input, prefix), input), (Ok(value), &[][..]));
        }
    }

    #[test]
    fn endless_and_cut_ones_are_refused() {
        for broken in [&[][..], &[0xff], &[0xff, 0x80], &[0xff, 0x80, 0x80, 0x80, 0x80, 0]] {
            let mut input = broken;
            assert!(read(&mut input, 7).is_err(), "{broken:?}");
        }
        let mut largest = &[0xff, 0xff, 0xff, 0xff, 0x7f][..];
        assert_eq!(read(&mut largest, 7), Ok(127 + (1 << 28) - 1));
    }
}
