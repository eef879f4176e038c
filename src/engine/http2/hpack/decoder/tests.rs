//! The examples of RFC 7541, appendix C.

use super::Decoder;

type Field = (&'static str, &'static str);

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn fields(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
    decoder.decode(block, |name, value| fields.push((text(name), text(value)))).unwrap();
    fields
}

fn owned(fields: &[Field]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What the dynamic table holds, newest first.
fn table(decoder: &Decoder) -> Vec<(String, String)> {
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
    let entries = (62..).map_while(|index| decoder.table.get(index).ok());
    entries.map(|(name, value)| (text(name), text(value))).collect()
}

/// Blocks, each with its fields and the table behind it.
fn check(limit: usize, blocks: &[(&str, &[Field], &[Field])]) {
    let mut decoder = Decoder::new(limit);
    for (block, expected, entries) in blocks {
        assert_eq!(fields(&mut decoder, &octets(block)), owned(expected));
        assert_eq!(table(&decoder), owned(entries));
    }
}

#[test]
fn c2_single_fields() {
    let custom: Field = ("custom-key", "custom-header");
    let literal = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    check(4096, &[(literal, &[custom], &[custom])]);
    check(4096, &[("040c 2f73 616d 706c 652f 7061 7468", &[(":path", "/sample/path")], &[])]);
    let never = "1008 7061 7373 776f 7264 0673 6563 7265 74";
    check(4096, &[(never, &[("password", "secret")], &[])]);
    check(4096, &[("82", &[(":method", "GET")], &[])]);
}

const GET: Field = (":method", "GET");
const AUTHORITY: Field = (":authority", "www.example.com");
const NO_CACHE: Field = ("cache-control", "no-cache");
const CUSTOM: Field = ("custom-key", "custom-value");

#[test]
fn c3_and_c4_requests() {
    let (http, https) = ((":scheme", "http"), (":scheme", "https"));
    let (root, index) = ((":path", "/"), (":path", "/index.html"));
    for blocks in [
        [
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        ],
        [
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ],
    ] {
        check(
            4096,
            &[
                (blocks[0], &[GET, http, root, AUTHORITY], &[AUTHORITY]),
                (blocks[1], &[GET, http, root, AUTHORITY, NO_CACHE], &[NO_CACHE, AUTHORITY]),
                (
                    blocks[2],
                    &[GET, https, index, AUTHORITY, CUSTOM],
                    &[CUSTOM, NO_CACHE, AUTHORITY],
                ),
            ],
        );
    }
}

#[test]
fn c5_and_c6_responses_with_eviction() {
    let (found, not_modified, ok) = ((":status", "302"), (":status", "307"), (":status", "200"));
    let private = ("cache-control", "private");
    let date = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
    let later = ("date", "Mon, 21 Oct 2013 20:13:22 GMT");
    let location = ("location", "https://www.example.com");
    let gzip = ("content-encoding", "gzip");
    let cookie = ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1");
    for blocks in [
        [
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 \
             2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 \
             6c65 2e63 6f6d",
            "4803 3330 37c1 c0bf",
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d \
             54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 \
             5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e \
             3d31",
        ],
        [
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 \
             2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab \
             77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f \
             9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        ],
    ] {
        check(
            256,
            &[
                (blocks[0], &[found, private, date, location], &[location, date, private, found]),
                (
                    blocks[1],
                    &[not_modified, private, date, location],
                    &[not_modified, location, date, private],
                ),
                (blocks[2], &[ok, private, later, location, gzip, cookie], &[cookie, gzip, later]),
            ],
        );
    }
}

#[test]
fn sizes_are_updated_before_the_first_field_and_within_the_limit() {
    let mut decoder = Decoder::new(4096);
    let insert = [0x40, 1, b'a', 1, b'b'];
    decoder.decode(&insert, |_, _| ()).unwrap();
    assert_eq!(table(&decoder), owned(&[("a", "b")]));
    // To 0, which empties it, and back to 4096.
    decoder.decode(&[0x20, 0x3f, 0xe1, 0x1f], |_, _| ()).unwrap();
    assert!(table(&decoder).is_empty());
    decoder.decode(&insert, |_, _| ()).unwrap();
    assert_eq!(table(&decoder).len(), 1);
    for broken in [&[0x3f, 0xe2, 0x1f][..], &[0x88, 0x20]] {
        assert!(decoder.decode(broken, |_, _| ()).is_err(), "{broken:?}");
    }
}

#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut decoder = Decoder::new(64);
    decoder.decode(&[0x40, 1, b'a', 1, b'b'], |_, _| ()).unwrap();
    let large = [&[0x40, 1, b'a', 40][..], &[b'x'; 40]].concat();
    decoder.decode(&large, |_, _| ()).unwrap();
    assert!(table(&decoder).is_empty());
}

#[test]
fn a_name_outlives_the_entry_that_makes_way_for_it() {
    let mut decoder = Decoder::new(64);
    decoder.decode(&[0x40, 1, b'a', 1, b'b'], |_, _| ()).unwrap();
    for value in b"cdefgh" {
        decoder.decode(&[0x7e, 1, *value], |_, _| ()).unwrap();
    }
    assert_eq!(table(&decoder), owned(&[("a", "h")]));
}

#[test]
fn what_is_no_hpack_is_refused() {
    for broken in [
        // Index 0, and one that there is not.
        &[0x80][..],
        &[0xbe],
        &[0x7e, 1, b'x'],
        // Cut anywhere.
        &[0x40],
        &[0x40, 1],
        &[0x40, 1, b'a'],
        &[0x40, 1, b'a', 2, b'b'],
        // Huffman with the end inside.
        &[0x40, 1, b'a', 0x84, 0xff, 0xff, 0xff, 0xff],
    ] {
        assert!(Decoder::new(4096).decode(broken, |_, _| ()).is_err(), "{broken:?}");
    }
}
