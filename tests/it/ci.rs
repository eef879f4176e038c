//! What a pipeline is given to run, run: by sh and curl against a real service
//! and a real nginx.

mod files;
mod gate;

use std::path::PathBuf;

/// A file of the repository.
fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
