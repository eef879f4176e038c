//! The database goes away and comes back.

use crate::backends::runtime;
use crate::postgres::{Cluster, TestDatabase};
use crate::samples::{LEASE, at, finish, job_on, queue, running, second_record, state};
use benchd_model::JobState;
use benchd_store::Store;
use std::time::{Duration, Instant};

#[test]
fn a_run_survives_a_crash_of_its_server() {
    let mut cluster = Cluster::start();
    let database = TestDatabase::create_on(&cluster.url("postgres"));
    let address = database.url().to_owned();
    runtime().block_on(async {
        let store = Store::open(&address).await.unwrap();
        let lease = running(&store, "a").await;
        store.append(&lease, &[second_record(0, 0, 0)]).await.unwrap();
        let mut changes = store.changes();

        cluster.stop();
        let begun = Instant::now();
        let batch = [second_record(0, 0, 0), second_record(0, 0, 1)];
        for refusal in [
            store.append(&lease, &batch).await.unwrap_err(),
            store.ping().await.unwrap_err(),
            store.job(lease.job).await.unwrap_err(),
            store.create_job(job_on("b", 0)).await.unwrap_err(),
            store.claim("w", None, at(2), LEASE).await.unwrap_err(),
        ] {
            assert!(refusal.is_transient(), "{refusal}");
        }
        assert!(begun.elapsed() < Duration::from_secs(40), "calls end within their limit");

        cluster.restart();
        // The same call again, as a worker would.
        store.append(&lease, &batch).await.unwrap();
        assert_eq!(store.recordings(lease.job).await.unwrap()[0].seconds.len(), 2);
        // And another process is heard again.
        let other = Store::open(&address).await.unwrap();
        changes_until(&mut changes, &other).await;
        finish(&store, &lease, JobState::Completed, 9).await;
        assert_eq!(state(&other, lease.job).await, JobState::Completed);
    });
}

/// Waits until a change made elsewhere arrives; the listener needs a moment to
/// find the server again.
async fn changes_until(changes: &mut benchd_store::Changes, other: &Store) {
    for _ in 0..100 {
        queue(other, "elsewhere").await;
        let limit = Duration::from_millis(500);
        let begun = Instant::now();
        changes.wait(limit).await;
        if begun.elapsed() < limit {
            return;
        }
    }
    panic!("never heard of another process again");
}
