//! Who holds a lease, and whether that process still lives. Knows /proc and
//! nothing of jobs' contents.

use benchd_model::JobId;
use rustix::process::{Pid, test_kill_process};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of this process as a worker: `host:pid:start`. `host` is the host
/// name with the boot and the process namespace, since pids mean nothing
/// outside of them; `start` is the process's start time in ticks since boot,
/// since pids are used again.
#[must_use]
pub fn worker_name() -> String {
    Identity::of_this_process().to_string()
}

/// A worker's name, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    host: String,
    pid: u32,
    start: u64,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.host, self.pid, self.start)
    }
}

impl Identity {
    fn of_this_process() -> Self {
        let pid = std::process::id();
        let start = process(pid).map_or(0, |process| process.start);
        Self { host: this_host(), pid, start }
    }

    /// Takes a name apart; names that were not made by [`worker_name`] give none.
    fn parse(name: &str) -> Option<Self> {
        let (rest, start) = name.rsplit_once(':')?;
        let (host, pid) = rest.rsplit_once(':')?;
        Some(Self { host: host.to_owned(), pid: pid.parse().ok()?, start: start.parse().ok()? })
    }
}

/// True when `name` belongs to a process of this host that certainly is gone.
/// Anything in doubt is not dead: then the lease's end decides.
pub(crate) fn is_dead(name: &str) -> bool {
    let Some(identity) = Identity::parse(name) else { return false };
    if identity.host != this_host() || identity.start == 0 {
        return false;
    }
    match process(identity.pid) {
        Some(process) => process.start != identity.start || process.ended,
        // /proc may hide other users' processes; the kernel still knows them.
        None => i32::try_from(identity.pid)
            .ok()
            .and_then(Pid::from_raw)
            .is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH)),
    }
}

fn this_host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let boot: String = boot.chars().take_while(char::is_ascii_hexdigit).collect();
    format!("{name}/{boot}-{}", digits(&namespace.to_string_lossy()))
}

struct Process {
    start: u64,
    ended: bool,
}

fn process(pid: u32) -> Option<Process> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads state (field 3) and start time (field 22). The name in field 2 may
/// hold anything, also parentheses, so fields are counted from its end.
fn parse_stat(stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    Some(Process { start, ended: matches!(state, "Z" | "X") })
}

/// The leases that this worker executes right now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<HashSet<(JobId, i64)>>>);

impl Running {
    /// Notes a lease until the guard goes away, also by a panic.
    pub(crate) fn enter(&self, job: JobId, attempt: i64) -> RunningGuard {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((job, attempt));
        RunningGuard { running: self.clone(), key: (job, attempt) }
    }

    /// True while the lease is executed here.
    pub(crate) fn contains(&self, job: JobId, attempt: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&(job, attempt))
    }
}

/// See [`Running::enter`].
pub(crate) struct RunningGuard {
    running: Running,
    key: (JobId, i64),
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.running.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, Running, is_dead, parse_stat, process, worker_name};
    use benchd_model::JobId;
    use std::process::{Command, Stdio};

    /// A process that lives until its standard input closes.
    fn child() -> std::process::Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn named(pid: u32) -> Identity {
        let start = process(pid).unwrap().start;
        Identity { pid, start, ..Identity::of_this_process() }
    }

    #[test]
    fn this_process_is_alive_under_its_own_name() {
        let name = worker_name();
        assert_eq!(Identity::parse(&name).unwrap().to_string(), name);
        assert!(!is_dead(&name));
    }

    #[test]
    fn a_killed_process_is_dead_even_before_its_parent_collects_it() {
        let mut child = child();
        let name = named(child.id()).to_string();
        assert!(!is_dead(&name));
        child.kill().unwrap();
        // Its pipe closes with it, and what is left is a zombie.
        while process(child.id()).is_some_and(|process| !process.ended) {
            std::thread::yield_now();
        }
        assert!(is_dead(&name));
        child.wait().unwrap();
        assert!(is_dead(&name));
    }

    #[test]
    fn a_reused_pid_is_not_the_old_worker() {
        let mut name = Identity::of_this_process();
        name.start += 1;
        assert!(is_dead(&name.to_string()));
    }

    #[test]
    fn another_host_and_a_foreign_name_are_never_called_dead() {
        let name = Identity { host: "elsewhere/0-0".into(), pid: 1, start: 1 };
        assert!(!is_dead(&name.to_string()));
        for name in ["", "worker", "a:b", "a:b:c", ":::"] {
            assert!(!is_dead(name), "{name}");
        }
    }

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        let process = parse_stat(stat).unwrap();
        assert_eq!((process.start, process.ended), (777, false));
        assert!(parse_stat("42 (x) Z 1").is_none());
    }

    #[test]
    fn a_lease_is_running_as_long_as_its_guard() {
        let (running, job) = (Running::default(), JobId::new());
        let guard = running.enter(job, 3);
        assert!(running.contains(job, 3) && !running.contains(job, 4));
        drop(guard);
        assert!(!running.contains(job, 3));
    }
}
