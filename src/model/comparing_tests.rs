use super::{ComparedJobs, Comparing, place};
use crate::statistics::Arm;
use crate::{JobId, JobSpec};
use serde_json::{Value, json};

fn spec(request: &Value) -> JobSpec {
    match Comparing::parse(request).unwrap() {
        Comparing::Loads(document) => JobSpec::parse(&document, &|_| None).unwrap(),
        Comparing::Jobs(jobs) => panic!("{jobs:?}"),
    }
}

#[test]
fn two_urls_become_one_job_of_the_usual_or_the_quick_profile() {
    let mut request =
        json!({"baseline": "http://127.0.0.1:1/", "candidate": "http://127.0.0.1:2/"});
    let usual = spec(&request);
    assert_eq!(usual.arm(Arm::A).target.url, "http://127.0.0.1:1/");
    assert_eq!(usual.arm(Arm::B).target.url, "http://127.0.0.1:2/");
    let shape = |spec: &JobSpec| {
        let load = &spec.load;
        (spec.trials, load.warmup.to_string(), load.duration.unwrap().to_string())
    };
    assert_eq!(shape(&usual), (20, "5s".into(), "20s".into()));
    request["quick"] = json!(true);
    assert_eq!(shape(&spec(&request)), (12, "2s".into(), "10s".into()));
    request["quick"] = json!(false);
    request["blocks"] = json!(8);
    request["candidate"] = json!({"target": {"url": "http://127.0.0.1:2/"}, "load": {"duration": "7s", "warmup": "0s"}});
    assert_eq!(shape(&spec(&request)), (16, "0s".into(), "7s".into()));
}

#[test]
fn two_job_documents_become_one_job_of_the_candidate() {
    let document = |port: u16, project: &str| {
        json!({"project": project, "target": {"url": format!("http://127.0.0.1:{port}/")},
               "load": {"connections": 7, "requests": 900}, "criteria": ["rps > 1"]})
    };
    let request = json!({"baseline": document(1, "old"), "candidate": document(2, "new"),
                         "metric": "latency_p50_ms", "margin_pct": 3, "seed": 4, "labels": {"a": "b"}});
    let spec = spec(&request);
    assert_eq!(
        (spec.project.as_str(), spec.load.requests, spec.load.duration),
        ("new", Some(900), None)
    );
    assert_eq!((spec.labels["a"].as_str(), spec.criteria.len()), ("b", 1));
    let compare = spec.compare.unwrap();
    assert_eq!(
        (compare.metric.as_str(), compare.margin_pct, compare.seed),
        ("latency_p50_ms", 3.0, Some(4))
    );
}

#[test]
fn ids_and_lists_of_ids_are_finished_jobs() {
    let [a, b, c] = [JobId::new(), JobId::new(), JobId::new()];
    let read = |request: &Value| match Comparing::parse(request).unwrap() {
        Comparing::Jobs(jobs) => jobs,
        Comparing::Loads(document) => panic!("{document}"),
    };
    let jobs =
        read(&json!({"baseline": [a.to_string(), b.to_string()], "candidate": c.to_string()}));
    let usual = ComparedJobs {
        baseline: vec![a, b],
        candidate: vec![c],
        metric: None,
        margin_pct: 5.0,
        seed: 0,
        force: false,
    };
    assert_eq!(jobs, usual);
    let stored = read(&json!({"candidate": c.to_string(), "metric": "rps", "force": true}));
    let metric = Some("rps".to_owned());
    assert_eq!(stored, ComparedJobs { baseline: Vec::new(), metric, force: true, ..usual });
}

#[test]
fn what_is_wrong_is_named_where_it_stands() {
    let [id, other] = [JobId::new().to_string(), JobId::new().to_string()];
    let url = "http://127.0.0.1:1/";
    for (request, pointer, words) in [
        (json!([]), "", "no object"),
        (json!({"baseline": url}), "/candidate", "is missing"),
        (json!({"candidate": url}), "/baseline", "is missing"),
        (json!({"baseline": url, "candidate": id}), "/baseline", "two loads, or two jobs"),
        (json!({"baseline": 5, "candidate": url}), "/baseline", "5 is not right"),
        (json!({"baseline": [], "candidate": url}), "/baseline", "is not right"),
        (json!({"baseline": [url], "candidate": id}), "/baseline/0", "no job id"),
        (json!({"baseline": [id, id], "candidate": other}), "/baseline/1", "given twice"),
        (json!({"baseline": [other, id], "candidate": id}), "/baseline", "so does candidate"),
        (json!({"baseline": vec![&id; 51], "candidate": other}), "/baseline", "at most 50"),
        (json!({"baseline": url, "candidate": url, "force": true}), "/force", "finished jobs"),
        (
            json!({"baseline": url, "candidate": {"target": {"url": url}, "compare": {}}}),
            "/candidate/compare",
            "leave it out",
        ),
        (
            json!({"baseline": url, "candidate": {"load": {"duration": "9s"}}, "quick": true}),
            "/quick",
            "one of the two",
        ),
        (json!({"baseline": url, "candidate": url, "margin": 5}), "/margin", "known are"),
        (json!({"baseline": id, "candidate": other, "blocks": 6}), "/blocks", "goes with loads"),
        (json!({"baseline": id, "candidate": other, "quick": true}), "/quick", "goes with loads"),
        (
            json!({"baseline": id, "candidate": other, "project": "p"}),
            "/project",
            "goes with loads",
        ),
        (
            json!({"baseline": id, "candidate": other, "metric": "rsp"}),
            "/metric",
            "did you mean \"rps\"",
        ),
        (json!({"baseline": id, "candidate": other, "margin_pct": -1}), "/margin_pct", "from 0"),
    ] {
        let errors = Comparing::parse(&request).unwrap_err();
        assert_eq!(errors[0].pointer, pointer, "{request}: {errors:?}");
        assert!(errors[0].detail.contains(words), "{request}: {errors:?}");
    }
}

#[test]
fn faults_of_the_job_are_placed_in_the_request() {
    let request =
        json!({"baseline": "http://127.0.0.1:1/", "candidate": {"target": "x"}, "criteria": ["a"]});
    for (pointer, expected) in [
        ("/compare/baseline/target/url", "/baseline"),
        ("/compare/metric", "/metric"),
        ("/target", "/candidate/target"),
        ("/criteria/0", "/criteria/0"),
        ("/project", "/candidate/project"),
    ] {
        assert_eq!(place(pointer, &request), expected, "{pointer}");
    }
}
