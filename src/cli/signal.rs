//! Ctrl-C, SIGTERM and a terminal that is closed: the first asks for an orderly
//! end that keeps what was measured, the second ends the process.

use std::io;
use std::sync::mpsc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first SIGINT, SIGTERM or SIGHUP cancels.
pub(crate) fn shutdown() -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    on_first(move || cancelled.cancel())?;
    Ok(token)
}

/// Calls `first` on the first SIGINT, SIGTERM or SIGHUP; the second ends the
/// process. A SIGHUP is no second one: a shell and the kernel both send it when
/// a terminal is closed, and some managers send it right behind a SIGTERM.
/// A thread of its own listens, so that whatever else is busy or stuck, it is
/// heard.
pub(crate) fn on_first(first: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let (ready, started) = mpsc::channel();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let listening = runtime.and_then(|runtime| {
            let signals = runtime.block_on(async { Signals::new() })?;
            Ok((runtime, signals))
        });
        let (runtime, mut signals) = match listening {
            Ok(listening) => listening,
            Err(error) => return ready.send(Err(error)).unwrap_or_default(),
        };
        ready.send(Ok(())).unwrap_or_default();
        runtime.block_on(async {
            signals.first().await;
            first();
            signals.second().await;
        });
        std::process::exit(130)
    })?;
    started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread for signals ended")))
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None under `nohup`, whose commands outlive the terminal.
    hangup: Option<Signal>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let hangup = if hangup_is_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    async fn first(&mut self) {
        let Some(mut hangup) = self.hangup.take() else { return self.second().await };
        tokio::select! {
            () = self.second() => {}
            _ = hangup.recv() => {}
        }
    }

    async fn second(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Whether this process was started to ignore SIGHUP; to listen would undo it.
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn nohup_is_seen() {
        assert!(ignores_hangup("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        assert!(!ignores_hangup("SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
        assert!(!ignores_hangup(""));
    }
}
