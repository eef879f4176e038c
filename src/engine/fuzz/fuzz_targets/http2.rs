//! Any bytes on an HTTP/2 connection with requests in flight: no split changes what
//! becomes of them, memory stays bounded, and the h2 crate agrees where it should.

#![no_main]

use benchd_engine::fuzzing::http2 as fate;
use fate::fates;
use libfuzzer_sys::fuzz_target;
use std::cell::LazyCell;
use tokio::runtime::{Builder, Runtime};

#[path = "../../http2/oracle.rs"]
mod oracle;

const STREAMS: usize = 4;
/// A server begins with SETTINGS.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

thread_local! {
    static RUNTIME: LazyCell<Runtime> =
        LazyCell::new(|| Builder::new_current_thread().build().expect("a runtime without I/O"));
}

fuzz_target!(|data: &[u8]| {
    // One byte for what was asked, one for where the bytes are split.
    let [asked, cut, bytes @ ..] = data else { return };
    let wire = [&SETTINGS, bytes].concat();
    let method = if asked & 1 == 0 { "GET" } else { "HEAD" };
    let whole = fates(method, STREAMS, &[&wire]);
    let single: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(fates(method, STREAMS, &single), whole, "byte by byte");
    let (left, right) = wire.split_at(usize::from(*cut).min(wire.len()));
    assert_eq!(fates(method, STREAMS, &[left, right]), whole, "split at {cut}");
    RUNTIME.with(|runtime| {
        assert_eq!(runtime.block_on(oracle::disagreement(STREAMS, &wire)), None);
    });
});
