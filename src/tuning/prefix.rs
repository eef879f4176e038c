//! The folder of one nginx: logs, pages, temporary files. Workers run as
//! another user when nginx is started by root, hence the open permissions.

use crate::options::NginxOptions;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

const LINE: &[u8] = b"benchd serves this page to be loaded.\n";

pub(crate) fn make_prefix(options: &NginxOptions) -> io::Result<TempDir> {
    let prefix = tempfile::Builder::new().prefix("benchd-nginx-").tempdir()?;
    for folder in ["", "logs", "html", "tmp"] {
        let folder = prefix.path().join(folder);
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
    }
    write_pages(prefix.path(), options)?;
    Ok(prefix)
}

/// Brings the pages to their sizes; one that has it already is left alone.
pub(crate) fn write_pages(prefix: &Path, options: &NginxOptions) -> io::Result<()> {
    for (name, bytes) in [("index.html", options.body_bytes), ("large", options.large_bytes)] {
        let path = prefix.join("html").join(name);
        if fs::metadata(&path).is_ok_and(|known| known.len() == bytes) {
            continue;
        }
        // Renamed into place, so that a running nginx never serves half a page.
        let draft = prefix.join("html").join(format!(".{name}"));
        write_page(File::create(&draft)?, bytes)?;
        fs::set_permissions(&draft, Permissions::from_mode(0o644))?;
        fs::rename(&draft, &path)?;
    }
    Ok(())
}

fn write_page(mut file: File, bytes: u64) -> io::Result<()> {
    let block = LINE.repeat(1024);
    let mut rest = bytes;
    while rest > 0 {
        let length = usize::try_from(rest).unwrap_or(usize::MAX).min(block.len());
        file.write_all(&block[..length])?;
        rest -= length as u64;
    }
    Ok(())
}

/// Whether every folder on the way lets other users pass.
pub(crate) fn open_to_others(path: &Path) -> bool {
    let open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|known| known.permissions().mode() & 0o001 != 0)
    };
    path.ancestors().all(open)
}
