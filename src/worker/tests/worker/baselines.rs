//! Jobs that are judged by a baseline, and jobs that become one.

use crate::support::{Bench, bounded, nginx, nginx_spec};
use benchd_model::criteria::CriterionStatus;
use benchd_model::{JobId, JobSpec, RunResult, Timestamp, Verdict};
use benchd_store::{BaselineFilter, SetBaseline};
use benchd_tuning::ManagedNginx;
use benchd_worker::{Worker, WorkerConfig};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A short job with these criteria.
fn judged(nginx: &ManagedNginx, criteria: &[&str]) -> JobSpec {
    let mut spec = nginx_spec(nginx, json!({"connections": 2, "requests": 1000}));
    spec.criteria = criteria.iter().map(|text| (*text).to_owned()).collect();
    spec
}

async fn measured(bench: &Bench, spec: &JobSpec) -> RunResult {
    let job = bench.post(spec).await;
    bench.run(job).await.unwrap();
    bench.result(job).await
}

/// Whether the run is held against a baseline, and why it is undecided if it is.
async fn undecided(bench: &Bench, spec: &JobSpec) -> String {
    let result = measured(bench, spec).await;
    assert_eq!(result.verdict, Verdict::Inconclusive, "{}", result.summary);
    assert_eq!((result.baseline, result.criteria[0].baseline), (None, None));
    result.criteria[0].reason.clone().unwrap()
}

#[tokio::test]
async fn a_job_is_held_against_the_baseline_of_its_environment_only() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let spec = judged(&nginx, &["goodput_rps within 99% of baseline"]);
    assert!(undecided(&bench, &spec).await.starts_with("there is no baseline \"default\""));

    let first = measured(&bench, &judged(&nginx, &[])).await;
    let set = bench.store.put_baseline(first.job_id, "default", false, Timestamp::now()).await;
    let SetBaseline::Set(baseline) = set.unwrap() else { panic!("it passed: {}", first.summary) };
    let result = measured(&bench, &spec).await;
    assert_eq!(result.verdict, Verdict::Pass, "{}", result.summary);
    assert_eq!(result.criteria[0].baseline, Some(first.goodput_rps));
    let used = result.baseline.unwrap();
    assert_eq!((used.name.as_str(), used.job_id), ("default", first.job_id));
    assert_eq!(used.environment, result.environment.fingerprint);
    // A job that names none uses none.
    assert_eq!(measured(&bench, &judged(&nginx, &[])).await.baseline, None);

    // Neither another name nor another scenario.
    let named = judged(&nginx, &["rps within 5% of baseline v1"]);
    assert!(undecided(&bench, &named).await.starts_with("there is no baseline \"v1\""));
    let elsewhere = JobSpec { scenario: "other".to_owned(), ..spec.clone() };
    undecided(&bench, &elsewhere).await;

    let moved = sqlx::query("UPDATE baselines SET environment = 'e3a9'");
    moved.execute(&mut bench.sqlite().await).await.unwrap();
    let reason = undecided(&bench, &spec).await;
    let here = &result.environment.fingerprint;
    assert!(reason.contains(here) && reason.contains("only another one (e3a9) has"), "{reason}");
    bench.store.delete_baseline(baseline.id).await.unwrap();
    assert!(undecided(&bench, &spec).await.starts_with("there is no baseline"));
}

#[tokio::test]
async fn what_passes_with_the_label_becomes_the_baseline_that_what_follows_is_held_against() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let run = async |labels: &[(&str, &str)], criterion: &str| -> (JobId, RunResult) {
        let mut spec = judged(&nginx, &[criterion]);
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        spec.labels = labels.iter().map(owned).collect();
        let job = bench.post(&spec).await;
        let rule = ["main", "release"].map(|branch| ("branch".to_owned(), branch.to_owned()));
        let baseline_when = rule.into();
        let config = WorkerConfig { baseline_when, ..bench.config(&benchd_worker::worker_name()) };
        let worker = Worker::new(bench.store.clone(), config);
        bounded(worker.run_one(job, CancellationToken::new())).await.unwrap();
        (job, bench.result(job).await)
    };
    let set = async || -> Vec<JobId> {
        let all = bench.store.baselines(&BaselineFilter::default()).await.unwrap();
        all.into_iter().map(|baseline| baseline.job_id).collect()
    };
    run(&[("branch", "dev"), ("main", "branch")], "rps > 0").await;
    run(&[("branch", "main")], "rps < 1").await;
    assert!(set().await.is_empty(), "none carries the label and passed");
    let (main, _) = run(&[("branch", "main"), ("ci", "1")], "rps > 0").await;
    assert_eq!(set().await, [main]);
    let (_, held) = run(&[("branch", "dev")], "rps within 99% of baseline").await;
    assert_eq!(held.criteria[0].status, CriterionStatus::Pass, "{}", held.summary);
    assert_eq!(held.baseline.map(|used| used.job_id), Some(main));
    let (release, _) = run(&[("branch", "release")], "rps > 0").await;
    assert_eq!(set().await, [release]);
}
