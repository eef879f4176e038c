//! The two databases, their pools, and [`on_backend`], which pastes one body
//! into both. Both sides have the same methods, so that bodies need not know
//! where they stand. Knows no tables.

use crate::StoreError;
use crate::address::Address;
use crate::error::{is_busy, is_transient};
use crate::open_file::OpenFile;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, Postgres, Sqlite, Transaction};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a call waits for a connection before it reports the database as
/// unavailable. Long enough for a restart of a small server, short enough that
/// a worker notices within its lease.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long SQLite waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two looks, where SQLite does not wait by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

/// The database behind a store.
pub(crate) enum Database {
    /// An embedded file.
    Sqlite(SqliteBackend),
    /// A server that several processes share.
    Postgres(PostgresBackend),
}

/// Pastes `$body` into both arms; `$db` is the backend of the arm.
macro_rules! on_backend {
    ($store:expr, |$db:ident| $body:block) => {
        match &$store.inner.database {
            $crate::database::Database::Sqlite($db) => $body,
            $crate::database::Database::Postgres($db) => $body,
        }
    };
}
pub(crate) use on_backend;

/// One connection writes, so that writers of this process queue up in memory
/// and not in SQLite's busy loop; readers never wait for it (WAL).
pub(crate) struct SqliteBackend {
    writer: SqlitePool,
    reader: SqlitePool,
    /// What is open; nothing for a memory.
    file: Option<OpenFile>,
}

impl SqliteBackend {
    /// Where single reads go.
    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.reader
    }

    /// Begins a transaction that may write. IMMEDIATE, since a transaction that
    /// reads first and then finds another process writing fails without waiting.
    /// SQLite would go on writing into a file that is removed, without a word.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        self.check_file()?;
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    fn check_file(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), OpenFile::check)
    }

    async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

/// A pool of connections to a server.
pub(crate) struct PostgresBackend {
    pool: PgPool,
}

impl PostgresBackend {
    /// Where single reads go.
    pub(crate) fn reader(&self) -> &PgPool {
        &self.pool
    }

    /// Begins a transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        Ok(self.pool.begin().await?)
    }
}

impl Database {
    /// Connects and brings the schema up to date. `shown` is the address for errors.
    pub(crate) async fn open(address: &Address, shown: &str) -> Result<Self, StoreError> {
        match address {
            Address::Memory => open_memory(shown).await.map(Self::Sqlite),
            Address::File(path) => open_file(path, shown).await.map(Self::Sqlite),
            Address::Postgres(options) => open_postgres(options, shown).await.map(Self::Postgres),
        }
    }

    /// Checks that what is open is still what its path names.
    pub(crate) fn check_file(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(db) => db.check_file(),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Closes every connection; SQLite folds its log into the file.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(db) => db.close().await,
            Self::Postgres(db) => db.pool.close().await,
        }
    }
}

async fn open_memory(shown: &str) -> Result<SqliteBackend, StoreError> {
    // Each connection would have a memory of its own, and lose it when it goes.
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(SqliteConnectOptions::new().filename(":memory:").in_memory(true))
        .await
        .map_err(|error| not_opened(shown, &error))?;
    SQLITE_MIGRATIONS.run(&pool).await.map_err(|error| not_migrated(shown, error))?;
    Ok(SqliteBackend { writer: pool.clone(), reader: pool, file: None })
}

async fn open_file(path: &Path, shown: &str) -> Result<SqliteBackend, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| StoreError::Open {
            address: shown.to_owned(),
            reason: format!("cannot make the folder {}: {error}", folder.display()),
        })?;
    }
    make_private_file(path).map_err(|error| StoreError::Open {
        address: shown.to_owned(),
        reason: format!("cannot make the file: {error}"),
    })?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // Safe against a killed process, which is what WAL is for here.
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY_TIMEOUT);
    let writer = open_writer(&options).await.map_err(|error| not_opened(shown, &error))?;
    migrate_file(&writer).await.map_err(|error| not_migrated(shown, error))?;
    let reader = SqlitePoolOptions::new()
        .max_connections(4)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .connect_lazy_with(options.pragma("query_only", "ON"));
    let file = OpenFile::at(path).map_err(|error| StoreError::Open {
        address: shown.to_owned(),
        reason: format!("cannot look at the file: {error}"),
    })?;
    Ok(SqliteBackend { writer, reader, file: Some(file) })
}

