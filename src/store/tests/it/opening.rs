//! Opening, reopening, and what stands in the way of it.

use crate::backends::{Backend, on_both, runtime};
use crate::postgres::run_sql;
use crate::samples::{queue, running, second_record};
use benchd_store::{Store, StoreError};
use std::os::unix::fs::PermissionsExt;
use url::Url;

on_both!(
    a_reopened_store_still_has_its_jobs,
    records_survive_a_process_that_just_ends,
    a_schema_of_a_newer_benchd_is_refused,
    opening_at_the_same_time_makes_one_schema,
);

async fn a_reopened_store_still_has_its_jobs(backend: Backend, store: Store) {
    store.ping().await.unwrap();
    let id = queue(&store, "a").await;
    store.close().await;
    let again = backend.open().await;
    assert_eq!(again.job(id).await.unwrap().unwrap().queue_position, Some(0));
}

async fn records_survive_a_process_that_just_ends(backend: Backend, store: Store) {
    let lease = running(&store, "a").await;
    store.append(&lease, &[second_record(0, 0, 0), second_record(0, 0, 1)]).await.unwrap();
    drop(store);
    let again = backend.open().await;
    let recordings = again.recordings(lease.job).await.unwrap();
    assert_eq!(recordings[0].seconds.len(), 2);
    assert_eq!(again.running().await.unwrap()[0].attempt, lease.attempt);
}

async fn a_schema_of_a_newer_benchd_is_refused(backend: Backend, store: Store) {
    let (sqlite, postgres) = ("X'00'", "'\\x00'::bytea");
    let checksum = if matches!(backend, Backend::Sqlite(_)) { sqlite } else { postgres };
    backend
        .execute(&format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (9999, 'later', TRUE, {checksum}, 0)"
        ))
        .await;
    store.close().await;
    let error = Store::open(&backend.address()).await.unwrap_err();
    let known = std::fs::read_dir("../../migrations/sqlite").unwrap().count() as i64;
    assert!(
        matches!(error, StoreError::SchemaTooNew { found: 9999, known: k, .. } if k == known),
        "{error}"
    );
    assert!(error.to_string().contains("newer benchd"), "{error}");
    assert!(!error.is_transient());
}

async fn opening_at_the_same_time_makes_one_schema(backend: Backend, store: Store) {
    // The store that the harness opened is not the point here: a second, empty
    // database is.
    drop(store);
    let empty = backend.sibling();
    let address = empty.address();
    let opens: Vec<_> = (0..6)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { Store::open(&address).await })
        })
        .collect();
    for open in opens {
        open.await.unwrap().unwrap().ping().await.unwrap();
    }
}

#[test]
fn a_file_is_made_with_its_folders_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/benchd.db");
    runtime().block_on(async {
        let store = Store::open(&format!("sqlite:{}", path.display())).await.unwrap();
        assert_eq!(store.describe(), format!("sqlite:{}", path.display()));
    });
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "specs may hold credentials");
}

#[test]
fn a_memory_store_keeps_its_jobs_among_clones() {
    runtime().block_on(async {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let id = queue(&store, "a").await;
        let clone = store.clone();
        let lease = running(&clone, "b").await;
        clone.append(&lease, &[second_record(0, 0, 0)]).await.unwrap();
        assert!(store.job(id).await.unwrap().is_some());
        assert_eq!(store.recordings(lease.job).await.unwrap().len(), 1);
    });
}

#[test]
fn what_cannot_be_opened_says_why_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "this is no database, only some text that is long enough").unwrap();
    let inside = file.join("benchd.db").display().to_string();
    runtime().block_on(async {
        for (address, expected) in [
            (file.display().to_string(), "not a database"),
            (folder.path().display().to_string(), "unable to open"),
            (inside, "cannot make the folder"),
        ] {
            let error = Store::open(&address).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.to_string().contains(&address), "{error}");
        }
    });
}

#[test]
fn a_wrong_server_address_says_why_without_the_password() {
    let database = Backend::postgres();
    let mut url = Url::parse(&database.address()).unwrap();
    if url.password().is_none() {
        // The private cluster trusts everybody, so that any password does.
        url.set_password(Some("s3cret")).unwrap();
    }
    let password = url.password().unwrap().to_owned();
    let mut missing = url.clone();
    missing.set_path("no_such_database");
    runtime().block_on(async {
        for (address, expected) in [
            (missing.as_str(), "does not exist"),
            (&format!("postgres://u:{password}@127.0.0.1:1/d"), "did not answer"),
            (&format!("postgres://u:{password}@h:nowhere/d"), "port"),
        ] {
            let error = Store::open(address).await.unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(expected), "{shown}");
            assert!(!shown.contains(&password), "{shown}");
        }
        let store = Store::open(url.as_str()).await.unwrap();
        let shown = format!("{} {store:?}", store.describe());
        assert!(shown.contains("redacted") && !shown.contains(&password), "{shown}");
    });
}

#[test]
fn a_schema_changed_by_hand_is_not_mistaken_for_a_newer_one() {
    let database = Backend::postgres();
    let address = database.address();
    runtime().block_on(async { Store::open(&address).await.unwrap().close().await });
    run_sql(&address, "UPDATE _sqlx_migrations SET checksum = '\\x00'");
    runtime().block_on(async {
        let error = Store::open(&address).await.unwrap_err();
        assert!(matches!(error, StoreError::Schema { .. }), "{error}");
        assert!(error.to_string().contains("modified"), "{error}");
    });
}
