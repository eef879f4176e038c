//! The tools that are measured: how each is called, and what it says it did.

use benchd_tuning::ManagedNginx;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    Benchd,
    Wrk,
    Ab,
}

/// One run of one tool.
pub(crate) struct Run {
    /// What nginx counted, without anybody's polls.
    pub(crate) requests: u64,
    /// What the tool says.
    pub(crate) own_count: u64,
    pub(crate) wall_s: f64,
    cpu_s: f64,
    /// Peak resident memory of the tool.
    pub(crate) peak_kb: u64,
}

impl Run {
    pub(crate) fn cpu_us_per_request(&self) -> f64 {
        self.cpu_s * 1e6 / self.requests.max(1) as f64
    }
}

impl Tool {
    /// Every tool; a missing one stops the benchmark.
    pub(crate) fn installed() -> Vec<Self> {
        for (program, package) in
            [("wrk", "wrk"), ("ab", "apache2-utils"), ("taskset", "util-linux")]
        {
            let found = Command::new(program)
                .arg("-V")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(found.is_ok(), "{program} is missing: apt-get install {package}");
        }
        vec![Self::Benchd, Self::Wrk, Self::Ab]
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Benchd => "benchd",
            Self::Wrk => "wrk",
            Self::Ab => "ab -k",
        }
    }

    /// Runs it on processor 0 and reads what it used and what it says.
    pub(crate) fn run(self, nginx: &ManagedNginx, connections: u32, seconds: u32) -> Run {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]);
        match self {
            Self::Benchd => command
                .args([env!("CARGO_BIN_EXE_benchd"), "run", "--quiet", "--format", "json"])
                .args(["--stub-status", &nginx.stub_status_url(), "-c", &connections.to_string()])
                .args(["-d", &format!("{seconds}s"), "--database"])
                .arg(folder.path().join("bench.db"))
                .arg(nginx.url("/")),
            Self::Wrk => command
                .args(["wrk", "-t1", "-c", &connections.to_string(), "-d", &seconds.to_string()])
                .arg(nginx.url("/")),
            Self::Ab => command
                .args([
                    "ab",
                    "-k",
                    "-q",
                    "-r",
                    "-c",
                    &connections.to_string(),
                    "-t",
                    &seconds.to_string(),
                ])
                .args(["-n", "100000000"])
                .arg(nginx.url("/")),
        };
        let before = nginx_requests(nginx);
        let cpu_before = children_cpu_s();
        let started = Instant::now();
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the tool starts");
        let mut stdout = child.stdout.take().expect("stdout is a pipe");
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let mut peak_kb = 0;
        while child.try_wait().expect("the tool can be waited for").is_none() {
            peak_kb = peak_kb.max(peak_of(child.id()));
            std::thread::sleep(Duration::from_millis(20));
        }
        let wall_s = started.elapsed().as_secs_f64();
        let cpu_s = children_cpu_s() - cpu_before;
        let text = reader.join().expect("the reader ends").expect("stdout is text");
        let (own_count, polls) = self.counts(&text);
        // The second reading of the page counts itself.
        let requests = nginx_requests(nginx) - before - 1 - polls;
        Run { requests, own_count, wall_s, cpu_s, peak_kb }
    }

    /// What the tool says it completed, and the polls it made of its own.
    fn counts(self, text: &str) -> (u64, u64) {
        let number = |words: &str| words.trim().parse().unwrap_or(0);
        match self {
            Self::Benchd => {
                let result: serde_json::Value =
                    serde_json::from_str(text).expect("benchd prints JSON");
                let polls = result["server"]["stub_status"]["polls"].as_u64();
                (result["counts"]["ok"].as_u64().unwrap_or(0), polls.unwrap_or(0))
            }
            Self::Wrk => {
                let line = text.lines().find(|line| line.contains(" requests in "));
                (line.and_then(|l| l.trim().split(' ').next()).map_or(0, number), 0)
            }
            Self::Ab => {
                let line = text.lines().find_map(|line| line.strip_prefix("Complete requests:"));
                (line.map_or(0, number), 0)
            }
        }
    }
}

/// User and system time of all children that were waited for, from
/// /proc/self/stat: fields 16 and 17, in hundredths of a second.
fn children_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc/self/stat");
    let after_name = stat.rsplit_once(')').expect("the name ends with a parenthesis").1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    fields[13..15].iter().map(|field| field.parse::<f64>().unwrap_or(0.0) / 100.0).sum()
}

/// taskset becomes the tool by exec, so the child's own figure is the tool's.
pub(crate) fn peak_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn nginx_requests(nginx: &ManagedNginx) -> u64 {
    let url = nginx.stub_status_url();
    let address = url.trim_start_matches("http://").split('/').next().expect("a URL has a host");
    let mut stream = TcpStream::connect(address).expect("nginx answers");
    stream.write_all(b"GET /nginx_status HTTP/1.0\r\n\r\n").expect("nginx takes the request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("nginx answers with text");
    let counters = text.lines().skip_while(|l| !l.starts_with("server accepts")).nth(1);
    let requests = counters.and_then(|line| line.split_whitespace().nth(2));
    requests.and_then(|n| n.parse().ok()).expect("the page has three counters")
}
