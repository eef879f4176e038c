//! Wakes those who wait for a job to change: this process at once, other
//! processes by Postgres' NOTIFY (the triggers stand in the migration).

use crate::database::ACQUIRE_TIMEOUT;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;

const CHANNEL: &str = "benchd_changed";

/// The pause before a lost listening connection is made anew.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// Where changes are announced and waited for.
pub(crate) struct Announcer {
    sender: watch::Sender<u64>,
    listener: Option<AbortHandle>,
}

impl Announcer {
    /// Knows of this process' changes only.
    pub(crate) fn local() -> Self {
        Self { sender: watch::Sender::new(0), listener: None }
    }

    /// Knows of every process' changes.
    pub(crate) fn listening(options: &PgConnectOptions) -> Self {
        let sender = watch::Sender::new(0);
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options.clone());
        let task = tokio::spawn(keep_listening(pool, sender.clone()));
        Self { sender, listener: Some(task.abort_handle()) }
    }

    pub(crate) fn announce(&self) {
        announce(&self.sender);
    }

    pub(crate) fn changes(&self) -> Changes {
        Changes { receiver: self.sender.subscribe() }
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

/// What happened since one last looked. Take it before reading, so that a
/// change between reading and waiting is not slept over.
#[derive(Debug)]
pub struct Changes {
    receiver: watch::Receiver<u64>,
}

impl Changes {
    /// Resolves when something changed since the last call (or since this was
    /// taken), or after `at_most`. It may resolve without a change that matters
    /// to the caller, or without any.
    pub async fn wait(&mut self, at_most: Duration) {
        let outcome = tokio::time::timeout(at_most, self.receiver.changed()).await;
        if let Ok(Err(_)) = outcome {
            // The store is gone: nothing will change any more, the time still passes.
            tokio::time::sleep(at_most).await;
        }
    }
}

fn announce(sender: &watch::Sender<u64>) {
    sender.send_modify(|count| *count = count.wrapping_add(1));
}

async fn keep_listening(pool: PgPool, sender: watch::Sender<u64>) {
    let mut heard = true;
    loop {
        if let Err(error) = listen(&pool, &sender, &mut heard).await {
            // Once per outage, not once per attempt.
            if std::mem::take(&mut heard) {
                tracing::warn!(%error, "cannot hear of changes by other processes, trying again");
            }
        }
        tokio::time::sleep(RECONNECT_AFTER).await;
    }
}

async fn listen(
    pool: &PgPool,
    sender: &watch::Sender<u64>,
    heard: &mut bool,
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    *heard = true;
    loop {
        // Also at first, and after a lost connection (None): whatever happened
        // while nobody listened was missed.
        announce(sender);
        listener.try_recv().await?;
    }
}
