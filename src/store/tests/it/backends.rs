//! Runs one test body on both databases.

use crate::postgres::{TestDatabase, run_sql};
use benchd_store::Store;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};
use std::future::Future;

/// A database of a test's own, SQLite or Postgres.
pub(crate) enum Backend {
    Sqlite(tempfile::TempDir),
    Postgres(TestDatabase),
}

impl Backend {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres(TestDatabase::create())
    }

    /// Another, empty database of the same kind.
    pub(crate) fn sibling(&self) -> Self {
        match self {
            Self::Sqlite(_) => Self::sqlite(),
            Self::Postgres(_) => Self::postgres(),
        }
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::Sqlite(folder) => folder.path().join("benchd.db").display().to_string(),
            Self::Postgres(database) => database.url().to_owned(),
        }
    }

    /// Another connection to the same data, as another process would have it.
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.address()).await.unwrap()
    }

    /// Runs a statement past the store.
    pub(crate) async fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(_) => {
                let address = format!("sqlite:{}", self.address());
                let mut connection = SqliteConnection::connect(&address).await.unwrap();
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
            Self::Postgres(database) => {
                run_sql(database.url(), sql);
            }
        }
    }

    /// What a query past the store gives, one line per row; the query gives one column of text.
    pub(crate) async fn lines(&self, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite(_) => {
                let address = format!("sqlite:{}", self.address());
                let mut connection = SqliteConnection::connect(&address).await.unwrap();
                let lines = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut connection).await;
                connection.close().await.unwrap();
                lines.unwrap()
            }
            Self::Postgres(database) => {
                run_sql(database.url(), sql).lines().map(str::to_owned).collect()
            }
        }
    }

    /// How SQLite would answer a query.
    pub(crate) async fn plan(&self, sql: &str) -> String {
        let address = format!("sqlite:{}", self.address());
        let mut connection = SqliteConnection::connect(&address).await.unwrap();
        let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(explained).fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|row| row.get::<String, _>("detail")).collect::<Vec<_>>().join("; ")
    }

    /// Runs `body` on a fresh runtime with an open store.
    pub(crate) fn run<F: Future<Output = ()>>(self, body: impl FnOnce(Self, Store) -> F) {
        runtime().block_on(async {
            let store = self.open().await;
            body(self, store).await;
        });
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Makes two tests of each function `async fn(Backend, Store)`.
macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $test() { crate::backends::Backend::sqlite().run(super::$test); })+
        }
        mod postgres {
            $(#[test] fn $test() { crate::backends::Backend::postgres().run(super::$test); })+
        }
    };
}
pub(crate) use on_both;
