//! What can go wrong with the store. Knows nothing of HTTP; no message ever
//! holds a database password.

use std::path::PathBuf;

/// Why the store could not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database address cannot be read.
    #[error("cannot read the database address {address}: {reason}")]
    Address {
        /// The address without its password.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database cannot be opened.
    #[error("cannot open the database {address}: {reason}")]
    Open {
        /// The address without its password.
        address: String,
        /// What the database said.
        reason: String,
    },
    /// The database was written by a newer benchd.
    #[error(
        "the database {address} has schema {found}, this benchd knows schemas up to {known}: \
         it was written by a newer benchd"
    )]
    SchemaTooNew {
        /// The address without its password.
        address: String,
        /// The schema found.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// The schema is not one that this benchd made.
    #[error("cannot bring the schema of {address} up to date: {reason}")]
    Schema {
        /// The address without its password.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database does not answer just now; the same call may succeed later.
    #[error("the database is not available: {0}")]
    Unavailable(sqlx::Error),
    /// The SQLite file is no longer at its path, or another one is: writes
    /// would go into a file that nobody finds.
    #[error(
        "the database file {} was removed or replaced while it was open; nothing is stored in it",
        path.display()
    )]
    Removed {
        /// Where it was.
        path: PathBuf,
    },
    /// The database refused; the same call will be refused again.
    #[error("the database refused: {0}")]
    Database(sqlx::Error),
    /// A stored document cannot be read.
    #[error("the stored {what} cannot be read: {reason}")]
    Corrupt {
        /// Which document.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A stored document has a format this benchd does not know.
    #[error(
        "the stored {what} has format version {found}, this benchd knows version {known}: \
         it was written by a newer benchd"
    )]
    UnknownVersion {
        /// Which document.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The version known here.
        known: u32,
    },
    /// Text that Postgres cannot hold.
    #[error("{0} holds a NUL character, which cannot be stored")]
    Unstorable(&'static str),
    /// The worker no longer holds the job: it was taken over, or has ended.
    #[error("the job is no longer held under this lease")]
    LeaseLost,
    /// The idempotency key belongs to a request with another body.
    #[error("the idempotency key was used before with another request body")]
    IdempotencyMismatch,
    /// Too many jobs wait already.
    #[error("the queue is full: {0} jobs are waiting")]
    QueueFull(u64),
    /// A job can only be finished with a final state.
    #[error("{0} is no final state")]
    NotFinal(&'static str),
}

impl StoreError {
    /// True when the same call may succeed later without anybody changing
    /// anything but the database's health: connection lost, database down,
    /// locked, out of connections, its disk full or failing, or its file
    /// somewhere else.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Removed { .. })
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_transient(&error) { Self::Unavailable(error) } else { Self::Database(error) }
    }
}

pub(crate) fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_transient_code(&code)),
        _ => false,
    }
}

/// SQLITE_BUSY: another process has the file for itself.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

/// SQLite codes are numbers, Postgres ones (SQLSTATE) five characters.
fn is_transient_code(code: &str) -> bool {
    // SQLITE_BUSY, LOCKED, READONLY, IOERR, FULL and CANTOPEN: another process
    // writes, or the disk takes nothing just now.
    const SQLITE_CODES: [u32; 6] = [5, 6, 8, 10, 13, 14];
    // Connection, resources, operator intervention; and single codes:
    // serialization failure, deadlock, lock not available, and a server that
    // only reads, as after a failover.
    const POSTGRES_CLASSES: [&str; 3] = ["08", "53", "57"];
    const POSTGRES_CODES: [&str; 4] = ["40001", "40P01", "55P03", "25006"];
    match code.len() {
        5 => POSTGRES_CODES.contains(&code) || POSTGRES_CLASSES.iter().any(|c| code.starts_with(c)),
        // The low byte is the primary code.
        _ => code.parse::<u32>().is_ok_and(|n| SQLITE_CODES.contains(&(n & 0xff))),
    }
}

#[cfg(test)]
mod tests {
    use super::is_transient_code;

    #[test]
    fn only_codes_that_pass_by_themselves_are_transient() {
        for code in [
            "5", "6", "8", "10", "13", "14", "261", "517", "778", "1032", "08006", "57P01",
            "53100", "40001", "25006",
        ] {
            assert!(is_transient_code(code), "{code}");
        }
        for code in ["1", "11", "1555", "2067", "23505", "42P01", "22021"] {
            assert!(!is_transient_code(code), "{code}");
        }
    }
}
