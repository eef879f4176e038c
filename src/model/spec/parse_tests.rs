use super::super::{Arrivals, JobSpec, LoadModel, Protocol, TargetSpec};
use serde_json::{Value, json};

fn parse(document: &Value) -> Result<JobSpec, Vec<(String, String)>> {
    let named = |name: &str| {
        (name == "shop").then(|| TargetSpec {
            name: Some("shop".into()),
            url: "http://shop.internal/".into(),
            ..TargetSpec::default()
        })
    };
    JobSpec::parse(document, &named)
        .map_err(|errors| errors.into_iter().map(|e| (e.pointer, e.detail)).collect())
}

#[test]
fn the_documented_job_is_read_to_the_letter() {
    let document = json!({
        "project": "shop", "scenario": "home page",
        "target": {"url": "http://127.0.0.1:8088/index.html", "stub_status": "http://127.0.0.1:8088/nginx_status"},
        "request": {"method": "GET", "headers": {"Accept": "*/*"}},
        "load": {"model": "closed", "connections": 10000, "requests": 200000, "keepalive": true,
                 "warmup": "2s", "timeout": "30s"},
        "trials": 1,
        "criteria": ["latency_p99_ms < 500", "goodput_rps > 15000", "error_ratio < 0.001"],
        "labels": {"branch": "main", "commit": "4f2c9e1"}
    });
    let spec = parse(&document).unwrap();
    assert_eq!(spec.load.connections, 10_000);
    assert_eq!(spec.load.requests, Some(200_000));
    assert_eq!(spec.load.duration, None);
    assert_eq!(spec.load.warmup.to_string(), "2s");
    assert_eq!(spec.labels["commit"], "4f2c9e1");
    let again = parse(&serde_json::to_value(&spec).unwrap()).unwrap();
    assert_eq!(again, spec, "what the API shows can be posted again");
    let stored: JobSpec = serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
    assert_eq!(stored, spec);
}

#[test]
fn a_target_alone_is_enough() {
    let spec = parse(&json!({"target": {"url": "http://localhost/"}})).unwrap();
    assert_eq!((spec.project.as_str(), spec.load.connections), ("default", 50));
    assert_eq!(spec.load.duration.unwrap().to_string(), "10s");
    assert_eq!(parse(&json!({"target": "shop"})).unwrap().target.url, "http://shop.internal/");
}

#[test]
fn every_wrong_field_is_named_at_once() {
    let errors = parse(&json!({
        "projekt": "x",
        "scenario": "",
        "target": {"url": "ftp://x/", "stub_status": 5, "port": 1},
        "request": {"method": "GE T", "headers": {"Content-Length": "5", "X~/y": "a\nb"}, "expect_status": ["200", "6xx"], "body": 1},
        "load": {"model": "half-open", "connections": 0, "requests": -1, "duration": "soon", "keepalive": "yes",
                 "warmup": 2, "timeout": "0s", "threads": 1.5, "protocol": "h9"},
        "trials": 1000,
        "criteria": ["latency_p99 < 5", 7],
        "labels": {"branch": 7},
        "on_inconclusive": "perhaps"
    }))
    .unwrap_err();
    let pointers: Vec<&str> = errors.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for pointer in [
        "/projekt",
        "/scenario",
        "/target/url",
        "/target/stub_status",
        "/target/port",
        "/request/method",
        "/request/headers/Content-Length",
        "/request/headers/X~0~1y",
        "/request/expect_status/1",
        "/request/body",
        "/load/model",
        "/load/connections",
        "/load/requests",
        "/load/duration",
        "/load/keepalive",
        "/load/warmup",
        "/load/timeout",
        "/load/threads",
        "/load/protocol",
        "/trials",
        "/criteria/0",
        "/criteria/1",
        "/labels/branch",
        "/on_inconclusive",
    ] {
        assert!(pointers.contains(&pointer), "{pointer} is missing in {errors:#?}");
    }
    assert!(errors.iter().any(|(_, detail)| detail.contains("did you mean \"project\"")));
}

#[test]
fn targets_that_are_none_are_refused_where_they_stand() {
    for (document, pointer) in [
        (json!({}), "/target"),
        (json!({"target": null}), "/target"),
        (json!({"target": "nobody"}), "/target"),
        (json!({"target": 5}), "/target"),
        (json!({"target": {}}), "/target/url"),
        (json!({"target": {"url": ""}}), "/target/url"),
        (json!({"target": {"url": "not a url"}}), "/target/url"),
        (json!({"target": {"url": "http://"}}), "/target/url"),
        (json!({"target": {"url": "http://x:0/"}}), "/target/url"),
        (json!({"target": {"url": "http://x:99999/"}}), "/target/url"),
        (
            json!({"target": {"url": "http://x/", "stub_status": "https://x/s"}}),
            "/target/stub_status",
        ),
        (json!({"target": {"url": "http://x/", "name": "nobody"}}), "/target/name"),
        (json!([1]), ""),
        (json!("text"), ""),
    ] {
        let errors = parse(&document).unwrap_err();
        assert!(errors.iter().any(|(p, _)| p == pointer), "{document}: {errors:?}");
    }
}

