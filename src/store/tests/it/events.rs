//! What listeners hear.

use crate::backends::{Backend, on_both};
use crate::samples::{at, finish, running, second, state};
use benchd_model::event::JobEventKind;
use benchd_model::spec::LoadSpec;
use benchd_model::{JobState, Phase, TrialRecording, timeline};
use benchd_store::Store;

on_both!(
    a_job_tells_its_whole_story_in_order,
    a_listener_that_comes_back_misses_and_repeats_nothing,
    an_event_repeated_after_a_lost_answer_is_told_once,
    concurrent_events_get_numbers_of_their_own,
);

fn phase(trial: u32, phase: Phase) -> JobEventKind {
    JobEventKind::Phase { trial, phase }
}

fn second_event(index: u32) -> JobEventKind {
    let recording =
        TrialRecording { started_us: Some(at(1).as_micros()), ..TrialRecording::default() };
    let row = timeline::live_row(&recording, &second(index), &LoadSpec::default());
    JobEventKind::Second { trial: 1, row: Box::new(row) }
}

async fn a_job_tells_its_whole_story_in_order(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let told =
        [phase(1, Phase::WarmingUp), phase(1, Phase::Measuring), second_event(0), second_event(1)];
    for (number, kind) in told.iter().enumerate() {
        let sequence = store.emit(&lease, at(2), kind.clone()).await.unwrap();
        assert_eq!(sequence, number as u64 + 3);
    }
    finish(&store, &lease, JobState::Completed, 5).await;
    let events = store.events_after(lease.job, 0, 100).await.unwrap();
    let sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(events[0].kind, JobEventKind::State { state: JobState::Queued });
    assert_eq!(
        (events[1].at, &events[1].kind),
        (at(1), &JobEventKind::State { state: JobState::Running })
    );
    for (event, kind) in events[2..6].iter().zip(&told) {
        assert_eq!(&event.kind, kind);
    }
    let JobEventKind::Finished { state, verdict, summary } = &events[6].kind else {
        panic!("the last event ends it");
    };
    let job = store.job(lease.job).await.unwrap().unwrap();
    assert_eq!((*state, *verdict, summary), (job.state, job.verdict, &job.summary));
    assert!(verdict.is_some());
}

async fn a_listener_that_comes_back_misses_and_repeats_nothing(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    for index in 0..10 {
        store.emit(&lease, at(2), second_event(index)).await.unwrap();
    }
    let mut heard = Vec::new();
    for _ in 0..10 {
        let after = heard.last().copied().unwrap_or(0);
        let batch = store.events_after(lease.job, after, 5).await.unwrap();
        assert!(batch.len() <= 5);
        heard.extend(batch.iter().map(|event| event.sequence));
    }
    assert_eq!(heard, (1..=12).collect::<Vec<u64>>());
    assert!(store.events_after(lease.job, u64::MAX, 5).await.unwrap().is_empty());
}

async fn an_event_repeated_after_a_lost_answer_is_told_once(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let first = store.emit(&lease, at(2), second_event(0)).await.unwrap();
    assert_eq!(store.emit(&lease, at(3), second_event(0)).await.unwrap(), first);
    assert_eq!(store.emit(&lease, at(3), second_event(1)).await.unwrap(), first + 1);
    // A phase may come again later; only the very last event is compared.
    assert_eq!(store.emit(&lease, at(3), second_event(0)).await.unwrap(), first + 2);
    assert_eq!(store.events_after(lease.job, 2, 100).await.unwrap().len(), 3);
}

async fn concurrent_events_get_numbers_of_their_own(backend: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let other = backend.open().await;
    let emits: Vec<_> = (0..20)
        .map(|index| {
            let store = if index % 2 == 0 { store.clone() } else { other.clone() };
            let lease = lease.clone();
            tokio::spawn(
                async move { store.emit(&lease, at(2), second_event(index)).await.unwrap() },
            )
        })
        .collect();
    let mut numbers = Vec::new();
    for emit in emits {
        numbers.push(emit.await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (3..=22).collect::<Vec<u64>>());
    assert_eq!(state(&store, lease.job).await, JobState::Running);
}
