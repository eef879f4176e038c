use super::{Fields, Heads};
use crate::http2::hpack::{Decoder, TABLE, write_indexed, write_literal, write_size_update};
use proptest::collection::vec;
use proptest::prelude::*;

fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut block = Vec::new();
    write_literal(&mut block, name.as_bytes(), value.as_bytes(), false);
    block
}

fn read(fields: &[(&str, &str)]) -> Fields {
    let block: Vec<u8> = fields.iter().flat_map(|(name, value)| literal(name, value)).collect();
    Heads::new().read(&block).unwrap()
}

fn is_malformed(fields: &[(&str, &str)]) -> bool {
    read(fields).head().is_err()
}

#[test]
fn a_head_says_its_status_and_length() {
    let head = read(&[(":status", "200"), ("a", "b"), ("content-length", "5")]).head().unwrap();
    assert_eq!((head.status, head.length, head.is_interim()), (200, Some(5), false));
    let head = read(&[(":status", "103"), ("content-length", "x")]).head().unwrap();
    assert_eq!((head.status, head.length, head.is_interim()), (103, None, true));
    // Codes that mean nothing are as good as any (RFC 9110, 15).
    assert_eq!(read(&[(":status", "999")]).head().unwrap().status, 999);
    let twice = [(":status", "200"), ("content-length", "5"), ("content-length", "5")];
    assert_eq!(read(&twice).head().unwrap().length, Some(5));
}

#[test]
fn what_rfc_9113_forbids_is_malformed() {
    let ok = (":status", "200");
    for fields in [
        &[][..],
        &[("a", "b")],
        &[("a", "b"), ok],
        &[ok, ok],
        &[(":status", "20")],
        &[(":status", "2x0")],
        &[(":status", "2000")],
        &[(":status", "000")],
        &[(":status", "099")],
        &[(":status", "101")],
        &[ok, (":path", "/")],
        &[ok, (":", "/")],
        &[ok, ("", "b")],
        &[ok, ("A", "b")],
        &[ok, ("a b", "b")],
        &[ok, ("a:", "b")],
        &[ok, ("a\u{e9}", "b")],
        &[ok, ("a", " b")],
        &[ok, ("a", "b\t")],
        &[ok, ("a", "b\r\nc")],
        &[ok, ("a", "b\0")],
        &[ok, ("connection", "close")],
        &[ok, ("proxy-connection", "close")],
        &[ok, ("keep-alive", "5")],
        &[ok, ("transfer-encoding", "chunked")],
        &[ok, ("upgrade", "h2c")],
        &[ok, ("te", "gzip")],
        &[ok, ("content-length", "")],
        &[ok, ("content-length", "+5")],
        &[ok, ("content-length", "5, 5")],
        &[ok, ("content-length", "99999999999999999999")],
        &[ok, ("content-length", "5"), ("content-length", "6")],
    ] {
        assert!(is_malformed(fields), "{fields:?}");
    }
    for field in [("te", "trailers"), ("a", ""), ("a", "b \t c"), ("a", "\u{e9}"), ("!#$%&'*+", "")]
    {
        assert!(!is_malformed(&[ok, field]), "{field:?}");
    }
}

#[test]
fn trailers_have_no_pseudo_field() {
    assert!(read(&[("a", "b"), ("content-length", "x")]).trailers().is_ok());
    assert!(read(&[(":status", "200")]).trailers().is_err());
    assert!(read(&[("A", "b")]).trailers().is_err());
}

#[test]
fn a_head_of_more_than_64_kib_is_refused_however_small_its_block_is() {
    let mut heads = Heads::new();
    let mut block = vec![0x88];
    write_literal(&mut block, b"a", &[b'x'; 4000], true);
    assert!(heads.read(&block).unwrap().head().is_ok());
    for (times, is_refused) in [(16, false), (17, true)] {
        let block = [&[0x88][..], &vec![0xbe; times]].concat();
        assert_eq!(heads.read(&block).unwrap().head().is_err(), is_refused);
    }
}

#[test]
fn the_server_s_name_is_that_of_the_last_response() {
    let mut heads = Heads::new();
    assert_eq!(heads.server(), None);
    for _ in 0..2 {
        heads.read(&[&[0x88][..], &literal("server", "one")].concat()).unwrap();
        assert_eq!(heads.server(), Some(&b"one"[..]));
        // Trailers say nothing of it.
        heads.read(&literal("a", "b")).unwrap();
        assert_eq!(heads.server(), Some(&b"one"[..]));
    }
    heads.read(&[0x88]).unwrap();
    assert_eq!(heads.server(), None);
}

/// A block of a server that does what it likes with the table.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![Just("a"), Just("content-length"), Just("server"), Just("date")];
    let value = prop_oneof![Just("1"), Just("22"), Just("four"), Just("a rather long value of it")];
    let field = (name, value, 0..6_usize, 0..9_usize).prop_map(|(name, value, how, index)| {
        let mut field = Vec::new();
        match how {
            0 => write_indexed(&mut field, 62 + index),
            1 => field.extend([0x7e + (index as u8 % 2), 1, b'v']),
            2 => write_literal(&mut field, name.as_bytes(), value.as_bytes(), false),
            3 => write_literal(&mut field, b"x", &vec![b'x'; 400 * index], true),
            _ => write_literal(&mut field, name.as_bytes(), value.as_bytes(), true),
        }
        field
    });
    let resize = prop_oneof![9 => Just(None), 1 => (0..4097_usize).prop_map(Some)];
    (resize, vec(field, 0..4)).prop_map(|(resize, fields)| {
        let mut block = Vec::new();
        if let Some(size) = resize {
            write_size_update(&mut block, size);
        }
        block.push(0x88);
        fields.into_iter().for_each(|field| block.extend(field));
        block
    })
}

proptest! {
    /// What is remembered of repeated blocks is what they would say anew, and
    /// leaves the same table behind.
    #[test]
    fn memory_changes_nothing(
        blocks in vec(block(), 1..4),
        order in vec((0..4_usize, 1..60_usize), 1..12),
    ) {
        let (mut heads, mut decoder) = (Heads::new(), Decoder::new(TABLE));
        for (at, times) in order {
            let block = &blocks[at % blocks.len()];
            for _ in 0..times {
                let mut fields = Fields::NONE;
                let anew = decoder.decode(block, |name, value| fields.take(name, value));
                let read = heads.read(block);
                prop_assert_eq!(read, anew.map(|_| fields));
                if read.is_err() {
                    return Ok(());
                }
            }
        }
        for index in 62..190 {
            let mut block = vec![0x88];
            write_indexed(&mut block, index);
            let mut fields = Fields::NONE;
            let anew = decoder.decode(&block, |name, value| fields.take(name, value));
            prop_assert_eq!(heads.read(&block), anew.map(|_| fields));
        }
    }
}
