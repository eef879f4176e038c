//! A worker that lost its job cannot write to it.

use crate::backends::{Backend, on_both};
use crate::samples::{LEASE, at, claim, end, finish, queue, result, running, second_record, state};
use benchd_model::environment::HostSnapshot;
use benchd_model::event::JobEventKind;
use benchd_model::job::Progress;
use benchd_model::{JobState, Phase};
use benchd_store::{Finish, Lease, Record, Store, StoreError};

on_both!(
    every_write_of_a_fenced_worker_is_refused,
    the_new_holder_goes_on_where_the_dead_one_stopped,
    a_job_is_taken_over_once_per_attempt,
    every_write_after_the_end_is_refused,
    a_heartbeat_extends_the_lease_and_keeps_the_phase,
    writes_racing_with_a_take_over_are_whole_or_refused,
);

async fn assert_refused(store: &Store, lease: &Lease) {
    let progress = Progress::default();
    let phase = JobEventKind::Phase { trial: 1, phase: Phase::Measuring };
    let result = result(lease);
    let finish =
        Finish { state: JobState::Completed, result: Some(&result), error: None, at: at(9) };
    let refusals = [
        store.heartbeat(lease, at(9), LEASE, None, &progress).await.map(drop),
        store.set_host(lease, &HostSnapshot::default(), true).await,
        store.append(lease, &[second_record(0, 0, 5)]).await,
        store.append(lease, &[]).await,
        store.emit(lease, at(9), phase).await.map(drop),
    ];
    for (number, refusal) in refusals.into_iter().enumerate() {
        assert!(matches!(refusal, Err(StoreError::LeaseLost)), "call {number}: {refusal:?}");
    }
    if state(store, lease.job).await == JobState::Running {
        let refusal = store.finish(lease, finish).await;
        assert!(matches!(refusal, Err(StoreError::LeaseLost)), "{refusal:?}");
    }
}

async fn every_write_of_a_fenced_worker_is_refused(_: Backend, store: Store) {
    let dead = running(&store, "a").await;
    store.append(&dead, &[second_record(0, 0, 0)]).await.unwrap();
    let lease =
        store.take_over(dead.job, dead.attempt, "reaper", at(20), LEASE).await.unwrap().unwrap();
    assert_eq!((lease.attempt, lease.worker.as_str()), (2, "reaper"));
    assert_refused(&store, &dead).await;
    assert_eq!(store.recordings(dead.job).await.unwrap()[0].seconds.len(), 1);
    assert_eq!(store.events_after(dead.job, 0, 100).await.unwrap().len(), 2);
    assert_eq!(store.host(dead.job).await.unwrap(), None);
    assert_eq!(store.running().await.unwrap()[0].lease_until, at(35));

    finish(&store, &lease, JobState::Interrupted, 21).await;
    let late = Finish { state: JobState::Completed, result: None, error: None, at: at(22) };
    let refusal = store.finish(&dead, late).await;
    assert!(matches!(refusal, Err(StoreError::LeaseLost)), "{refusal:?}");
    assert_eq!(state(&store, dead.job).await, JobState::Interrupted);
}

async fn the_new_holder_goes_on_where_the_dead_one_stopped(_: Backend, store: Store) {
    let dead = running(&store, "a").await;
    store.append(&dead, &[second_record(0, 0, 0)]).await.unwrap();
    let lease = store.take_over(dead.job, 1, "reaper", at(20), LEASE).await.unwrap().unwrap();
    assert_eq!(lease.spec, dead.spec);
    let records = [second_record(0, 0, 1), Record::TrialEnd { trial: 0, generator: 0, end: end() }];
    store.append(&lease, &records).await.unwrap();
    let recordings = store.recordings(lease.job).await.unwrap();
    assert_eq!(recordings[0].seconds.len(), 2);
    assert_eq!(recordings[0].end, Some(end()));
    // The host is still taken while the reaper works.
    queue(&store, "a").await;
    assert!(claim(&store).await.is_none());
    finish(&store, &lease, JobState::Interrupted, 21).await;
    assert!(claim(&store).await.is_some());
}

async fn a_job_is_taken_over_once_per_attempt(backend: Backend, store: Store) {
    let dead = running(&store, "a").await;
    let mut reapers = Vec::new();
    for number in 0..5 {
        let (store, job) = (backend.open().await, dead.job);
        reapers.push(tokio::spawn(async move {
            store.take_over(job, 1, &format!("reaper {number}"), at(20), LEASE).await.unwrap()
        }));
    }
    let mut taken = Vec::new();
    for reaper in reapers {
        taken.extend(reaper.await.unwrap());
    }
    assert_eq!(taken.len(), 1);
    assert_eq!(store.running().await.unwrap()[0].worker, taken[0].worker);
    let waiting = queue(&store, "a").await;
    assert!(store.take_over(waiting, 0, "r", at(20), LEASE).await.unwrap().is_none());
}

async fn every_write_after_the_end_is_refused(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    finish(&store, &lease, JobState::Completed, 5).await;
    assert_refused(&store, &lease).await;
    assert!(store.take_over(lease.job, 1, "r", at(20), LEASE).await.unwrap().is_none());
}

async fn a_heartbeat_extends_the_lease_and_keeps_the_phase(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let progress = Progress { ratio: 0.1 + 0.2, trial: 1, trials: 1, ok: 7, ..Progress::default() };
    store.heartbeat(&lease, at(2), LEASE, Some(Phase::Measuring), &progress).await.unwrap();
    let beat = store.heartbeat(&lease, at(3), LEASE, None, &progress).await.unwrap();
    assert!(!beat.cancel_requested);
    let job = store.job(lease.job).await.unwrap().unwrap();
    assert_eq!((job.phase, job.progress), (Some(Phase::Measuring), progress));
    assert_eq!(store.running().await.unwrap()[0].lease_until, at(18));
}

async fn writes_racing_with_a_take_over_are_whole_or_refused(backend: Backend, store: Store) {
    let dead = running(&store, "a").await;
    let other = backend.open().await;
    let writer = {
        let (store, dead) = (store.clone(), dead.clone());
        tokio::spawn(async move {
            let mut written = 0;
            for index in 0..2000 {
                let pair = [second_record(0, 0, index), second_record(0, 1, index)];
                match store.append(&dead, &pair).await {
                    Ok(()) => written = index + 1,
                    Err(StoreError::LeaseLost) => return written,
                    Err(error) => panic!("{error}"),
                }
            }
            panic!("never fenced off");
        })
    };
    // Let some get through: wait for the first to be visible.
    for _ in 0..10_000 {
        if !store.recordings(dead.job).await.unwrap().is_empty() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let lease = other.take_over(dead.job, 1, "reaper", at(20), LEASE).await.unwrap().unwrap();
    let after = other.recordings(lease.job).await.unwrap();
    let written = writer.await.unwrap();
    assert!(written > 0);
    let finally = other.recordings(lease.job).await.unwrap();
    assert_eq!(after, finally, "nothing was written after the take-over");
    assert!(finally.iter().all(|recording| recording.seconds.len() as u32 == written));
}
