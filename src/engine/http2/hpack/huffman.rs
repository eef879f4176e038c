//! HPACK's Huffman code (RFC 7541, 5.2 and appendix B). It is canonical, so the
//! lengths alone say it all.

use super::Undecodable;

const SYMBOLS: usize = 257;
const EOS: u16 = 256;
const LONGEST: usize = 30;
/// Codes up to this length are found at once.
const QUICK: usize = 9;

/// The length of each octet's code in bits, and of the end's.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

struct Codes {
    /// By symbol.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    sorted: [u16; SYMBOLS],
    /// By length: the first code, moved to the left end of 30 bits.
    first: [u32; LONGEST + 1],
    /// By length: where its codes begin in `sorted`.
    offset: [u16; LONGEST + 1],
    /// By length: the end of its codes and of all shorter ones, at the left end.
    end: [u32; LONGEST + 1],
    /// By the next bits: symbol and length; length 0 for longer codes.
    quick: [(u16, u8); 1 << QUICK],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut all = Codes {
        codes: [0; SYMBOLS],
        sorted: [0; SYMBOLS],
        first: [0; LONGEST + 1],
        offset: [0; LONGEST + 1],
        end: [0; LONGEST + 1],
        quick: [(0, 0); 1 << QUICK],
    };
    let (mut length, mut next, mut count) = (1, 0_u32, 0);
    while length <= LONGEST {
        all.first[length] = next;
        all.offset[length] = count as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                all.codes[symbol] = next >> (LONGEST - length);
                all.sorted[count] = symbol as u16;
                if length <= QUICK {
                    let start = (next >> (LONGEST - QUICK)) as usize;
                    let mut at = 0;
                    while at < 1 << (QUICK - length) {
                        all.quick[start + at] = (symbol as u16, length as u8);
                        at += 1;
                    }
                }
                count += 1;
                next += 1 << (LONGEST - length);
            }
            symbol += 1;
        }
        all.end[length] = next;
        length += 1;
    }
    all
}

/// Appends what `input` says to `text`.
pub(super) fn decode(input: &[u8], text: &mut Vec<u8>) -> Result<(), Undecodable> {
    let (mut bits, mut count) = (0_u64, 0);
    let mut rest = input.iter();
    loop {
        while count <= 48
            && let Some(byte) = rest.next()
        {
            bits = bits << 8 | u64::from(*byte);
            count += 8;
        }
        let (symbol, length) = first_symbol(window(bits, count));
        if length > count {
            // What is left is padding: the beginning of the end's code.
            let ones = (1 << count) - 1;
            return if count < 8 && bits & ones == ones { Ok(()) } else { Err(Undecodable) };
        }
        if symbol == EOS {
            return Err(Undecodable);
        }
        text.push(symbol as u8);
        count -= length;
    }
}

/// The next 30 of `count` bits, filled up with ones.
#[inline]
const fn window(bits: u64, count: usize) -> u32 {
    let window = if count >= LONGEST {
        bits >> (count - LONGEST)
    } else {
        bits << (LONGEST - count) | ((1 << (LONGEST - count)) - 1)
    };
    (window & ((1 << LONGEST) - 1)) as u32
}

#[inline]
fn first_symbol(window: u32) -> (u16, usize) {
    let (symbol, length) = CODES.quick[(window >> (LONGEST - QUICK)) as usize];
    if length > 0 {
        return (symbol, usize::from(length));
    }
    let longer = QUICK + 1..=LONGEST;
    let length = longer.into_iter().find(|length| window < CODES.end[*length]).unwrap_or(LONGEST);
    let at = (window - CODES.first[length]) >> (LONGEST - length);
    (CODES.sorted[usize::from(CODES.offset[length]) + at as usize], length)
}

/// So many octets `text` takes.
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|octet| usize::from(LENGTHS[usize::from(*octet)])).sum();
    bits.div_ceil(8)
}

/// Appends `text` to `out`.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0);
    for octet in text {
        let length = LENGTHS[usize::from(*octet)];
        bits = bits << length | u64::from(CODES.codes[usize::from(*octet)]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | (0xff >> count));
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode, encoded_length};

    #[test]
    fn every_octet_comes_back() {
        let text: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let mut coded = Vec::new();
        encode(&text, &mut coded);
        assert_eq!(coded.len(), encoded_length(&text));
        let mut decoded = Vec::new();
        decode(&coded, &mut decoded).unwrap();
        assert_eq!(decoded, text);
    }

    #[test]
    fn padding_is_short_and_all_ones() {
        let mut text = Vec::new();
        // `0` is 00000.
        decode(&[0b0000_0111], &mut text).unwrap();
        assert_eq!(text, b"0");
        for broken in [
            &[0b0000_0110][..],
            &[0b0000_0000],
            &[0b0000_0111, 0xff],
            &[0xff],
            &[0xff, 0xff, 0xff, 0xfc],
            &[0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(decode(broken, &mut text).is_err(), "{broken:?}");
        }
        decode(&[], &mut text).unwrap();
    }
}
