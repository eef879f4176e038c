//! Everything that must survive: one [`Store`] over SQLite and Postgres. It
//! owns jobs, their queue, what workers record and what comes out. It never
//! knows HTTP.
//!
//! Conventions: look-ups return `Option`; the clock is a parameter, never read
//! here; everything a worker writes is fenced by the attempt number of its
//! [`Lease`], in the transaction that writes; every write may be repeated after
//! a lost answer without doubling anything.

mod address;
mod baselines;
mod changes;
mod claim;
mod comparisons;
mod database;
mod document;
mod error;
mod events;
mod finish;
mod history;
mod jobs;
mod lease;
mod noise_floors;
mod open_file;
mod recordings;
mod results;
mod row;
mod targets;
mod variables;

pub use baselines::{BaselineFilter, SetBaseline};
pub use changes::Changes;
pub use claim::{Lease, RunningLease};
pub use comparisons::CompareError;
pub use error::StoreError;
pub use finish::Finish;
pub use history::{Cursor, JobFilter, JobPage, MAX_PAGE};
pub use jobs::{CancelOutcome, Created, DeleteOutcome, Idempotency, MAX_QUEUED, NewJob};
pub use lease::Heartbeat;
pub use noise_floors::NoiseFloor;
pub use recordings::Record;
pub use variables::Variable;

use address::Address;
use changes::Announcer;
use database::{Database, on_backend};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a write that arrived answers for the next checks, so that whoever
/// asks all the time writes no more than this often.
const CHECKED_FOR: Duration = Duration::from_millis(500);

const CHECK_WRITE: &str = "UPDATE write_check SET count = count + 1 WHERE id = 1";

/// The one place where everything is kept. Clones share their connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    description: String,
    announcer: Announcer,
    /// When the last check of [`Store::ping`] arrived.
    checked: Mutex<Option<Instant>>,
}

impl Store {
    /// Opens `postgres://…`, `sqlite:PATH`, a plain path, or `sqlite::memory:`
    /// (also `:memory:`), and brings the schema up to date. A file is made with its parent folders.
    ///
    /// # Errors
    /// When the address cannot be read, the database does not open, or was
    /// written by a newer benchd.
    pub async fn open(database: &str) -> Result<Self, StoreError> {
        let address = Address::parse(database)?;
        let description = address::describe(database);
        let database = Database::open(&address, &description).await?;
        let announcer = match &address {
            Address::Postgres(options) => Announcer::listening(options),
            Address::Memory | Address::File(_) => Announcer::local(),
        };
        let checked = Mutex::new(None);
        Ok(Self { inner: Arc::new(Inner { database, description, announcer, checked }) })
    }

    /// Where the data is, without any password.
    #[must_use]
    pub fn describe(&self) -> String {
        self.inner.description.clone()
    }

    /// Checks that the database takes writes, by one that it takes; one that
    /// only answers would lose every job. A check that succeeded an instant ago
    /// stands for this one.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let checked = || self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked().is_some_and(|at| at.elapsed() < CHECKED_FOR) {
            return self.inner.database.check_file();
        }
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            sqlx::query(CHECK_WRITE).execute(&mut *tx).await?;
            tx.commit().await?;
        });
        *checked() = Some(Instant::now());
        Ok(())
    }

    /// What changes from now on. With Postgres that includes what other
    /// processes do; with SQLite only this process is heard, so waits should be
    /// bounded where another may write, too.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.inner.announcer.changes()
    }

    /// Resolves when a job or its events changed from now on, or after
    /// `at_most`. A loop that reads and waits uses [`Store::changes`], which
    /// misses nothing in between.
    pub async fn changed(&self, at_most: Duration) {
        self.changes().wait(at_most).await;
    }

    /// Closes every connection. Dropping the store is safe, too; this waits
    /// for what is under way and leaves an SQLite file without its log.
    pub async fn close(&self) {
        self.inner.database.close().await;
    }

    fn announce(&self) {
        self.inner.announcer.announce();
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.inner.description).finish()
    }
}
