//! Baselines: set, moved, found, and gone with their jobs.

use crate::backends::{Backend, on_both};
use crate::samples::{at, create, finish, job_on, new_job, queue, result, running, spec};
use benchd_model::baseline::{Baseline, BaselineId};
use benchd_model::environment::{Environment, HostSnapshot};
use benchd_model::{JobId, JobState, Verdict};
use benchd_store::{BaselineFilter, DeleteOutcome, Finish, SetBaseline, Store};

on_both!(
    a_baseline_is_set_moved_listed_and_removed,
    only_what_passed_becomes_one_unless_forced,
    the_baseline_of_the_environment_is_found_before_others,
    a_baseline_goes_with_its_job_whenever_that_is_deleted,
);

/// A finished job of that scenario, measured on a host with so many processors.
async fn run(store: &Store, scenario: &str, cores: u32, verdict: Verdict) -> JobId {
    let document = serde_json::json!({
        "project": "shop", "scenario": scenario, "target": {"url": "http://a/"}
    });
    let id = create(store, new_job(spec(document), 0)).await;
    let lease = store.claim("w", Some(id), at(1), crate::samples::LEASE).await.unwrap().unwrap();
    let mut result = result(&lease);
    let host = HostSnapshot { cores, ..HostSnapshot::default() };
    (result.environment, result.verdict) = (Environment::new(host, None, true), verdict);
    let state = JobState::Completed;
    let end = Finish { state, result: Some(&result), error: None, at: at(2) };
    store.finish(&lease, end).await.unwrap();
    id
}

async fn set(store: &Store, job: JobId, name: &str, second: i64) -> Baseline {
    match store.put_baseline(job, name, false, at(second)).await.unwrap() {
        SetBaseline::Set(baseline) => baseline,
        other => panic!("{other:?}"),
    }
}

async fn a_baseline_is_set_moved_listed_and_removed(_: Backend, store: Store) {
    let pass = Verdict::Pass;
    let (one, two) = (run(&store, "home", 1, pass).await, run(&store, "home", 1, pass).await);
    let (other, cart) = (run(&store, "home", 2, pass).await, run(&store, "Cart", 1, pass).await);
    let first = set(&store, one, "default", 10).await;
    let expected = Baseline {
        id: first.id,
        project: "shop".into(),
        scenario: "home".into(),
        environment: store.result(one).await.unwrap().unwrap().environment.fingerprint,
        name: "default".into(),
        job_id: one,
        set_at: at(10),
    };
    assert_eq!(first, expected);
    let moved = set(&store, two, "default", 11).await;
    assert_eq!(moved, Baseline { job_id: two, set_at: at(11), ..expected });
    let named = set(&store, one, "v1.2", 12).await;
    let elsewhere = set(&store, other, "default", 13).await;
    let carts = set(&store, cart, "default", 14).await;

    let mut homes = [moved.clone(), elsewhere.clone()];
    homes.sort_by(|a, b| a.environment.cmp(&b.environment));
    let [a, b] = &homes;
    let text = |text: &str| Some(text.to_owned());
    let all = BaselineFilter::default;
    for (filter, found) in [
        (all(), vec![&carts, a, b, &named]),
        (BaselineFilter { project: text("shop"), name: text("v1.2"), ..all() }, vec![&named]),
        (BaselineFilter { scenario: text("Cart"), ..all() }, vec![&carts]),
        (BaselineFilter { environment: text(&elsewhere.environment), ..all() }, vec![&elsewhere]),
        (BaselineFilter { project: text("blog"), ..all() }, vec![]),
        (BaselineFilter { name: text("\0"), ..all() }, vec![]),
    ] {
        let listed = store.baselines(&filter).await.unwrap();
        assert_eq!(listed.iter().collect::<Vec<_>>(), found, "{filter:?}");
    }

    assert_eq!(store.baseline(named.id).await.unwrap(), Some(named.clone()));
    assert!(store.delete_baseline(named.id).await.unwrap());
    assert!(!store.delete_baseline(named.id).await.unwrap());
    assert_eq!(store.baseline(named.id).await.unwrap(), None);
    assert_eq!(store.baseline(BaselineId::new()).await.unwrap(), None);
    assert!(store.job(one).await.unwrap().is_some(), "the job stays");
}

async fn only_what_passed_becomes_one_unless_forced(_: Backend, store: Store) {
    let put = async |job, forced| store.put_baseline(job, "default", forced, at(5)).await.unwrap();
    assert_eq!(put(JobId::new(), true).await, SetBaseline::NotFound);
    let waiting = queue(&store, "b").await;
    assert!(matches!(put(waiting, true).await, SetBaseline::NotFinished(job) if job.id == waiting));
    for verdict in [Verdict::Fail, Verdict::Inconclusive, Verdict::Invalid] {
        let job = run(&store, "home", 1, verdict).await;
        assert!(matches!(put(job, false).await, SetBaseline::NotPassed(_)), "{verdict}");
        assert!(store.baselines(&BaselineFilter::default()).await.unwrap().is_empty());
        assert!(matches!(put(job, true).await, SetBaseline::Set(b) if b.job_id == job));
        store.delete(job).await.unwrap();
    }
    let cancelled = create(&store, job_on("c", 0)).await;
    store.cancel(cancelled, at(1)).await.unwrap();
    assert!(matches!(put(cancelled, false).await, SetBaseline::NotPassed(_)));
    assert!(matches!(put(cancelled, true).await, SetBaseline::NoResult(_)));
}

async fn the_baseline_of_the_environment_is_found_before_others(_: Backend, store: Store) {
    let find = async |scenario: &str, environment: &str, name: &str| {
        store.find_baseline("shop", scenario, environment, name).await.unwrap()
    };
    assert_eq!(find("home", "e", "default").await, None);
    let here = run(&store, "home", 1, Verdict::Pass).await;
    let there = run(&store, "home", 2, Verdict::Pass).await;
    let (here, there) =
        (set(&store, here, "default", 10).await, set(&store, there, "default", 20).await);
    let found = find("home", &here.environment, "default").await.unwrap();
    assert_eq!((found.job_id, &found.environment), (here.job_id, &here.environment));
    assert_eq!(Some(found.result), store.result(here.job_id).await.unwrap());
    // None is of this environment: the one that was set last is told of.
    let found = find("home", "e", "default").await.unwrap();
    assert_eq!((found.job_id, found.environment), (there.job_id, there.environment));
    for (scenario, name) in [("cart", "default"), ("home", "other")] {
        assert_eq!(find(scenario, &here.environment, name).await, None, "{scenario} {name}");
    }
}

async fn a_baseline_goes_with_its_job_whenever_that_is_deleted(_: Backend, store: Store) {
    for round in 0..8 {
        let lease = running(&store, "a").await;
        finish(&store, &lease, JobState::Completed, 5).await;
        let (put, deleted) = tokio::join!(
            store.put_baseline(lease.job, "default", true, at(round)),
            store.delete(lease.job)
        );
        assert_eq!(deleted.unwrap(), DeleteOutcome::Deleted);
        let put = put.unwrap();
        assert!(
            matches!(put, SetBaseline::Set(_) | SetBaseline::NotFound | SetBaseline::NoResult(_)),
            "{put:?}"
        );
        assert!(store.baselines(&BaselineFilter::default()).await.unwrap().is_empty());
    }
}
