//! Whether the file that is open is still the one at its path. Knows no SQL.

use crate::StoreError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A file as it was when it was opened.
pub(crate) struct OpenFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

impl OpenFile {
    /// The file at `path`, links followed.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        // Whatever folder the process works in later, it is the same file.
        let path = std::path::absolute(path)?;
        let device_and_inode = identity(&path)?;
        Ok(Self { path, device_and_inode })
    }

    /// # Errors
    /// [`StoreError::Removed`].
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match identity(&self.path) {
            Ok(found) if found == self.device_and_inode => Ok(()),
            Ok(_) | Err(_) => Err(StoreError::Removed { path: self.path.clone() }),
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.metadata().map(|file| (file.dev(), file.ino()))
}
