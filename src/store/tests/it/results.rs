//! Results over time, and the pickers of a dashboard.

use crate::backends::{Backend, on_both};
use crate::samples::{LEASE, at, create, finish, new_job, pair, queue, result, running, spec};
use benchd_model::job::{Failure, FailureCode};
use benchd_model::{Job, JobId, JobState, RunResult};
use benchd_store::{Finish, JobFilter, Lease, Store, Variable};

on_both!(
    results_are_the_newest_ones_in_ascending_order,
    results_follow_the_filters,
    the_latest_of_each_scenario_is_its_newest_completed_one,
    pickers_offer_what_there_is,
);

async fn run(store: &Store, project: &str, scenario: &str, state: JobState, end: i64) -> Lease {
    let document = serde_json::json!({
        "project": project, "scenario": scenario, "target": {"url": "http://a/"},
        "labels": {"branch": format!("{project}-{scenario}")}
    });
    let id = create(store, new_job(spec(document), 0)).await;
    let lease = store.claim("w", Some(id), at(1), LEASE).await.unwrap().unwrap();
    finish(store, &lease, state, end).await;
    lease
}

fn ids(results: &[(Job, RunResult)]) -> Vec<JobId> {
    assert!(results.iter().all(|(job, result)| job.id == result.job_id));
    results.iter().map(|(job, _)| job.id).collect()
}

async fn results_are_the_newest_ones_in_ascending_order(_: Backend, store: Store) {
    let mut ended = Vec::new();
    // Ended in another order than posted.
    for end in [50, 20, 40, 30, 10] {
        ended.push((end, run(&store, "p", "s", JobState::Completed, end).await.job));
    }
    ended.sort_unstable();
    queue(&store, "b").await;
    let unmeasured = running(&store, "c").await;
    let error = Failure { code: FailureCode::InvalidJob, message: "no".to_owned() };
    let failed = Finish { state: JobState::Failed, result: None, error: Some(&error), at: at(99) };
    store.finish(&unmeasured, failed).await.unwrap();

    let all: Vec<JobId> = ended.iter().map(|(_, id)| *id).collect();
    assert_eq!(ids(&store.results(&JobFilter::default(), 100, pair).await.unwrap()), all);
    assert_eq!(ids(&store.results(&JobFilter::default(), 2, pair).await.unwrap()), all[3..]);
    let filter = JobFilter { since: Some(at(20)), until: Some(at(40)), ..JobFilter::default() };
    assert_eq!(ids(&store.results(&filter, 100, pair).await.unwrap()), all[1..3]);
}

async fn results_follow_the_filters(_: Backend, store: Store) {
    let one = run(&store, "p", "s", JobState::Completed, 10).await;
    let two = run(&store, "p", "t", JobState::Cancelled, 11).await;
    let three = run(&store, "q", "s", JobState::Completed, 12).await;
    let text = |text: &str| Some(text.to_owned());
    let all = JobFilter::default;
    let label = vec![("branch".to_owned(), "p-t".to_owned())];
    for (filter, expected) in [
        (JobFilter { project: text("p"), ..all() }, vec![one.job, two.job]),
        (JobFilter { scenario: text("s"), ..all() }, vec![one.job, three.job]),
        (JobFilter { state: Some(JobState::Cancelled), ..all() }, vec![two.job]),
        (JobFilter { labels: label, ..all() }, vec![two.job]),
        (JobFilter { target: text("http://a/"), ..all() }, vec![one.job, two.job, three.job]),
        (JobFilter { target: text("b"), ..all() }, vec![]),
    ] {
        assert_eq!(ids(&store.results(&filter, 9, pair).await.unwrap()), expected, "{filter:?}");
    }
    let (_, read) = store.results(&all(), 1, pair).await.unwrap().remove(0);
    assert_eq!(read, result(&three));
}

async fn the_latest_of_each_scenario_is_its_newest_completed_one(_: Backend, store: Store) {
    assert!(store.latest_results(pair).await.unwrap().is_empty());
    let newest_b = run(&store, "b", "s", JobState::Completed, 30).await;
    run(&store, "b", "s", JobState::Completed, 20).await;
    run(&store, "b", "s", JobState::Cancelled, 40).await;
    let only_a = run(&store, "a", "s", JobState::Completed, 5).await;
    let upper = run(&store, "B", "s", JobState::Completed, 6).await;
    let other = run(&store, "b", "r", JobState::Completed, 7).await;
    run(&store, "c", "s", JobState::Interrupted, 50).await;
    let latest = store.latest_results(pair).await.unwrap();
    assert_eq!(ids(&latest), [upper.job, only_a.job, other.job, newest_b.job]);
}

async fn pickers_offer_what_there_is(_: Backend, store: Store) {
    let first = run(&store, "shop", "home", JobState::Completed, 10).await;
    let second = run(&store, "shop", "Cart", JobState::Interrupted, 11).await;
    run(&store, "blog", "home", JobState::Completed, 12).await;
    queue(&store, "waiting has no data").await;
    let texts = |found: Vec<(String, String)>| {
        found
            .into_iter()
            .map(|(text, value)| {
                assert_eq!(text, value);
                value
            })
            .collect::<Vec<_>>()
    };
    let pick = |variable, project| store.variables(variable, project);
    assert_eq!(texts(pick(Variable::Projects, None).await.unwrap()), ["blog", "shop"]);
    assert_eq!(texts(pick(Variable::Scenarios, None).await.unwrap()), ["Cart", "home"]);
    assert_eq!(texts(pick(Variable::Scenarios, Some("blog")).await.unwrap()), ["home"]);
    assert_eq!(texts(pick(Variable::Scenarios, Some("none")).await.unwrap()), [""; 0]);
    assert_eq!(
        texts(pick(Variable::Branches, Some("shop")).await.unwrap()),
        ["shop-Cart", "shop-home"]
    );
    assert_eq!(texts(pick(Variable::Branches, Some("\0")).await.unwrap()), [""; 0]);
    let runs = pick(Variable::Runs, Some("shop")).await.unwrap();
    let values: Vec<_> = runs.iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(values, [second.job.to_string(), first.job.to_string()]);
    assert!(runs[1].0.starts_with("2025-11-30T") && runs[1].0.contains("home"), "{runs:?}");
    assert_eq!(pick(Variable::Runs, None).await.unwrap().len(), 3);
}
