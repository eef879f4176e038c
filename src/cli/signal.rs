//! Ctrl-C and SIGTERM as a token: the first asks for an orderly end that keeps
//! what was measured, the second ends the process.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first SIGINT or SIGTERM cancels.
pub(crate) fn shutdown() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let cancelled = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        cancelled.cancel();
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(token)
}
