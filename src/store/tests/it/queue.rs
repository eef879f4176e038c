//! Who gets which job, and when.

use crate::backends::{Backend, on_both};
use crate::samples::{LEASE, at, claim, create, finish, job_on, queue, running, state};
use benchd_model::{JobId, JobState, Phase};
use benchd_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

on_both!(
    the_oldest_job_is_taken_first,
    a_busy_host_holds_back_its_jobs_and_no_others,
    a_wanted_job_is_taken_past_the_queue_but_not_past_a_busy_host,
    a_job_that_compares_two_hosts_has_both_for_itself,
    a_claimed_job_says_so,
    racing_workers_never_share_a_job_or_a_host,
    racing_wishes_for_one_host_are_granted_once,
    a_job_that_cannot_be_read_does_not_block_the_queue,
);

async fn the_oldest_job_is_taken_first(_: Backend, store: Store) {
    let first = queue(&store, "a").await;
    let second = queue(&store, "b").await;
    // Posted last, but with the smallest id: the queue goes by ids.
    let mut early = job_on("c", 9);
    early.id = JobId(uuid_of(1));
    let early = create(&store, early).await;
    assert_eq!(store.job(first).await.unwrap().unwrap().queue_position, Some(1));
    for expected in [early, first, second] {
        assert_eq!(claim(&store).await.unwrap().job, expected);
    }
    assert!(claim(&store).await.is_none());
}

fn uuid_of(number: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(number)
}

async fn a_busy_host_holds_back_its_jobs_and_no_others(_: Backend, store: Store) {
    let first = queue(&store, "a").await;
    let held = queue(&store, "a").await;
    let other = queue(&store, "b").await;
    let lease = claim(&store).await.unwrap();
    assert_eq!(lease.job, first);
    assert_eq!(claim(&store).await.unwrap().job, other);
    assert!(claim(&store).await.is_none());
    assert_eq!(store.job(held).await.unwrap().unwrap().queue_position, Some(0));
    finish(&store, &lease, JobState::Completed, 5).await;
    assert_eq!(claim(&store).await.unwrap().job, held);
}

async fn a_job_that_compares_two_hosts_has_both_for_itself(_: Backend, store: Store) {
    let comparing = |candidate: &str, baseline: &str| {
        let mut new = job_on(candidate, 0);
        let url = format!("http://{baseline}:8088/");
        let baseline = serde_json::json!({"baseline": {"target": {"url": url}}, "metric": "rps"});
        new.spec.compare = Some(serde_json::from_value(baseline).unwrap());
        new
    };
    let first = create(&store, comparing("a", "b")).await;
    let held = [queue(&store, "a").await, queue(&store, "b").await];
    let crossed = create(&store, comparing("c", "b")).await;
    let other = queue(&store, "d").await;
    let lease = claim(&store).await.unwrap();
    assert_eq!(lease.job, first);
    assert_eq!(claim(&store).await.unwrap().job, other);
    assert!(claim(&store).await.is_none());
    for waits in [held[0], held[1], crossed] {
        assert!(store.claim("run", Some(waits), at(1), LEASE).await.unwrap().is_none());
    }
    finish(&store, &lease, JobState::Completed, 5).await;
    let ordinary = claim(&store).await.unwrap();
    assert_eq!(ordinary.job, held[0]);
    // A busy baseline holds the comparison back, too.
    assert_eq!(claim(&store).await.unwrap().job, held[1]);
    assert!(claim(&store).await.is_none());
}

async fn a_wanted_job_is_taken_past_the_queue_but_not_past_a_busy_host(_: Backend, store: Store) {
    let first = queue(&store, "a").await;
    let wanted = queue(&store, "a").await;
    let take = |id| store.claim("run", Some(id), at(1), LEASE);
    let lease = take(wanted).await.unwrap().unwrap();
    assert_eq!((lease.job, lease.worker.as_str()), (wanted, "run"));
    assert!(take(first).await.unwrap().is_none());
    assert!(take(wanted).await.unwrap().is_none());
    assert!(take(JobId::new()).await.unwrap().is_none());
    finish(&store, &lease, JobState::Completed, 2).await;
    assert_eq!(take(first).await.unwrap().unwrap().job, first);
}

