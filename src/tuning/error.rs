//! What can go wrong with a managed nginx, in words for a person.

use std::path::PathBuf;
use std::time::Duration;

/// Why nginx could not be run.
#[derive(Debug, thiserror::Error)]
pub enum NginxError {
    /// There is no nginx on this machine.
    #[error(
        "nginx was not found in PATH, /usr/sbin or /usr/local/sbin: run `apt-get install nginx`, \
         or name a binary in BENCHD_NGINX"
    )]
    Missing,
    /// The binary cannot be run.
    #[error("{} cannot be run: {source}", path.display())]
    Binary {
        /// The binary.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Its folder, files or process could not be made.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// nginx ended by itself, or refused a new configuration.
    #[error("nginx failed to {doing}: {log}")]
    Failed {
        /// `start` or `reload`.
        doing: &'static str,
        /// What error.log says.
        log: String,
    },
    /// nginx runs and does not answer.
    #[error("nginx did not {doing} within {waited:?}: {log}")]
    Silent {
        /// `start` or `reload`.
        doing: &'static str,
        /// How long was waited.
        waited: Duration,
        /// What error.log says.
        log: String,
    },
}

impl NginxError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
