//! Finds the machine's nginx and asks it what it is.

use crate::error::NginxError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where distributions put nginx when PATH does not say: an ordinary user's
/// PATH has no sbin folders on Debian.
const USUAL_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"];

/// The nginx binary to use: `BENCHD_NGINX`, else the first one in PATH, else
/// one in the usual folders.
#[must_use]
pub fn find_nginx() -> Option<PathBuf> {
    let named = std::env::var_os("BENCHD_NGINX").filter(|path| !path.is_empty());
    find_among(named.as_deref(), std::env::var_os("PATH").as_deref())
}

fn find_among(named: Option<&OsStr>, path: Option<&OsStr>) -> Option<PathBuf> {
    if let Some(named) = named {
        // A name that leads nowhere is an answer, too: never run another one.
        return Some(PathBuf::from(named)).filter(|binary| binary.is_file());
    }
    std::env::split_paths(path.unwrap_or_default())
        .chain(USUAL_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join("nginx"))
        .find(|binary| binary.is_file())
}

/// The version a binary reports, as its `Server` header names it (`nginx/1.22.1`).
///
/// # Errors
/// [`NginxError::Binary`] when it cannot be run.
pub fn nginx_version(binary: &Path) -> Result<String, NginxError> {
    Build::of(binary).map(|build| build.version)
}

/// What a binary says of itself (`nginx -V`).
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) version: String,
    arguments: String,
}

impl Build {
    pub(crate) fn of(binary: &Path) -> Result<Self, NginxError> {
        let output = Command::new(binary)
            .arg("-V")
            .output()
            .map_err(|source| NginxError::Binary { path: binary.to_owned(), source })?;
        Ok(Self::parse(&String::from_utf8_lossy(&output.stderr)))
    }

    fn parse(text: &str) -> Self {
        let version = text.lines().find_map(|line| line.split_once("version: "));
        Self {
            version: version.map_or("nginx", |(_, name)| name.trim()).to_owned(),
            arguments: text.to_owned(),
        }
    }

    /// Whether an http module that is in by default was left out.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        !self.arguments.contains(&format!("--without-http_{name}_module"))
    }

    /// Whether `-e FILE` names the error log before the configuration is read
    /// (nginx 1.19.5).
    pub(crate) fn takes_error_log(&self) -> bool {
        let Some(number) = self.version.strip_prefix("nginx/") else { return false };
        let parts: Vec<u32> = number
            .split(|c: char| !c.is_ascii_digit())
            .map_while(|part| part.parse().ok())
            .collect();
        parts.as_slice() >= [1, 19, 5].as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::{Build, find_among};
    use std::ffi::OsStr;
    use std::fs;

    #[test]
    fn the_named_binary_comes_before_path_and_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (named, in_path) = (folder.path().join("mine"), folder.path().join("nginx"));
        fs::write(&in_path, "").unwrap();
        let path = Some(folder.path().as_os_str());
        assert_eq!(find_among(None, path), Some(in_path));
        assert_eq!(find_among(Some(named.as_os_str()), path), None);
        fs::write(&named, "").unwrap();
        assert_eq!(find_among(Some(named.as_os_str()), path), Some(named.clone()));
        assert_ne!(find_among(None, Some(OsStr::new("/nowhere"))), Some(named));
    }

    #[test]
    fn reads_what_builds_say() {
        let debian = Build::parse(
            "nginx version: nginx/1.22.1\nconfigure arguments: --without-http_uwsgi_module\n",
        );
        assert_eq!(debian.version, "nginx/1.22.1");
        assert!(
            debian.takes_error_log() && debian.has_module("fastcgi") && !debian.has_module("uwsgi")
        );
        assert!(!Build::parse("nginx version: nginx/1.18.0 (Ubuntu)\n").takes_error_log());
        assert!(Build::parse("nginx version: nginx/2.0\n").takes_error_log());
        let tengine = Build::parse("Tengine version: Tengine/2.3.3\nnginx version: nginx/1.18.0\n");
        assert_eq!(tengine.version, "Tengine/2.3.3");
        assert!(!tengine.takes_error_log());
        assert_eq!(Build::parse("").version, "nginx");
    }
}
