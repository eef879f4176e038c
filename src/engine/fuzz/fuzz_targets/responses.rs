//! Any bytes as a response: no split changes what becomes of it, and hyper
//! agrees wherever it should.

#![no_main]

use benchd_engine::fuzzing as fate;
use fate::{Request, fate};
use libfuzzer_sys::fuzz_target;
use std::cell::LazyCell;
use tokio::runtime::{Builder, Runtime};

#[path = "../../http1/oracle.rs"]
mod oracle;

thread_local! {
    static RUNTIME: LazyCell<Runtime> =
        LazyCell::new(|| Builder::new_current_thread().build().expect("a runtime without I/O"));
}

fuzz_target!(|data: &[u8]| {
    // One byte for what was asked, one for where the bytes are split.
    let [asked, cut, wire @ ..] = data else { return };
    let method = ["GET", "HEAD", "POST", "GET"][usize::from(asked & 3)];
    let request = Request { method, http10: asked & 4 != 0 };
    let whole = fate::fate(request, &[wire]);
    let bytes: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(fate(request, &bytes), whole, "byte by byte");
    let (left, right) = wire.split_at(usize::from(*cut).min(wire.len()));
    assert_eq!(fate(request, &[left, right]), whole, "split at {cut}");
    RUNTIME.with(|runtime| {
        let disagreement = runtime.block_on(oracle::disagreement(request, &[left, right]));
        assert_eq!(disagreement, None);
    });
});
