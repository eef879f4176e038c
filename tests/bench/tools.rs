//! The tools that are measured: how each is called, and what it says it did.

use crate::process::{self, Usage};
use crate::server::Server;
use crate::works::{Exchange, STREAMS};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    Benchd,
    Wrk,
    Ab,
    H2load,
    Oha,
}

/// What one run of a tool shall do.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) exchange: Exchange,
    pub(crate) connections: u32,
    pub(crate) seconds: u32,
    pub(crate) threads: u32,
    /// Those that the client may use, as taskset reads them.
    pub(crate) processors: &'static str,
}

/// One run of one tool.
pub(crate) struct Run {
    pub(crate) usage: Usage,
    /// What nginx counted, without anybody's polls.
    pub(crate) requests: u64,
    pub(crate) said: Said,
}

/// What a tool says it did.
pub(crate) struct Said {
    /// Requests with an answer.
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    /// Reads of the status page, which are no load.
    polls: u64,
    pub(crate) driver: Option<String>,
}

impl Run {
    pub(crate) fn cpu_us_per_request(&self) -> f64 {
        self.usage.cpu_s * 1e6 / self.requests as f64
    }

    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 / self.usage.wall_s
    }

    /// The tool's own count less nginx's.
    pub(crate) fn difference(&self) -> i64 {
        self.said.completed.cast_signed() - self.requests.cast_signed()
    }
}

impl Tool {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Benchd => "benchd",
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::H2load => "h2load",
            Self::Oha => "oha",
        }
    }

    /// Stops the benchmark when the tool is missing.
    pub(crate) fn require(self) {
        let get = match self {
            Self::Benchd => return,
            Self::Wrk => "apt-get install wrk",
            Self::Ab => "apt-get install apache2-utils",
            Self::H2load => "apt-get install nghttp2-client",
            Self::Oha => "cargo install oha --locked --root target/peers",
        };
        if self.says_of_itself().is_none() {
            eprintln!("{} is missing; `make bench` installs it, as does: {get}", self.name());
            std::process::exit(2);
        }
    }

    /// Its name and version.
    pub(crate) fn version(self) -> String {
        let said = self.says_of_itself().unwrap_or_default();
        let line = said.lines().next().unwrap_or_default();
        let line = line.split(" Copyright").next().unwrap_or_default();
        line.trim_start_matches("This is ").replace(", Version", "").replace(" <$Revision$>", "")
    }

    fn says_of_itself(self) -> Option<String> {
        let option = if matches!(self, Self::Wrk) { "-v" } else { "-V" };
        let option = if matches!(self, Self::H2load) { "--version" } else { option };
        let output = Command::new(self.program()).arg(option).stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn program(self) -> PathBuf {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/bin");
        match self {
            Self::Benchd => env!("CARGO_BIN_EXE_benchd").into(),
            Self::Oha => {
                Some(peers.join("oha")).filter(|oha| oha.is_file()).unwrap_or("oha".into())
            }
            other => other.name().into(),
        }
    }

    /// Runs it and reads what it used, what it says and what nginx says. A run
    /// that hung or hardly got beyond connecting gives nothing to compare.
    pub(crate) fn run(self, server: &Server, load: &Load) -> Option<Run> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let command = self.command(server, load, folder.path());
        let before = server.requests();
        let usage = process::measure(command)?;
        let said = self.said(&usage.stdout);
        let requests = server.requests() - before - said.polls;
        if requests < 2 * u64::from(load.connections) {
            let connections = load.connections;
            eprintln!(
                "not counted: {requests} requests of {} on {connections} connections",
                self.name()
            );
            return None;
        }
        Some(Run { usage, requests, said })
    }

    fn command(self, server: &Server, load: &Load, folder: &Path) -> Command {
        let mut command = match self {
            Self::Benchd => process::benchd_run(load.processors, folder),
            peer => process::pinned(load.processors, peer.program()),
        };
        let Load { connections, seconds, threads, .. } = load;
        let options = match self {
            Self::Benchd => {
                let page = server.stub_status_url();
                format!("-d {seconds}s --threads {threads} --stub-status {page}")
            }
            Self::Wrk => format!("-d {seconds}s -t {threads}"),
            // -t sets a number of requests, too, which -n takes back.
            Self::Ab => format!("-q -r -t {seconds} -n 100000000"),
            Self::H2load => format!("-D {seconds} -t {threads}"),
            Self::Oha => {
                format!("-z {seconds}s --worker-threads {threads} --no-tui --output-format json")
            }
        };
        command.args(["-c", &connections.to_string()]).args(options.split(' '));
        command.args(self.options_for(load.exchange)).arg(server.url(load.exchange));
        command
    }

    const fn options_for(self, exchange: Exchange) -> &'static [&'static str] {
        match (self, exchange) {
            (Self::Benchd, Exchange::Close) => &["--no-keepalive"],
            (Self::Benchd | Self::Oha, Exchange::Tls) => &["--insecure"],
            (Self::Benchd, Exchange::Http2) => &["--protocol", "h2", "--streams", STREAMS],
            (Self::Wrk, Exchange::Close) => &["-H", "Connection: close"],
            (Self::Ab, Exchange::KeepAlive | Exchange::Large | Exchange::Tls) => &["-k"],
            (Self::H2load, Exchange::Http2) => &["-m", STREAMS],
            (Self::H2load, _) => &["--h1"],
            (Self::Oha, Exchange::Close) => &["--disable-keepalive"],
            (Self::Oha, Exchange::Http2) => &["--http2", "-p", STREAMS],
            _ => &[],
        }
    }

    fn said(self, text: &str) -> Said {
        let line = |words: &str| text.lines().find_map(|line| line.trim().strip_prefix(words));
        let first = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
        let after = |words: &str| line(words).and_then(first);
        let (completed, failed) = match self {
            Self::Benchd => return benchd_said(text),
            Self::Wrk => {
                let total =
                    text.lines().find(|line| line.contains(" requests in ")).and_then(first);
                let errors = line("Socket errors:").map_or(0, numbers_in);
                (total, errors + after("Non-2xx or 3xx responses:").unwrap_or(0))
            }
            Self::Ab => {
                let failed = after("Failed requests:").unwrap_or(0);
                (after("Complete requests:"), failed + after("Non-2xx responses:").unwrap_or(0))
            }
            Self::H2load => {
                let part = |name| {
                    line("requests:")?.split(", ").find_map(|p| first(p.strip_suffix(name)?))
                };
                (part(" succeeded"), part(" failed").unwrap_or(0))
            }
            Self::Oha => oha_said(text),
        };
        let completed =
            completed.unwrap_or_else(|| panic!("{} says no total: {text}", self.name()));
        Said { completed, failed, polls: 0, driver: None }
    }
}

