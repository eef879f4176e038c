//! Cancelling and deleting.

use crate::backends::{Backend, on_both};
use crate::samples::{LEASE, at, claim, finish, queue, running, second_record, state};
use benchd_model::event::JobEventKind;
use benchd_model::job::Progress;
use benchd_model::{JobId, JobState};
use benchd_store::{CancelOutcome, DeleteOutcome, Store};

on_both!(
    a_waiting_job_is_cancelled_at_once,
    a_running_job_learns_of_it_by_heartbeat,
    finished_and_unknown_jobs_cannot_be_cancelled,
    cancelling_races_with_claiming_and_one_wins,
    a_finished_job_is_deleted_with_all_its_data,
    a_job_that_waits_or_runs_is_not_deleted,
);

async fn a_waiting_job_is_cancelled_at_once(_: Backend, store: Store) {
    let id = queue(&store, "a").await;
    let CancelOutcome::Cancelled(job) = store.cancel(id, at(3)).await.unwrap() else {
        panic!("it waited");
    };
    assert_eq!(
        (job.state, job.finished_at, job.queue_position),
        (JobState::Cancelled, Some(at(3)), None)
    );
    assert!(job.summary.unwrap().contains("before it was started"));
    let events = store.events_after(id, 1, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert!(matches!(
        &events[0].kind,
        JobEventKind::Finished { state: JobState::Cancelled, verdict: None, .. }
    ));
    assert!(claim(&store).await.is_none());
    assert!(matches!(store.cancel(id, at(4)).await.unwrap(), CancelOutcome::AlreadyFinished(_)));
    assert_eq!(store.events_after(id, 1, 10).await.unwrap().len(), 1);
}

async fn a_running_job_learns_of_it_by_heartbeat(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    for _ in 0..2 {
        let outcome = store.cancel(lease.job, at(3)).await.unwrap();
        assert!(matches!(outcome, CancelOutcome::Requested(job) if job.state == JobState::Running));
    }
    let progress = Progress::default();
    assert!(store.heartbeat(&lease, at(4), LEASE, None, &progress).await.unwrap().cancel_requested);
    finish(&store, &lease, JobState::Cancelled, 5).await;
    assert!(store.result(lease.job).await.unwrap().is_some());
}

async fn finished_and_unknown_jobs_cannot_be_cancelled(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    finish(&store, &lease, JobState::Completed, 5).await;
    let outcome = store.cancel(lease.job, at(6)).await.unwrap();
    assert!(
        matches!(outcome, CancelOutcome::AlreadyFinished(job) if job.state == JobState::Completed)
    );
    assert_eq!(store.cancel(JobId::new(), at(6)).await.unwrap(), CancelOutcome::NotFound);
}

async fn cancelling_races_with_claiming_and_one_wins(backend: Backend, store: Store) {
    let other = backend.open().await;
    for round in 0..20 {
        let id = queue(&store, "a").await;
        let (claimed, cancelled) =
            tokio::join!(other.claim("w", Some(id), at(1), LEASE), store.cancel(id, at(1)));
        match (claimed.unwrap(), cancelled.unwrap()) {
            (Some(lease), CancelOutcome::Requested(_)) => {
                let beat = store.heartbeat(&lease, at(2), LEASE, None, &Progress::default()).await;
                assert!(beat.unwrap().cancel_requested);
                finish(&store, &lease, JobState::Cancelled, 3).await;
            }
            (None, CancelOutcome::Cancelled(_)) => {}
            other => panic!("round {round}: {other:?}"),
        }
        assert_eq!(state(&store, id).await, JobState::Cancelled);
    }
}

async fn a_finished_job_is_deleted_with_all_its_data(backend: Backend, store: Store) {
    let kept = running(&store, "b").await;
    store.append(&kept, &[second_record(0, 0, 0)]).await.unwrap();
    let lease = running(&store, "a").await;
    store.append(&lease, &[second_record(0, 0, 0)]).await.unwrap();
    finish(&store, &lease, JobState::Completed, 5).await;

    assert_eq!(store.delete(lease.job).await.unwrap(), DeleteOutcome::Deleted);
    assert_eq!(store.delete(lease.job).await.unwrap(), DeleteOutcome::NotFound);
    assert_eq!(store.job(lease.job).await.unwrap(), None);
    assert_eq!(store.result(lease.job).await.unwrap(), None);
    assert!(store.recordings(lease.job).await.unwrap().is_empty());
    assert!(store.events_after(lease.job, 0, 10).await.unwrap().is_empty());
    assert_eq!(store.recordings(kept.job).await.unwrap().len(), 1);

    for table in ["job_labels", "job_targets", "recordings", "events", "results"] {
        let strays =
            format!("SELECT 'stray' FROM {table} WHERE job_id NOT IN (SELECT id FROM jobs)");
        assert!(backend.lines(&strays).await.is_empty(), "{table}");
    }
}

async fn a_job_that_waits_or_runs_is_not_deleted(_: Backend, store: Store) {
    let waiting = queue(&store, "b").await;
    let lease = running(&store, "a").await;
    assert_eq!(store.delete(waiting).await.unwrap(), DeleteOutcome::NotFinished);
    assert_eq!(store.delete(lease.job).await.unwrap(), DeleteOutcome::NotFinished);
    assert_eq!(state(&store, waiting).await, JobState::Queued);
    assert_eq!(state(&store, lease.job).await, JobState::Running);
}
