//! The SQLite file vanishes, or another takes its place.

use crate::backends::{Backend, runtime};
use crate::samples::{at, job_on, queue, result, running, second_record, state};
use benchd_model::JobState;
use benchd_store::{Finish, Lease, Store, StoreError};
use std::path::Path;

async fn assert_refused(store: &Store, lease: &Lease, path: &Path) {
    let result = result(lease);
    let end = Finish { state: JobState::Completed, result: Some(&result), error: None, at: at(9) };
    for refusal in [
        store.ping().await.unwrap_err(),
        store.create_job(job_on("b", 0)).await.unwrap_err(),
        store.append(lease, &[second_record(0, 0, 0)]).await.unwrap_err(),
        store.finish(lease, end).await.unwrap_err(),
    ] {
        assert!(matches!(refusal, StoreError::Removed { .. }), "{refusal}");
        assert!(refusal.is_transient());
        let shown = refusal.to_string();
        assert!(shown.contains("removed or replaced"), "{shown}");
        assert!(shown.contains(path.to_str().unwrap()), "{shown}");
    }
}

#[test]
fn a_removed_or_replaced_file_takes_no_writes_until_it_is_back() {
    Backend::sqlite().run(async |backend, store| {
        let path = Path::new(&backend.address()).to_owned();
        let lease = running(&store, "a").await;
        // A check that has just succeeded excuses nothing.
        store.ping().await.unwrap();
        let elsewhere = path.with_extension("moved");
        std::fs::rename(&path, &elsewhere).unwrap();
        assert_refused(&store, &lease, &path).await;
        std::fs::write(&path, "").unwrap();
        assert_refused(&store, &lease, &path).await;
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "the other one is left alone");
        std::fs::rename(&elsewhere, &path).unwrap();
        store.append(&lease, &[second_record(0, 0, 0)]).await.unwrap();
        assert_eq!(state(&store, lease.job).await, JobState::Running);
    });
}

#[test]
fn a_file_behind_a_link_is_the_file_that_the_link_names() {
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (folder.path().join("link.db"), folder.path().join("file.db"));
    std::fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    runtime().block_on(async {
        let store = Store::open(link.to_str().unwrap()).await.unwrap();
        queue(&store, "a").await;
        store.ping().await.unwrap();
        std::fs::remove_file(&link).unwrap();
        assert!(matches!(store.ping().await, Err(StoreError::Removed { .. })));
    });
}
