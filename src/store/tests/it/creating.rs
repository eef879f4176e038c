//! Posting jobs: the first look, idempotency, limits.

use crate::backends::{Backend, on_both};
use crate::samples::{at, claim, create, job_on, new_job, queue, spec};
use benchd_model::{JobId, JobState};
use benchd_store::{DeleteOutcome, Idempotency, NewJob, Store, StoreError};

const DAY: i64 = 24 * 3600;

on_both!(
    a_new_job_is_queued_behind_the_older_ones,
    a_replayed_key_gives_the_first_job,
    a_key_with_another_body_is_refused,
    a_key_is_forgotten_after_seven_days_or_with_its_job,
    racing_requests_with_one_key_make_one_job,
    a_full_queue_refuses_new_jobs_and_still_replays,
    text_that_one_database_cannot_hold_is_refused_by_both,
    a_body_with_an_escaped_nul_is_kept,
    secrets_are_redacted_for_readers_and_kept_for_the_worker,
    a_very_long_url_is_no_obstacle,
);

fn keyed(key: &str, hash: &[u8], second: i64) -> NewJob {
    let idempotency = Some(Idempotency { key: key.to_owned(), body_hash: hash.to_vec() });
    NewJob { idempotency, ..job_on("a", second) }
}

async fn a_new_job_is_queued_behind_the_older_ones(_: Backend, store: Store) {
    let mut spec = job_on("a", 5);
    spec.spec.trials = 3;
    let created = store.create_job(spec.clone()).await.unwrap();
    assert!(!created.replayed);
    let job = created.job;
    assert_eq!((job.id, job.state, job.queue_position), (spec.id, JobState::Queued, Some(0)));
    assert_eq!((job.created_at, job.started_at, job.finished_at), (at(5), None, None));
    assert_eq!((job.progress.trials, job.progress.ratio), (3, 0.0));
    assert_eq!(job.spec, spec.spec);
    let second = store.create_job(job_on("b", 6)).await.unwrap().job;
    assert_eq!(second.queue_position, Some(1));
    assert_eq!(store.job(second.id).await.unwrap(), Some(second));
    assert_eq!(store.job(JobId::new()).await.unwrap(), None);
}

async fn a_replayed_key_gives_the_first_job(_: Backend, store: Store) {
    let first = store.create_job(keyed("k", b"hash", 0)).await.unwrap();
    let again = store.create_job(keyed("k", b"hash", 1)).await.unwrap();
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.job, again.job);
    let other = store.create_job(keyed("other", b"hash", 1)).await.unwrap();
    assert!(!other.replayed);
    assert_eq!(store.jobs(&Default::default(), None, 10).await.unwrap().items.len(), 2);
}

async fn a_key_with_another_body_is_refused(_: Backend, store: Store) {
    store.create_job(keyed("k", b"hash", 0)).await.unwrap();
    let error = store.create_job(keyed("k", b"other", 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::IdempotencyMismatch), "{error}");
    assert_eq!(store.jobs(&Default::default(), None, 10).await.unwrap().items.len(), 1);
}

async fn a_key_is_forgotten_after_seven_days_or_with_its_job(_: Backend, store: Store) {
    let first = store.create_job(keyed("k", b"hash", 0)).await.unwrap().job.id;
    assert!(store.create_job(keyed("k", b"hash", 7 * DAY - 1)).await.unwrap().replayed);
    let second = store.create_job(keyed("k", b"other", 7 * DAY + 1)).await.unwrap();
    assert!(!second.replayed && second.job.id != first);

    store.cancel(second.job.id, at(7 * DAY + 2)).await.unwrap();
    assert_eq!(store.delete(second.job.id).await.unwrap(), DeleteOutcome::Deleted);
    assert!(!store.create_job(keyed("k", b"third", 7 * DAY + 3)).await.unwrap().replayed);
}

