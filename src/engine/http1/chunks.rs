//! The chunked transfer coding (RFC 9112, section 7.1), decoded byte by byte
//! where it must be and skipped in bulk where it may be. Chunk data is counted,
//! never copied.

use super::{MAX_HEAD, Malformed, is_token_byte};

/// Chunk extensions longer than this in one body's size lines are refused.
const MAX_SIZE_LINE: u32 = 16 * 1024;

/// A decoder that may be fed any split of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    state: State,
    /// Size of the chunk being read, then what is left of it.
    left: u64,
    /// Bytes of the current size line, or of all trailers.
    line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SizeStart,
    Size,
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
}

impl Chunks {
    pub(crate) const fn new() -> Self {
        Self { state: State::SizeStart, left: 0, line: 0 }
    }

    /// Eats `input` and adds the data in it to `body`. Returns how many bytes
    /// belonged to the body when its end was reached.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        body: &mut u64,
    ) -> Result<Option<usize>, Malformed> {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Data {
                let step = self.left.min((input.len() - at) as u64);
                *body += step;
                self.left -= step;
                at += step as usize;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            let byte = input[at];
            at += 1;
            if self.step(byte)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Takes one byte of framing; true when it was the last of the body.
    fn step(&mut self, byte: u8) -> Result<bool, Malformed> {
        self.state = match (self.state, byte) {
            (State::SizeStart | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.push_digit(byte)?;
                State::Size
            }
            (State::SizeStart, _) => return Err("a chunk without a size"),
            (State::Size | State::SizeSpace, b' ' | b'\t') => State::SizeSpace,
            (State::Size | State::SizeSpace, b';') => State::Extension,
            (State::Size | State::SizeSpace | State::Extension, b'\r') => State::SizeLf,
            (State::Size | State::SizeSpace, _) => return Err("a chunk size that is no number"),
            (State::Extension, b'\n') => return Err("a bare line feed after a chunk size"),
            (State::Extension, _) => State::Extension,
            (State::SizeLf, b'\n') => {
                self.line = 0;
                if self.left == 0 { State::TrailerStart } else { State::Data }
            }
            (State::SizeLf, _) => return Err("a bare carriage return after a chunk size"),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => {
                self.line = 0;
                State::SizeStart
            }
            (State::DataCr | State::DataLf, _) => return Err("a chunk longer than its size"),
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart | State::EndLf, b'\n') => return Ok(true),
            // A folded line, which is none before the first.
            (State::TrailerStart, b' ' | b'\t') if self.line > 1 => State::TrailerValue,
            (State::TrailerStart, _) if is_token_byte(byte) => State::TrailerName,
            (State::TrailerName, b':') => State::TrailerValue,
            (State::TrailerName, b' ' | b'\t') => State::TrailerName,
            (State::TrailerName, _) if is_token_byte(byte) => State::TrailerName,
            (State::TrailerStart | State::TrailerName, _) => {
                return Err("a malformed trailer field name");
            }
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue | State::TrailerLf, b'\n') => State::TrailerStart,
            (State::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => State::TrailerValue,
            (State::TrailerValue, _) => return Err("a malformed trailer field value"),
            (State::TrailerLf | State::EndLf, _) => {
                return Err("a bare carriage return in the trailers");
            }
            (State::Data, _) => State::Data,
        };
        self.count_line()
    }

    fn push_digit(&mut self, digit: u8) -> Result<(), Malformed> {
        let value = char::from(digit).to_digit(16).map_or(0, u64::from);
        if self.left >> 60 != 0 {
            return Err("a chunk size that does not fit in 64 bits");
        }
        self.left = self.left << 4 | value;
        Ok(())
    }

    fn count_line(&mut self) -> Result<bool, Malformed> {
        self.line += 1;
        match self.state {
            State::TrailerStart | State::TrailerName | State::TrailerValue
                if self.line as usize > MAX_HEAD =>
            {
                Err("trailers larger than 64 KiB")
            }
            State::Size | State::SizeSpace | State::Extension if self.line > MAX_SIZE_LINE => {
                Err("a chunk size line longer than 16 KiB")
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunks, Malformed};
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Result<(u64, Option<usize>), Malformed> {
        let (mut chunks, mut body, mut before) = (Chunks::new(), 0, 0);
        for piece in pieces {
            if let Some(used) = chunks.feed(piece, &mut body)? {
                return Ok((body, Some(before + used)));
            }
            before += piece.len();
        }
        Ok((body, None))
    }

    const SAMPLE: &[u8] =
        b"5;name=\"a b\"\r\nhello\r\n1A \r\nabcdefghijklmnopqrstuvwxyz\r\n000\r\nX-Sum: 1\r\nY: 2\r\n\r\n";

    #[test]
    fn extensions_trailers_and_leading_zeros_are_framing() {
        assert_eq!(decode(&[SAMPLE]), Ok((31, Some(SAMPLE.len()))));
    }

    #[test]
    fn any_split_gives_the_same_body() {
        for at in 0..=SAMPLE.len() {
            let (left, right) = SAMPLE.split_at(at);
            assert_eq!(decode(&[left, right]), Ok((31, Some(SAMPLE.len()))), "split at {at}");
        }
        let single: Vec<&[u8]> = SAMPLE.chunks(1).collect();
        assert_eq!(decode(&single), Ok((31, Some(SAMPLE.len()))));
    }

    #[test]
    fn bytes_after_the_end_are_left_over() {
        assert_eq!(decode(&[b"1\r\nx\r\n0\r\n\r\nHTTP/1.1"]), Ok((1, Some(11))));
    }

    #[test]
    fn what_is_not_chunked_is_refused() {
        for bad in [
            &b"\r\n"[..],
            b"xyz\r\n",
            b"5\nhello",
            b"-1\r\n",
            b"5\r\nhello!\r\n",
            b"5\r\nhello\n0\r\n",
            b"10000000000000000\r\n",
            b"5;ext\nhello",
            b"0\r\n\rX",
            b"0\r\n A: b\r\n\r\n",
            b"0\r\nA\r\n\r\n",
            b"0\r\n: b\r\n\r\n",
            b"0\r\nA: \0\r\n\r\n",
            b"0\r\nA: b\rC: d\r\n\r\n",
        ] {
            assert!(decode(&[bad]).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
        let endless = vec![b'a'; 100_000];
        assert!(decode(&[b"1;", &endless]).is_err());
        assert!(decode(&[b"0\r\n", &endless]).is_err());
    }

    #[test]
    fn the_largest_size_is_taken() {
        assert_eq!(decode(&[b"ffffffffffffffff\r\nabc"]), Ok((3, None)));
    }

    proptest! {
        #[test]
        fn random_chunks_in_random_splits_add_up(
            sizes in prop::collection::vec(1usize..300, 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let mut wire = Vec::new();
            for size in &sizes {
                wire.extend_from_slice(format!("{size:x}\r\n").as_bytes());
                wire.resize(wire.len() + size, b'z');
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            let mut cuts: Vec<usize> = cuts.iter().map(|c| c.index(wire.len())).collect();
            cuts.sort_unstable();
            cuts.push(wire.len());
            let mut from = 0;
            let pieces: Vec<&[u8]> = cuts
                .iter()
                .map(|to| std::mem::replace(&mut from, *to)..*to)
                .map(|range| &wire[range])
                .collect();
            let total: usize = sizes.iter().sum();
            prop_assert_eq!(decode(&pieces), Ok((total as u64, Some(wire.len()))));
        }
    }
}
