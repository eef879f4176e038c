//! The end of a job.

use crate::backends::{Backend, on_both};
use crate::samples::{at, claim, queue, result, running, state};
use benchd_model::job::{Failure, FailureCode};
use benchd_model::{JobState, Verdict};
use benchd_store::{Finish, Lease, Store, StoreError};

on_both!(
    state_verdict_result_and_event_appear_together,
    finishing_again_after_a_lost_answer_is_fine,
    a_job_that_could_not_be_run_says_why,
    only_final_states_end_a_job,
    a_failing_finish_leaves_nothing_behind,
);

fn completed(at_second: i64) -> Finish<'static> {
    Finish { state: JobState::Completed, result: None, error: None, at: at(at_second) }
}

async fn state_verdict_result_and_event_appear_together(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    assert_eq!(store.result(lease.job).await.unwrap(), None);
    let mut result = result(&lease);
    result.verdict = Verdict::Fail;
    result.summary = "p99 is 12 ms,\0 the limit is 10 ms".to_owned();
    let finish = Finish { result: Some(&result), ..completed(9) };
    store.finish(&lease, finish).await.unwrap();
    let job = store.job(lease.job).await.unwrap().unwrap();
    assert_eq!(
        (job.state, job.phase, job.verdict),
        (JobState::Completed, None, Some(Verdict::Fail))
    );
    assert_eq!(job.summary.as_deref(), Some("p99 is 12 ms,\u{fffd} the limit is 10 ms"));
    assert_eq!((job.started_at, job.finished_at), (Some(at(1)), Some(at(9))));
    assert_eq!(store.result(lease.job).await.unwrap(), Some(result));
    assert_eq!(store.events_after(lease.job, 2, 9).await.unwrap().len(), 1);
    assert!(store.running().await.unwrap().is_empty());
}

async fn finishing_again_after_a_lost_answer_is_fine(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let result = result(&lease);
    let finish = Finish { result: Some(&result), ..completed(9) };
    store.finish(&lease, finish).await.unwrap();
    let once = store.job(lease.job).await.unwrap();
    store.finish(&lease, Finish { at: at(10), ..finish }).await.unwrap();
    assert_eq!(store.job(lease.job).await.unwrap(), once);
    assert_eq!(store.events_after(lease.job, 2, 9).await.unwrap().len(), 1);
    // A lease that never was is another matter.
    let stranger = Lease { attempt: 7, ..lease };
    assert!(matches!(store.finish(&stranger, finish).await, Err(StoreError::LeaseLost)));
}

async fn a_job_that_could_not_be_run_says_why(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let error = Failure {
        code: FailureCode::InvalidJob,
        message: "the name\0 does not resolve".to_owned(),
    };
    let finish = Finish { state: JobState::Failed, error: Some(&error), ..completed(9) };
    store.finish(&lease, finish).await.unwrap();
    let job = store.job(lease.job).await.unwrap().unwrap();
    assert_eq!((job.state, job.verdict, job.summary), (JobState::Failed, None, None));
    assert_eq!(job.error_code, Some(FailureCode::InvalidJob));
    assert_eq!(job.error.as_deref(), Some("the name\u{fffd} does not resolve"));
    assert_eq!(store.result(lease.job).await.unwrap(), None);
}

async fn only_final_states_end_a_job(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    for wrong in [JobState::Queued, JobState::Running] {
        let refusal = store.finish(&lease, Finish { state: wrong, ..completed(9) }).await;
        assert!(matches!(refusal, Err(StoreError::NotFinal(_))), "{refusal:?}");
    }
    assert_eq!(state(&store, lease.job).await, JobState::Running);
}

async fn a_failing_finish_leaves_nothing_behind(backend: Backend, store: Store) {
    let lease = running(&store, "a").await;
    queue(&store, "a").await;
    match &backend {
        Backend::Sqlite(_) => {
            let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON events WHEN new.sequence = 3 \
                          BEGIN SELECT RAISE(ABORT, 'refused'); END";
            backend.execute(refuse).await;
        }
        Backend::Postgres(_) => {
            backend.execute("ALTER TABLE events ADD CHECK (sequence <> 3)").await;
        }
    }
    let result = result(&lease);
    let finish = Finish { result: Some(&result), ..completed(9) };
    assert!(store.finish(&lease, finish).await.is_err());
    assert_eq!(state(&store, lease.job).await, JobState::Running);
    assert_eq!(store.result(lease.job).await.unwrap(), None);
    assert!(claim(&store).await.is_none(), "its host is still busy");
}
