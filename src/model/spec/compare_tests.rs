use crate::spec::{LoadModel, Protocol};
use crate::statistics::{Arm, BlockOrder};
use crate::{FieldError, JobId, JobSpec};
use serde_json::{Value, json};

fn document(compare: Value) -> Value {
    json!({
        "target": {"url": "http://127.0.0.1:1/", "stub_status": "http://127.0.0.1:1/status"},
        "load": {"connections": 8, "duration": "3s"},
        "request": {"headers": {"a": "1"}, "method": "HEAD"},
        "compare": compare,
    })
}

fn parsed(compare: Value) -> Result<JobSpec, Vec<FieldError>> {
    JobSpec::parse(&document(compare), &|_| None)
}

#[test]
fn a_baseline_is_the_candidate_but_for_what_it_names() {
    let spec = parsed(json!({"baseline": {
        "target": {"url": "http://127.0.0.1:2/"}, "load": {"keepalive": false, "requests": 500}
    }}))
    .unwrap();
    let (a, b) = (spec.arm(Arm::A), spec.arm(Arm::B));
    assert_eq!(
        (a.target.url.as_str(), a.target.stub_status.as_deref()),
        ("http://127.0.0.1:2/", None)
    );
    assert_eq!((a.load.connections, a.load.keepalive), (8, false));
    assert_eq!(
        (a.load.requests, a.load.duration),
        (Some(500), None),
        "one length replaces another"
    );
    assert_eq!((a.trials, a.compare.is_none(), &a.request), (10, true, &b.request));
    assert_eq!(
        (b.target.url.as_str(), b.load.keepalive, b.trials),
        ("http://127.0.0.1:1/", true, 10)
    );
    assert_eq!((spec.trials, spec.compare.as_ref().unwrap().of_itself()), (20, false));
    let json = serde_json::to_value(&spec).unwrap();
    assert_eq!(serde_json::from_value::<JobSpec>(json).unwrap(), spec);
}

#[test]
fn an_empty_baseline_is_the_candidate_itself() {
    let spec = parsed(json!({"baseline": {}, "blocks": 6})).unwrap();
    assert!(spec.compare.as_ref().unwrap().of_itself());
    assert_eq!(spec.arm(Arm::A), spec.arm(Arm::B));
}

#[test]
fn the_metric_follows_the_load_model() {
    let metric =
        |document: &Value| JobSpec::parse(document, &|_| None).unwrap().compare.unwrap().metric;
    let mut closed = document(json!({"baseline": {}}));
    assert_eq!(metric(&closed), "rps");
    closed["load"] = json!({"rate": 100});
    assert_eq!(metric(&closed), "latency_p99_ms");
}

#[test]
fn every_block_has_both_arms_in_the_order_of_the_seed() {
    let spec = parsed(json!({"baseline": {}, "blocks": 7, "seed": 11})).unwrap();
    let job = JobId::new();
    assert_eq!((spec.trials, spec.seed(job)), (14, 11));
    for (block, order) in spec.block_order(job).iter().enumerate() {
        let index = 2 * block as u32;
        let arms = [spec.arm_of_trial(job, index), spec.arm_of_trial(job, index + 1)];
        assert_eq!(arms, order.arms());
        assert_eq!(arms == [Arm::A, Arm::B], *order == BlockOrder::AB);
    }
    let unseeded = parsed(json!({"baseline": {}})).unwrap();
    assert_eq!(unseeded.seed(job), unseeded.seed(job));
    assert!(unseeded.seed(job) < 1 << 53);
    assert_ne!(unseeded.seed(job), unseeded.seed(JobId::new()));
}

#[test]
fn what_is_wrong_is_named_where_it_stands() {
    for (compare, pointer, words) in [
        (json!({}), "/compare/baseline", "is missing"),
        (json!("a"), "/compare", "no object"),
        (json!({"baseline": 1}), "/compare/baseline", "no object"),
        (json!({"baseline": {"tarket": 1}}), "/compare/baseline/tarket", "did you mean \"target\""),
        (json!({"baseline": {"target": {"url": "x"}}}), "/compare/baseline/target/url", "URL"),
        (json!({"baseline": {"target": "b"}}), "/compare/baseline/target", "no registered target"),
        (
            json!({"baseline": {"load": {"connections": 0}}}),
            "/compare/baseline/load/connections",
            "from 1",
        ),
        (json!({"baseline": {"load": {"rate": 5}}}), "/compare/baseline/load", "closed loop"),
        (
            json!({"baseline": {"request": {"method": "A B"}}}),
            "/compare/baseline/request/method",
            "no method",
        ),
        (json!({"baseline": {}, "blocks": 5}), "/compare/blocks", "from 6 to 50"),
        (json!({"baseline": {}, "metric": "rsp"}), "/compare/metric", "did you mean \"rps\""),
        (json!({"baseline": {}, "metric": "issued"}), "/compare/metric", "neither"),
        (json!({"baseline": {}, "metric": "lateness_p99_ms"}), "/compare/metric", "of open loops"),
        (json!({"baseline": {}, "margin_pct": -1}), "/compare/margin_pct", "from 0"),
        (json!({"baseline": {}, "margin_pct": 100}), "/compare/margin_pct", "never exceeded"),
        (json!({"baseline": {}, "seed": 1.5}), "/compare/seed", "whole number"),
        (json!({"baseline": {}, "block": 6}), "/compare/block", "did you mean \"blocks\""),
    ] {
        let errors = parsed(compare.clone()).unwrap_err();
        let found = errors.iter().find(|error| error.pointer == pointer);
        let found = found.unwrap_or_else(|| panic!("{compare}: {errors:?}"));
        assert!(found.detail.contains(words), "{compare}: {found}");
        assert_eq!(errors.len(), 1, "{compare}: {errors:?}");
    }
    let mut again = document(json!({"baseline": {}}));
    again["trials"] = json!(20);
    assert!(JobSpec::parse(&again, &|_| None).is_ok(), "a spec as it is shown is taken again");
    let mut twice = document(json!({"baseline": {}}));
    twice["trials"] = json!(3);
    let errors = JobSpec::parse(&twice, &|_| None).unwrap_err();
    assert_eq!(errors[0].pointer, "/trials");
}

/// Never is a baseline that cannot be read taken for the candidate itself.
#[test]
fn what_does_not_go_with_the_job_s_own_load_is_refused() {
    let mut crossed = document(json!({"baseline": {"target": {"url": "http://[::1]:2/"}}}));
    crossed["load"]["source_addresses"] = json!(["127.0.0.2"]);
    let errors = JobSpec::parse(&crossed, &|_| None).unwrap_err();
    assert_eq!(errors[0].pointer, "/compare/baseline", "{errors:?}");
    assert!(errors[0].detail.contains("load/source_addresses"), "{errors:?}");
}

/// A fault of the candidate is told once, not again for the baseline.
#[test]
fn what_is_wrong_with_the_job_is_not_told_twice() {
    let mut wrong = document(json!({"baseline": {"request": {"method": "GET"}}}));
    wrong["load"]["connections"] = json!(0);
    let errors = JobSpec::parse(&wrong, &|_| None).unwrap_err();
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/load/connections"]);
}

#[test]
fn a_variant_may_speak_another_protocol() {
    let spec = parsed(json!({"baseline": {"load": {"protocol": "h2", "streams": 4}}})).unwrap();
    let a = spec.arm(Arm::A).load;
    assert_eq!((a.protocol, a.streams, a.model), (Protocol::H2, 4, LoadModel::Closed));
}
