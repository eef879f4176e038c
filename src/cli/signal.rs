//! Ctrl-C and SIGTERM: the first asks for an orderly end that keeps what was
//! measured, the second ends the process.

use std::io;
use std::sync::mpsc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first SIGINT or SIGTERM cancels.
pub(crate) fn shutdown() -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    on_first(move || cancelled.cancel())?;
    Ok(token)
}

/// Calls `first` on the first SIGINT or SIGTERM; the second ends the process.
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
            signals.next().await;
            first();
            signals.next().await;
        });
        std::process::exit(130)
    })?;
    started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread for signals ended")))
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