#[test]
fn each_item_of_a_list_is_refused_once_where_it_stands() {
    let document = |statuses: Value, criteria: Value| json!({"target": {"url": "http://h/"}, "request": {"expect_status": statuses}, "criteria": criteria});
    let spec = parse(&document(json!([200, "3xx"]), json!([]))).unwrap();
    assert_eq!(spec.request.expect_status, ["200", "3xx"]);
    let errors = parse(&document(json!([2000, "x", 200.5]), json!([7, "rsp > 5"]))).unwrap_err();
    let pointers: Vec<&str> = errors.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/request/expect_status/0",
            "/request/expect_status/1",
            "/request/expect_status/2",
            "/criteria/0",
            "/criteria/1"
        ]
    );
    let errors = parse(&document(json!([]), json!([]))).unwrap_err();
    assert!(errors.len() == 1 && errors[0].1.starts_with("is empty"), "{errors:?}");
}

#[test]
fn refusals_say_what_is_wrong_and_what_would_be_right() {
    let with = |key: &str, value: Value| {
        let mut document = json!({"target": {"url": "http://h/"}});
        document[key] = value;
        document
    };
    for (document, part) in [
        (json!([]), "the document is a list"),
        (with("load", json!({"duration": "99999999999999999999s"})), "from 1ms to 86400s"),
        (with("load", json!({"duration": "-1s"})), "is negative"),
        (with("request", json!({"headers": {"Connection": "close"}})), "\"Connection\" is written"),
        (
            with("request", json!({"headers": {"Accept": "a", "accept": "b"}})),
            "same field as \"Accept\"",
        ),
        (with("target", json!("nosuch")), "write {\"url\": \"http://nosuch/\"}, or register it"),
        (with("target", json!("no such")), "give a URL under target.url"),
        (with("target", json!({"url": " "})), "is empty"),
    ] {
        let errors = parse(&document).unwrap_err();
        assert!(errors.len() == 1 && errors[0].1.contains(part), "{document}: {errors:?}");
    }
}

#[test]
fn the_lock_key_knows_loopback_by_every_name() {
    for (url, host) in [
        ("http://127.0.0.1:80/", "localhost"),
        ("http://127.9.9.9/", "localhost"),
        ("http://[::1]:9000/", "localhost"),
        ("http://LOCALHOST/", "localhost"),
        ("http://Shop.Example:81/", "shop.example"),
        ("http://10.0.0.1/", "10.0.0.1"),
    ] {
        let spec = parse(&json!({"target": {"url": url}})).unwrap();
        assert_eq!(spec.target_host(), host, "{url}");
    }
}

#[test]
fn streams_take_http2_and_http2_takes_kept_connections() {
    let load = |load: Value| {
        JobSpec::parse(&json!({"target": {"url": "http://h/"}, "load": load}), &|_| None)
    };
    let spec = load(json!({"protocol": "h2", "streams": 10, "connections": 3})).unwrap();
    assert_eq!((spec.load.protocol, spec.load.streams), (Protocol::H2, 10));
    assert_eq!(load(json!({})).unwrap().load.streams, 1);
    let at_a_rate = load(json!({"protocol": "h2", "streams": 10, "rate": 5})).unwrap().load;
    assert_eq!((at_a_rate.model, at_a_rate.rate), (LoadModel::Open, Some(5.0)));
    for (wrong, pointer) in [
        (json!({"streams": 2}), "/load/streams"),
        (json!({"protocol": "h2", "streams": 0}), "/load/streams"),
        (json!({"protocol": "h2", "streams": 1001}), "/load/streams"),
        (json!({"protocol": "h2", "streams": 11, "connections": 100_000}), "/load/streams"),
        (json!({"protocol": "h2", "keepalive": false}), "/load/keepalive"),
    ] {
        let errors = load(wrong).unwrap_err();
        assert_eq!(errors.iter().map(|error| &error.pointer).collect::<Vec<_>>(), [pointer]);
    }
}

#[test]
fn a_rate_makes_an_open_loop() {
    let load = |load: Value| {
        let document = json!({"target": {"url": "http://localhost/"}, "load": load});
        let spec = parse(&document)?;
        let again = parse(&serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(again, spec, "what the API shows can be posted again");
        Ok(spec.load)
    };
    for document in [json!({"rate": 0.5}), json!({"model": "open", "rate": 0.5})] {
        let open = load(document).unwrap();
        assert_eq!((open.model, open.rate), (LoadModel::Open, Some(0.5)));
        assert_eq!((open.arrivals, open.max_queued), (Some(Arrivals::Constant), None));
    }
    let open = load(json!({"rate": 1000, "arrivals": "poisson", "max_queued": 0})).unwrap();
    assert_eq!((open.arrivals, open.max_queued), (Some(Arrivals::Poisson), Some(0)));
    let closed = load(json!({})).unwrap();
    assert_eq!((closed.model, closed.rate, closed.arrivals), (LoadModel::Closed, None, None));

    let refused = |document: Value, pointer: &str, right: &str| {
        let errors: Vec<(String, String)> = load(document).unwrap_err();
        let [(at, detail)] = &errors[..] else { panic!("{errors:?}") };
        assert!(at == pointer && detail.contains(right), "{at}: {detail}");
    };
    for rate in [json!(0), json!(-1), json!(1e7), json!(1e-9), json!("1000"), json!(true)] {
        refused(json!({"rate": rate}), "/load/rate", "a number from 0.001 to 1000000");
    }
    refused(json!({"model": "open"}), "/load/rate", "requests per second");
    refused(json!({"model": "closed", "rate": 5}), "/load/rate", "\"open\"");
    refused(json!({"arrivals": "poisson"}), "/load/arrivals", "give load.rate");
    refused(json!({"max_queued": 5}), "/load/max_queued", "give load.rate");
    refused(json!({"rate": 5, "arrivals": "bursts"}), "/load/arrivals", "\"poisson\"");
    refused(json!({"rate": 5, "max_queued": -1}), "/load/max_queued", "from 0 to");
}
