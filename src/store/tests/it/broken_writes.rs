//! Writes fail for a while, and the store recovers by itself.

use crate::backends::{Backend, on_both};
use crate::samples::{finish, job_on, queue, running, second_record, state};
use benchd_model::JobState;
use benchd_store::Store;

on_both!(
    a_transaction_that_the_database_broke_off_leaves_the_store_usable,
    a_store_that_takes_no_writes_fails_its_check,
);

/// Makes every insert into `table` fail, or lets it succeed again. In SQLite it
/// ends the whole transaction, as a full disk does.
async fn refuse_inserts(backend: &Backend, table: &str, refuse: bool) {
    let sql = match (backend, refuse) {
        (Backend::Sqlite(_), true) => format!(
            "CREATE TRIGGER away BEFORE INSERT ON {table} \
             BEGIN SELECT RAISE(ROLLBACK, 'the disk is away'); END"
        ),
        (Backend::Sqlite(_), false) => "DROP TRIGGER away".to_owned(),
        (Backend::Postgres(_), true) => {
            format!("ALTER TABLE {table} ADD CONSTRAINT away CHECK (FALSE) NOT VALID")
        }
        (Backend::Postgres(_), false) => format!("ALTER TABLE {table} DROP CONSTRAINT away"),
    };
    backend.execute(&sql).await;
}

async fn a_transaction_that_the_database_broke_off_leaves_the_store_usable(
    backend: Backend,
    store: Store,
) {
    let lease = running(&store, "a").await;
    let records = [second_record(0, 0, 0), second_record(0, 0, 1)];
    refuse_inserts(&backend, "recordings", true).await;
    for _ in 0..3 {
        let error = store.append(&lease, &records).await.unwrap_err().to_string();
        assert!(error.contains("away"), "every failure says its own reason: {error}");
        // What is not refused goes on in between.
        queue(&store, "b").await;
    }
    refuse_inserts(&backend, "recordings", false).await;
    store.append(&lease, &records).await.unwrap();
    finish(&store, &lease, JobState::Completed, 9).await;
    assert_eq!(state(&store, lease.job).await, JobState::Completed);
    assert_eq!(store.recordings(lease.job).await.unwrap()[0].seconds.len(), 2);
}

async fn a_store_that_takes_no_writes_fails_its_check(backend: Backend, store: Store) {
    let (refuse, allow) = match &backend {
        Backend::Sqlite(_) => (
            "CREATE TRIGGER away BEFORE UPDATE ON write_check \
             BEGIN SELECT RAISE(ROLLBACK, 'the disk is away'); END",
            "DROP TRIGGER away",
        ),
        Backend::Postgres(_) => (
            "ALTER TABLE write_check ADD CONSTRAINT away CHECK (FALSE) NOT VALID",
            "ALTER TABLE write_check DROP CONSTRAINT away",
        ),
    };
    backend.execute(refuse).await;
    store.job(job_on("a", 0).id).await.unwrap();
    for _ in 0..2 {
        let error = store.ping().await.unwrap_err().to_string();
        assert!(error.contains("away"), "{error}");
    }
    backend.execute(allow).await;
    store.ping().await.unwrap();
}