async fn racing_requests_with_one_key_make_one_job(backend: Backend, store: Store) {
    let other = backend.open().await;
    let posts: Vec<_> = (0..12)
        .map(|n| {
            let store = if n % 2 == 0 { store.clone() } else { other.clone() };
            tokio::spawn(async move { store.create_job(keyed("k", b"hash", 0)).await.unwrap() })
        })
        .collect();
    let mut fresh = 0;
    let mut ids = Vec::new();
    for post in posts {
        let created = post.await.unwrap();
        fresh += u32::from(!created.replayed);
        ids.push(created.job.id);
    }
    assert_eq!(fresh, 1);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(store.counts().await.unwrap()["queued"], 1);
}

async fn a_full_queue_refuses_new_jobs_and_still_replays(backend: Backend, store: Store) {
    let first = store.create_job(keyed("k", b"hash", 0)).await.unwrap().job.id;
    let random = match &backend {
        Backend::Sqlite(_) => "randomblob(16)",
        Backend::Postgres(_) => "gen_random_uuid()",
    };
    let fill = |count: u32| {
        format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
             INSERT INTO jobs (id, project, scenario, target_host, state, progress, spec, created_at) \
             SELECT {random}, 'p', 's', 'h', 'queued', '{{}}', '{{}}', i FROM n"
        )
    };
    backend.execute(&fill(9_998)).await;
    let last = store.create_job(job_on("a", 1)).await.unwrap().job;
    let error = store.create_job(job_on("a", 2)).await.unwrap_err();
    assert!(matches!(error, StoreError::QueueFull(10_000)), "{error}");
    assert_eq!(store.create_job(keyed("k", b"hash", 3)).await.unwrap().job.id, first);
    store.cancel(last.id, at(4)).await.unwrap();
    assert!(store.create_job(job_on("a", 5)).await.is_ok());
}

async fn text_that_one_database_cannot_hold_is_refused_by_both(_: Backend, store: Store) {
    let mut job = job_on("a", 0);
    job.spec.scenario = "a\0b".to_owned();
    let error = store.create_job(job).await.unwrap_err();
    assert_eq!(error.to_string(), "scenario holds a NUL character, which cannot be stored");
    let mut job = job_on("a", 0);
    job.spec.labels.insert("branch".to_owned(), "\0".to_owned());
    assert!(matches!(store.create_job(job).await, Err(StoreError::Unstorable("label"))));
    assert!(matches!(
        store.create_job(keyed("\0", b"", 0)).await,
        Err(StoreError::Unstorable("idempotency key"))
    ));
}

async fn a_body_with_an_escaped_nul_is_kept(_: Backend, store: Store) {
    let mut job = job_on("a", 0);
    job.spec.request.body = Some("a\0b".to_owned());
    let id = create(&store, job).await;
    let lease = claim(&store).await.unwrap();
    assert_eq!((lease.job, lease.spec.request.body.as_deref()), (id, Some("a\0b")));
}

async fn secrets_are_redacted_for_readers_and_kept_for_the_worker(_: Backend, store: Store) {
    let mut job = job_on("a", 0);
    job.spec.request.headers.insert("Authorization".to_owned(), "Bearer s3cret".to_owned());
    let id = create(&store, job).await;
    let shown = serde_json::to_string(&store.job(id).await.unwrap()).unwrap();
    assert!(!shown.contains("s3cret"), "{shown}");
    let page = store.jobs(&Default::default(), None, 10).await.unwrap();
    assert!(!format!("{page:?}").contains("s3cret"));
    let lease = claim(&store).await.unwrap();
    assert_eq!(lease.spec.request.headers["Authorization"], "Bearer s3cret");
}

async fn a_very_long_url_is_no_obstacle(_: Backend, store: Store) {
    let url = format!("http://127.0.0.1/?q={}", "x1".repeat(20_000));
    let job = new_job(spec(serde_json::json!({"target": {"url": url}})), 0);
    let id = create(&store, job).await;
    queue(&store, "b").await;
    let filter = benchd_store::JobFilter { target: Some(url), ..Default::default() };
    let found = store.jobs(&filter, None, 10).await.unwrap().items;
    assert_eq!(found.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
}
