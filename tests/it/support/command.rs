//! Commands of the binary, run to their end.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// What a command said and how it ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Stdout as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|why| panic!("{why}\nstdout: {}\nstderr: {}", self.stdout, self.stderr))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// `benchd` in `folder`, with nothing of the tester's own environment and with
/// its database there.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchd"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("XDG_DATA_HOME", folder).current_dir(folder);
    command
}

/// Runs `benchd` with these arguments to its end.
pub(crate) fn benchd(folder: &Path, args: &[&str]) -> Ended {
    command(folder).args(args).output().expect("benchd starts").into()
}
