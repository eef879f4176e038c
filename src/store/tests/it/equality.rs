//! Whatever is done, both databases answer alike.

use crate::backends::{Backend, runtime};
use crate::samples::{LEASE, at, end, job_on, pair, poll, result, second_record};
use benchd_model::event::JobEventKind;
use benchd_model::job::Progress;
use benchd_model::job::{Failure, FailureCode};
use benchd_model::{JobId, JobState, Phase};
use benchd_store::{
    Cursor, Finish, Idempotency, JobFilter, Lease, Record, Store, StoreError, Variable,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fmt::Debug;
use uuid::Uuid;

/// One thing done to a store. Numbers choose among what exists.
#[derive(Clone, Debug)]
enum Operation {
    Create { host: u8, key: Option<u8>, body: u8, label: u8 },
    Claim { only: Option<usize> },
    TakeOver { job: usize },
    Heartbeat { lease: usize, phase: Option<Phase> },
    Append { lease: usize, trial: u32, index: u32 },
    Emit { lease: usize, trial: u32 },
    Finish { lease: usize, state: JobState, with_result: bool },
    Cancel { job: usize },
    Delete { job: usize },
}

fn operation() -> impl Strategy<Value = Operation> {
    let pick = 0_usize..8;
    let phase = prop::option::of(prop::sample::select(vec![Phase::WarmingUp, Phase::Measuring]));
    prop_oneof![
        4 => (0_u8..3, prop::option::of(0_u8..3), 0_u8..2, 0_u8..2)
            .prop_map(|(host, key, body, label)| Operation::Create { host, key, body, label }),
        3 => prop::option::weighted(0.3, pick.clone()).prop_map(|only| Operation::Claim { only }),
        1 => pick.clone().prop_map(|job| Operation::TakeOver { job }),
        1 => (pick.clone(), phase).prop_map(|(lease, phase)| Operation::Heartbeat { lease, phase }),
        2 => (pick.clone(), 0_u32..2, 0_u32..3)
            .prop_map(|(lease, trial, index)| Operation::Append { lease, trial, index }),
        1 => (pick.clone(), 1_u32..3).prop_map(|(lease, trial)| Operation::Emit { lease, trial }),
        2 => (pick.clone(), prop::sample::select(JobState::ALL.to_vec()), any::<bool>())
            .prop_map(|(lease, state, with_result)| Operation::Finish { lease, state, with_result }),
        1 => pick.clone().prop_map(|job| Operation::Cancel { job }),
        1 => pick.prop_map(|job| Operation::Delete { job }),
    ]
}

/// A store with what was made in it so far.
struct Side {
    store: Store,
    jobs: Vec<JobId>,
    leases: Vec<Lease>,
}

fn shown<T: Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("refused: {error}"),
    }
}

impl Side {
    fn job(&self, number: usize) -> JobId {
        self.jobs.get(number % self.jobs.len().max(1)).copied().unwrap_or(JobId(Uuid::nil()))
    }

    fn lease(&self, number: usize) -> Option<&Lease> {
        self.leases.get(number % self.leases.len().max(1))
    }

    fn keep(&mut self, outcome: Result<Option<Lease>, StoreError>) -> String {
        if let Ok(Some(lease)) = &outcome {
            self.leases.push(lease.clone());
        }
        shown(outcome)
    }

    /// Does it and tells what came of it.
    async fn apply(&mut self, step: usize, operation: &Operation) -> String {
        let now = at(step as i64);
        match operation {
            Operation::Create { host, key, body, label } => {
                let mut job = job_on(&format!("host{host}"), step as i64 / 2);
                job.id = JobId(Uuid::from_u128(step as u128 + 1));
                job.spec.labels.insert("branch".to_owned(), label.to_string());
                job.idempotency =
                    key.map(|key| Idempotency { key: key.to_string(), body_hash: vec![*body] });
                self.jobs.push(job.id);
                shown(self.store.create_job(job).await)
            }
            Operation::Claim { only } => {
                let only = only.map(|number| self.job(number));
                let outcome = self.store.claim("w", only, now, LEASE).await;
                self.keep(outcome)
            }
            Operation::TakeOver { job } => {
                let attempt = self.leases.last().map_or(0, |lease| lease.attempt);
                let outcome = self.store.take_over(self.job(*job), attempt, "r", now, LEASE).await;
                self.keep(outcome)
            }
            Operation::Cancel { job } => shown(self.store.cancel(self.job(*job), now).await),
            Operation::Delete { job } => shown(self.store.delete(self.job(*job)).await),
            Operation::Heartbeat { lease, .. }
            | Operation::Append { lease, .. }
            | Operation::Emit { lease, .. }
            | Operation::Finish { lease, .. } => match self.lease(*lease) {
                Some(lease) => self.work(lease, step, operation).await,
                None => String::new(),
            },
        }
    }