/// The pool of the one connection that writes. Another process may be making the
/// same file one with a write-ahead log; SQLite does not wait for that by itself.
async fn open_writer(options: &SqliteConnectOptions) -> Result<SqlitePool, sqlx::Error> {
    let begun = Instant::now();
    loop {
        let opened = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT + BUSY_TIMEOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            // There is no server that could be gone.
            .test_before_acquire(false)
            // A full or failing disk makes SQLite end a transaction by itself, and
            // the rollback that follows then fails: sqlx goes on counting a
            // transaction and would refuse to begin another, for ever.
            .before_acquire(|connection, _| {
                Box::pin(async move { Ok(!connection.is_in_transaction()) })
            })
            // The file is there; one that has vanished is not to be made anew.
            .connect_with(options.clone())
            .await;
        match opened {
            Err(error) if is_busy(&error) && begun.elapsed() < BUSY_TIMEOUT => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

/// Job specs may hold credentials for their targets, so a new file is its
/// owner's alone; SQLite gives its log the same permissions.
fn make_private_file(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// All in one transaction: what every migration of a new file touches is written
/// once, and another process that opens the file waits.
async fn migrate_file(writer: &SqlitePool) -> Result<(), MigrateError> {
    let mut tx = writer.begin_with("BEGIN IMMEDIATE").await?;
    // `run` on a connection makes futures that the compiler takes for not `Send`.
    SQLITE_MIGRATIONS.run_direct(None, &mut *tx, false).await?;
    Ok(tx.commit().await?)
}

async fn open_postgres(
    options: &PgConnectOptions,
    shown: &str,
) -> Result<PostgresBackend, StoreError> {
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_with(options.clone())
        .await
        .map_err(|error| not_opened(shown, &error))?;
    POSTGRES_MIGRATIONS.run(&pool).await.map_err(|error| not_migrated(shown, error))?;
    Ok(PostgresBackend { pool })
}

fn not_opened(shown: &str, error: &sqlx::Error) -> StoreError {
    let reason = match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::PoolTimedOut => {
            format!("it did not answer within {} seconds", ACQUIRE_TIMEOUT.as_secs())
        }
        error => error.to_string(),
    };
    StoreError::Open { address: shown.to_owned(), reason }
}

fn not_migrated(shown: &str, error: MigrateError) -> StoreError {
    let address = shown.to_owned();
    match error {
        MigrateError::VersionMissing(found) => StoreError::SchemaTooNew {
            address,
            found,
            known: SQLITE_MIGRATIONS.iter().map(|m| m.version).max().unwrap_or(0),
        },
        MigrateError::Execute(error) if is_transient(&error) => StoreError::Unavailable(error),
        error => StoreError::Schema { address, reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::Database;
    use crate::{NewJob, Store, StoreError};
    use benchd_model::{JobId, JobSpec, Timestamp};
    use sqlx::AssertSqlSafe;

    async fn on_writer(store: &Store, sql: &str) {
        let Database::Sqlite(db) = &store.inner.database else { panic!("no SQLite") };
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&db.writer).await.unwrap();
    }

    fn job(bytes: usize) -> NewJob {
        let target = serde_json::json!({"url": format!("http://h/{}", "x".repeat(bytes))});
        let spec: JobSpec = serde_json::from_value(serde_json::json!({"target": target})).unwrap();
        let target_host = spec.target_host();
        let created_at = Timestamp::from_micros(1);
        NewJob { id: JobId::new(), spec, target_host, created_at, idempotency: None }
    }

    #[tokio::test]
    async fn a_full_disk_is_left_behind_once_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("benchd.db");
        let store = Store::open(path.to_str().unwrap()).await.unwrap();
        // The smallest that it takes: as many pages as there are.
        on_writer(&store, "PRAGMA max_page_count = 1").await;
        let error = store.create_job(job(100_000)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(error.is_transient() && error.to_string().contains("full"), "{error}");
        on_writer(&store, "PRAGMA max_page_count = 1000000").await;
        let id = store.create_job(job(100_000)).await.unwrap().job.id;
        assert!(store.job(id).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_disk_that_only_reads_fails_the_check_until_it_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("benchd.db");
        let store = Store::open(path.to_str().unwrap()).await.unwrap();
        on_writer(&store, "PRAGMA query_only = ON").await;
        assert!(store.ping().await.unwrap_err().is_transient());
        assert!(store.create_job(job(1)).await.unwrap_err().is_transient());
        on_writer(&store, "PRAGMA query_only = OFF").await;
        store.ping().await.unwrap();
    }
}
