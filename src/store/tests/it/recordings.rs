//! What generators record and what is read back.

use crate::backends::{Backend, on_both};
use crate::samples::{at, end, finish, poll, running, second, second_record};
use benchd_model::environment::HostSnapshot;
use benchd_model::{JobState, TrialEnd, TrialRecording};
use benchd_store::{Record, Store, StoreError};

on_both!(
    everything_recorded_comes_back,
    a_repeated_append_doubles_nothing,
    an_append_is_all_or_nothing,
    recordings_of_several_generators_stay_apart,
    the_generator_host_comes_back,
    a_record_of_a_newer_benchd_is_refused_in_words,
);

fn started(trial: u32, generator: u32, second: i64) -> Record {
    Record::TrialStarted { trial, generator, started_us: at(second).as_micros() }
}

fn polled(trial: u32, second: i64) -> Record {
    Record::Poll { trial, generator: 0, poll: poll(second) }
}

fn ended(trial: u32) -> Record {
    Record::TrialEnd { trial, generator: 0, end: end() }
}

async fn everything_recorded_comes_back(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    assert!(store.recordings(lease.job).await.unwrap().is_empty());
    let batches = [
        vec![started(0, 0, 1), polled(0, 1)],
        vec![second_record(0, 0, 0), polled(0, 2)],
        vec![second_record(0, 0, 1), polled(0, 3)],
        vec![second_record(0, 0, 10), second_record(0, 0, 2), ended(0)],
        vec![started(1, 0, 20), second_record(1, 0, 0)],
    ];
    for batch in batches {
        store.append(&lease, &batch).await.unwrap();
    }
    let first = TrialRecording {
        trial: 0,
        generator: 0,
        seconds: vec![second(0), second(1), second(2), second(10)],
        polls: vec![poll(1), poll(2), poll(3)],
        end: Some(end()),
        started_us: Some(at(1).as_micros()),
    };
    let second = TrialRecording {
        trial: 1,
        generator: 0,
        seconds: vec![second(0)],
        polls: Vec::new(),
        end: None,
        started_us: Some(at(20).as_micros()),
    };
    assert_eq!(store.recordings(lease.job).await.unwrap(), [first, second]);
}

async fn a_repeated_append_doubles_nothing(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    let batch = [started(0, 0, 1), second_record(0, 0, 0), polled(0, 1), ended(0)];
    store.append(&lease, &batch).await.unwrap();
    let once = store.recordings(lease.job).await.unwrap();
    store.append(&lease, &batch).await.unwrap();
    store.append(&lease, &batch[1..]).await.unwrap();
    assert_eq!(store.recordings(lease.job).await.unwrap(), once);
    // The first write stands.
    let other = TrialEnd { driver: "other".to_owned(), ..end() };
    store.append(&lease, &[Record::TrialEnd { trial: 0, generator: 0, end: other }]).await.unwrap();
    assert_eq!(store.recordings(lease.job).await.unwrap(), once);
}

async fn an_append_is_all_or_nothing(backend: Backend, store: Store) {
    let lease = running(&store, "a").await;
    // The database refuses the second record of the batch.
    match &backend {
        Backend::Sqlite(_) => {
            let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON recordings WHEN new.seq = 1 \
                          BEGIN SELECT RAISE(ABORT, 'refused'); END";
            backend.execute(refuse).await;
        }
        Backend::Postgres(_) => {
            backend.execute("ALTER TABLE recordings ADD CHECK (seq <> 1)").await;
        }
    }
    let batch = [second_record(0, 0, 0), second_record(0, 0, 1), second_record(0, 0, 2)];
    let error = store.append(&lease, &batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(_)) && !error.is_transient(), "{error}");
    assert!(store.recordings(lease.job).await.unwrap().is_empty());
    store.append(&lease, &batch[2..]).await.unwrap();
    assert_eq!(store.recordings(lease.job).await.unwrap()[0].seconds.len(), 1);
}

async fn recordings_of_several_generators_stay_apart(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    for (trial, generator) in [(1, 1), (0, 1), (1, 0), (0, 0)] {
        store.append(&lease, &[second_record(trial, generator, generator)]).await.unwrap();
    }
    let recordings = store.recordings(lease.job).await.unwrap();
    let keys: Vec<_> =
        recordings.iter().map(|r| (r.trial, r.generator, r.seconds[0].index)).collect();
    assert_eq!(keys, [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)]);
}

async fn the_generator_host_comes_back(_: Backend, store: Store) {
    let lease = running(&store, "a").await;
    assert_eq!(store.host(lease.job).await.unwrap(), None);
    let host = HostSnapshot {
        kernel: "6.1".to_owned(),
        cores: 2,
        memory_bytes: Some(u64::MAX),
        cpu_quota_cores: Some(0.1 + 0.2),
        ..HostSnapshot::default()
    };
    store.set_host(&lease, &host, true).await.unwrap();
    assert_eq!(store.host(lease.job).await.unwrap(), Some((host.clone(), true)));
    store.set_host(&lease, &host, false).await.unwrap();
    assert_eq!(store.host(lease.job).await.unwrap(), Some((host, false)));
}

async fn a_record_of_a_newer_benchd_is_refused_in_words(backend: Backend, store: Store) {
    let lease = running(&store, "a").await;
    store.append(&lease, &[second_record(0, 0, 0)]).await.unwrap();
    finish(&store, &lease, JobState::Completed, 2).await;
    let blob = if matches!(backend, Backend::Sqlite(_)) { "X'0763'" } else { "'\\x0763'::bytea" };
    backend.execute(&format!("UPDATE recordings SET record = {blob}")).await;
    let error = store.recordings(lease.job).await.unwrap_err();
    assert!(
        matches!(error, StoreError::UnknownVersion { what: "second", found: 7, .. }),
        "{error}"
    );
    backend.execute(&format!("UPDATE results SET document = {blob}")).await;
    let error = store.result(lease.job).await.unwrap_err();
    assert!(matches!(error, StoreError::UnknownVersion { what: "result", .. }), "{error}");
}