    async fn work(&self, lease: &Lease, step: usize, operation: &Operation) -> String {
        let (store, now) = (&self.store, at(step as i64));
        match operation {
            Operation::Heartbeat { phase, .. } => {
                let progress = Progress { issued: step as u64, ..Progress::default() };
                shown(store.heartbeat(lease, now, LEASE, *phase, &progress).await)
            }
            Operation::Append { trial, index, .. } => {
                let (trial, generator) = (*trial, 0);
                let poll = poll(i64::from(*index));
                let records = [
                    second_record(trial, generator, *index),
                    Record::Poll { trial, generator, poll },
                    Record::TrialEnd { trial, generator, end: end() },
                ];
                shown(store.append(lease, &records).await)
            }
            Operation::Emit { trial, .. } => {
                let kind = JobEventKind::Phase { trial: *trial, phase: Phase::Measuring };
                shown(store.emit(lease, now, kind).await)
            }
            Operation::Finish { state, with_result, .. } => {
                let result = result(lease);
                let result = with_result.then_some(&result);
                let error = Failure { code: FailureCode::InvalidJob, message: "e".to_owned() };
                let finish = Finish { state: *state, result, error: Some(&error), at: now };
                shown(store.finish(lease, finish).await)
            }
            _ => unreachable!("only a worker's operations come here"),
        }
    }

    /// Everything that can be read.
    async fn everything(&self) -> Vec<String> {
        let store = &self.store;
        let mut all = Vec::new();
        let label = |value: &str| JobFilter {
            labels: vec![("branch".to_owned(), value.to_owned())],
            ..JobFilter::default()
        };
        let target = JobFilter { target: Some("host1".to_owned()), ..JobFilter::default() };
        for filter in [JobFilter::default(), label("0"), label("1"), target] {
            let mut after: Option<Cursor> = None;
            loop {
                let page = store.jobs(&filter, after, 3).await.unwrap();
                all.push(format!("{page:?}"));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            all.push(shown(store.results(&filter, 3, pair).await));
        }
        all.push(shown(store.latest_results(pair).await));
        all.push(shown(store.running().await));
        all.push(shown(store.counts().await));
        for variable in
            [Variable::Projects, Variable::Scenarios, Variable::Branches, Variable::Runs]
        {
            all.push(shown(store.variables(variable, Some("shop")).await));
        }
        for id in &self.jobs {
            all.push(shown(store.job(*id).await));
            all.push(shown(store.result(*id).await));
            all.push(shown(store.recordings(*id).await));
            all.push(shown(store.events_after(*id, 0, 100).await));
        }
        all
    }
}

#[test]
fn random_operations_give_equal_answers() {
    let database = Backend::postgres();
    let runtime = runtime();
    let mut runner =
        TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let operations = prop::collection::vec(operation(), 1..40);
    let outcome = runner.run(&operations, |operations| {
        runtime.block_on(async {
            let side = |store| Side { store, jobs: Vec::new(), leases: Vec::new() };
            let mut sqlite = side(Store::open("sqlite::memory:").await.unwrap());
            let mut postgres = side(database.open().await);
            database.execute("TRUNCATE jobs CASCADE").await;
            for (step, operation) in operations.iter().enumerate() {
                let answers =
                    (sqlite.apply(step, operation).await, postgres.apply(step, operation).await);
                prop_assert_eq!(&answers.0, &answers.1, "step {}: {:?}", step, operation);
            }
            prop_assert_eq!(sqlite.everything().await, postgres.everything().await);
            postgres.store.close().await;
            Ok(())
        })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
