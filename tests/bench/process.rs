//! Runs a client to its end and reads what it used.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a run may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(60);
/// Between two looks at a running process.
const PAUSE: Duration = Duration::from_millis(20);

/// What a process used from start to end.
pub(crate) struct Usage {
    pub(crate) stdout: String,
    pub(crate) wall_s: f64,
    /// User and system time, of its threads and children, too.
    pub(crate) cpu_s: f64,
    /// Peak resident memory.
    pub(crate) peak_kb: u64,
}

impl Usage {
    pub(crate) fn peak_mb(&self) -> f64 {
        self.peak_kb as f64 / 1024.0
    }
}

/// A command that may use these processors only. `taskset` becomes the program
/// by exec, so the child's own figures are the program's.
pub(crate) fn pinned(processors: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", processors]).arg(program);
    command
}

/// `benchd run` as users run it, with its database in `folder`; prints JSON.
pub(crate) fn benchd_run(processors: &str, folder: &Path) -> Command {
    let mut command = pinned(processors, env!("CARGO_BIN_EXE_benchd"));
    command.args(["run", "--quiet", "--format", "json", "--database"]);
    command.arg(folder.join("bench.db"));
    command
}

/// Runs it to its end; a run that does not end is cut off and gives nothing.
pub(crate) fn measure(mut command: Command) -> Option<Usage> {
    let cpu_before = children_cpu_s();
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|why| panic!("{command:?} does not start: {why}"));
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let mut peak = 0;
    while child.try_wait().expect("a child can be waited for").is_none() {
        if started.elapsed() > LIMIT {
            eprintln!("cut off, it does not end: {command:?}");
            child.kill().expect("a child can be killed");
            child.wait().expect("a killed child ends");
            return None;
        }
        peak = peak.max(peak_kb(child.id()));
        std::thread::sleep(PAUSE);
    }
    Some(Usage {
        wall_s: started.elapsed().as_secs_f64(),
        cpu_s: children_cpu_s() - cpu_before,
        peak_kb: peak,
        stdout: reader.join().expect("the reader ends").expect("stdout is text"),
    })
}

/// User and system time of all children that were waited for, from
/// /proc/self/stat: fields 16 and 17, in hundredths of a second.
fn children_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc/self/stat");
    let after_name = stat.rsplit_once(')').expect("the name ends with a parenthesis").1;
    let fields = after_name.split_whitespace().skip(13).take(2);
    fields.map(|field| field.parse::<f64>().expect("a time is a number") / 100.0).sum()
}

/// Peak resident memory: the kernel's own high-water mark, so that a look now and then misses nothing
/// but the very end.
pub(crate) fn peak_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|kb| kb.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