fn benchd_said(text: &str) -> Said {
    let result: Value =
        serde_json::from_str(text).unwrap_or_else(|why| panic!("benchd prints no result: {why}"));
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let counts = &result["counts"];
    Said {
        completed: count(&counts["ok"]),
        failed: count(&counts["issued"]) - count(&counts["ok"]) - count(&counts["aborted"]),
        polls: count(&result["server"]["stub_status"]["polls"]),
        driver: result["load"]["driver"].as_str().map(str::to_owned),
    }
}

/// Successes and failures; what it cut off at its end is neither.
fn oha_said(text: &str) -> (Option<u64>, u64) {
    let Ok(result) = serde_json::from_str::<Value>(text) else { return (None, 0) };
    let counts = |name: &str| result[name].as_object().cloned().unwrap_or_default();
    let sum = |counts: &serde_json::Map<String, Value>, wanted: &dyn Fn(&str) -> bool| {
        counts.iter().filter(|(key, _)| wanted(key)).filter_map(|(_, n)| n.as_u64()).sum::<u64>()
    };
    let (statuses, errors) = (counts("statusCodeDistribution"), counts("errorDistribution"));
    let good = |status: &str| status.starts_with('2');
    let failed = sum(&statuses, &|status| !good(status))
        + sum(&errors, &|error| error != "aborted due to deadline");
    (Some(sum(&statuses, &good)), failed)
}

fn numbers_in(text: &str) -> u64 {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u64>().ok()).sum()
}