async fn a_claimed_job_says_so(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    assert_eq!((lease.attempt, lease.spec.project.as_str()), (1, "shop"));
    let job = store.job(lease.job).await.unwrap().unwrap();
    assert_eq!((job.state, job.phase), (JobState::Running, Some(Phase::Preparing)));
    assert_eq!((job.started_at, job.queue_position), (Some(at(1)), None));
    let running = store.running().await.unwrap();
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].job, running[0].attempt), (lease.job, 1));
    assert_eq!((running[0].worker.as_str(), running[0].lease_until), ("worker", at(16)));
}

/// What the racing workers saw.
#[derive(Default)]
struct Seen {
    busy: BTreeSet<String>,
    order: BTreeMap<String, Vec<JobId>>,
}

async fn racing_workers_never_share_a_job_or_a_host(backend: Backend, store: Store) {
    const JOBS: usize = 60;
    let mut posted: BTreeMap<String, Vec<JobId>> = BTreeMap::new();
    for n in 0..JOBS {
        let host = format!("host{}", n % 4);
        posted.entry(host.clone()).or_default().push(queue(&store, &host).await);
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut workers = Vec::new();
    for number in 0..6 {
        // As separate processes would: connections of their own.
        let (store, seen) = (backend.open().await, seen.clone());
        workers.push(tokio::spawn(async move { work(number, &store, &seen).await }));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!(seen.lock().unwrap().order, posted);
    assert_eq!(store.counts().await.unwrap()["completed"], JOBS as u64);
}

async fn work(number: u32, store: &Store, seen: &Mutex<Seen>) {
    let worker = format!("worker {number}");
    for _ in 0..10_000 {
        let mut changes = store.changes();
        let Some(lease) = store.claim(&worker, None, at(1), LEASE).await.unwrap() else {
            if store.counts().await.unwrap()["queued"] == 0 {
                return;
            }
            changes.wait(Duration::from_millis(10)).await;
            continue;
        };
        let host = lease.spec.target_host();
        {
            let mut seen = seen.lock().unwrap();
            assert!(seen.busy.insert(host.clone()), "two jobs load {host}");
            seen.order.entry(host.clone()).or_default().push(lease.job);
        }
        tokio::task::yield_now().await;
        seen.lock().unwrap().busy.remove(&host);
        finish(store, &lease, JobState::Completed, 2).await;
    }
    panic!("the queue never ran dry");
}

async fn racing_wishes_for_one_host_are_granted_once(backend: Backend, store: Store) {
    for _ in 0..10 {
        let mut wishes = Vec::new();
        for _ in 0..4 {
            let (id, store) = (queue(&store, "a").await, backend.open().await);
            wishes.push(tokio::spawn(async move {
                store.claim("w", Some(id), at(1), LEASE).await.unwrap()
            }));
        }
        let mut granted = Vec::new();
        for wish in wishes {
            granted.extend(wish.await.unwrap());
        }
        assert_eq!(granted.len(), 1);
        finish(&store, &granted[0], JobState::Completed, 2).await;
    }
}

async fn a_job_that_cannot_be_read_does_not_block_the_queue(backend: Backend, store: Store) {
    let broken = queue(&store, "a").await;
    let newer = queue(&store, "a").await;
    let sound = queue(&store, "a").await;
    let set = |spec: &str, id: JobId| match &backend {
        Backend::Sqlite(_) => {
            format!("UPDATE jobs SET spec = '{spec}' WHERE id = X'{}'", id.0.simple())
        }
        Backend::Postgres(_) => format!("UPDATE jobs SET spec = '{spec}' WHERE id = '{id}'"),
    };
    let readable = r#"{"version":1,"document":{"target":{"url":"http://a/"}}}"#;
    backend.execute(&set(r#"{"version":1,"document":{"target":7}}"#, broken)).await;
    backend.execute(&set(r#"{"version":2,"document":{}}"#, newer)).await;
    assert_eq!(claim(&store).await.unwrap().job, sound);
    backend.execute(&set(readable, broken)).await;
    backend.execute(&set(readable, newer)).await;
    assert_eq!(state(&store, broken).await, JobState::Failed);
    let error = store.job(newer).await.unwrap().unwrap().error.unwrap();
    assert!(error.contains("spec") && error.contains("version 2"), "{error}");
}
