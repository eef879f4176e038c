//! One nginx master as a child process: waiting for its end, signals, and its
//! workers as /proc shows them.

use crate::launcher;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long an orderly end may take before it is forced.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A running master. It leads a process group of its own, so that a Ctrl-C at
/// the terminal is left to benchd and a forced end reaches the workers, too.
pub(crate) struct Master {
    child: Child,
    pid: Pid,
    exit: OwnedFd,
}

impl Master {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        command.process_group(0);
        let mut child = launcher::spawn(command)?;
        let opened = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidData.into());
        let opened = opened.and_then(|pid| Ok((pid, pidfd_open(pid, PidfdFlags::empty())?)));
        match opened {
            Ok((pid, exit)) => Ok(Self { child, pid, exit }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid, signal)?)
    }

    /// Waits for the process to end, at most `limit`; true when it has.
    pub(crate) fn ended_within(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: rest.subsec_nanos().into(),
            };
            match poll(&mut [PollFd::new(&self.exit, PollFlags::IN)], Some(&timeout)) {
                Ok(ready) => return ready > 0,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Ends the process: asked first, then forced with all its workers.
    pub(crate) fn end(mut self) -> io::Result<ExitStatus> {
        // An error here means it has ended by itself.
        let _ended = self.signal(Signal::TERM);
        if !self.ended_within(STOP_LIMIT) {
            kill_process_group(self.pid, Signal::KILL)?;
        }
        self.child.wait()
    }

    /// Its worker processes that take connections; none when the kernel does
    /// not list children.
    pub(crate) fn workers(&self) -> Option<Vec<u32>> {
        let id = self.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        Some(pids.filter(|pid| takes_connections(*pid)).collect())
    }
}

/// False for a worker that is gone or lets its last connections end.
fn takes_connections(worker: u32) -> bool {
    let title = fs::read(format!("/proc/{worker}/cmdline")).unwrap_or_default();
    let title = String::from_utf8_lossy(&title);
    title.contains("worker process") && !title.contains("shutting down")
}
