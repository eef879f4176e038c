use crate::app::{TestApp, at, promptly, request};
use crate::samples::{job, job_with};
use axum::body::Body;
use benchd_model::JobState;
use benchd_model::policy::{RegisteredTarget, TargetPolicy};
use http::{Method, StatusCode};
use serde_json::{Value, json};

async fn post_raw(app: &TestApp, content_type: &str, body: impl Into<Body>) -> crate::app::Answer {
    app.send(request(Method::POST, "/jobs", &[("content-type", content_type)], body.into())).await
}

#[tokio::test]
async fn a_job_is_queued_and_says_where_it_is() {
    let app = TestApp::new().await;
    let answer = app.post(&job()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let shown = answer.json();
    let id = shown["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), format!("/jobs/{id}"));
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(shown["state"], "queued");
    assert_eq!(shown["queue_position"], 0);
    assert_eq!(shown["spec"]["load"]["duration"], "3s");
    for part in ["self", "result", "timeline", "events", "cancel", "gate", "ab", "markdown", "csv"]
    {
        assert!(
            shown["links"][part].as_str().unwrap().starts_with(&format!("/jobs/{id}")),
            "{part}"
        );
    }
    for key in ["phase", "progress", "verdict", "summary", "started_at", "finished_at"] {
        assert!(shown.as_object().unwrap().contains_key(key), "{key}");
    }
    assert_eq!(app.get(&format!("/jobs/{id}")).await.json()["spec"], shown["spec"]);
}

#[tokio::test]
async fn the_job_of_the_contract_is_taken_to_the_letter() {
    let app = TestApp::new().await;
    let document = json!({
        "project": "shop", "scenario": "home page",
        "target": {"url": "http://127.0.0.1:8088/index.html", "stub_status": "http://127.0.0.1:8088/nginx_status"},
        "request": {"method": "GET", "headers": {"Accept": "*/*"}},
        "load": {"model": "closed", "connections": 10000, "requests": 200000, "keepalive": true, "warmup": "2s", "timeout": "30s"},
        "trials": 1,
        "criteria": ["latency_p99_ms < 500", "goodput_rps > 15000", "error_ratio < 0.001"],
        "labels": {"branch": "main", "commit": "4f2c9e1"}
    });
    let shown = app.post(&document).await.json();
    for part in ["project", "scenario", "target", "labels", "trials"] {
        let stated = document[part].as_object();
        match stated {
            Some(fields) => fields.iter().for_each(|(k, v)| assert_eq!(&shown["spec"][part][k], v)),
            None => assert_eq!(shown["spec"][part], document[part], "{part}"),
        }
    }
}

#[tokio::test]
async fn every_invalid_field_is_named_at_once() {
    let app = TestApp::new().await;
    let document = json!({
        "project": 5,
        "target": {"url": "ftp://127.0.0.1/", "colour": "red"},
        "load": {"connections": 0, "duration": "soon", "model": "wide open"},
        "trials": 0,
        "criteria": ["latency_p99_ms < 5", "latncy_p99_ms < 5", "nonsense"],
        "labels": {"branch": 7},
        "extra": true
    });
    let mut pointers = app.post(&document).await.pointers(422, "invalid_job");
    pointers.sort();
    pointers.dedup();
    let expected = [
        "/criteria/1",
        "/criteria/2",
        "/extra",
        "/labels/branch",
        "/load/connections",
        "/load/duration",
        "/load/model",
        "/project",
        "/target/colour",
        "/target/url",
        "/trials",
    ];
    assert_eq!(pointers, expected);
}

#[tokio::test]
async fn each_kind_of_bad_job_points_at_its_field() {
    let app = TestApp::new().await;
    let url = |url: &str| json!({"target": {"url": url}});
    let bad: [(Value, &str); 16] = [
        (json!({"target": null}), "/target"),
        (json!({"target": "unregistered"}), "/target"),
        (url("not a url"), "/target/url"),
        (url("file:///etc/passwd"), "/target/url"),
        (url("http://"), "/target/url"),
        (url("http://no-such-host.invalid/"), "/target/url"),
        (json!({"load": {"connections": "many"}}), "/load/connections"),
        (json!({"load": {"connections": -1}}), "/load/connections"),
        (json!({"load": {"requests": 0}}), "/load/requests"),
        (json!({"load": {"timeout": 30}}), "/load/timeout"),
        (json!({"request": {"method": "GET /"}}), "/request/method"),
        (json!({"request": {"headers": {"X-A": "b\r\nX-C: d"}}}), "/request/headers/X-A"),
        (json!({"request": {"body_base64": "%%%"}}), "/request/body_base64"),
        (json!({"trials": 1.5}), "/trials"),
        (json!({"criteria": ["rps ~ 5"]}), "/criteria/0"),
        (json!({"labels": {"a": "b\u{0}c"}}), "/labels/a"),
    ];
    for (fields, pointer) in bad {
        let answer = app.post(&job_with(fields.clone())).await;
        let pointers = answer.pointers(422, "invalid_job");
        assert_eq!(pointers, [pointer], "{fields}");
    }
    for no_object in [json!([]), json!("job"), json!(null), json!(3)] {
        app.post(&no_object).await.problem(422, "invalid_job");
    }
    assert_eq!(app.get("/jobs").await.json()["items"], json!([]), "nothing was queued");
}

#[tokio::test]
async fn malformed_json_is_told_with_line_and_column() {
    let app = TestApp::new().await;
    for (body, place) in [
        ("{\"project\":\n  nope}", "line 2, column 4"),
        ("{", "line 1, column 1"),
        ("{\"a\":1} x", "line 1, column 9"),
        ("{\"a\":1e999}", "line 1, column"),
        ("\u{feff}{}", "line 1, column 1"),
        ("{\"trials\":1,\n\"trials\":2}", "line 2, column 8: the field \"trials\" is given twice"),
    ] {
        let problem = post_raw(&app, "application/json", body).await.problem(400, "malformed_json");
        assert!(problem["detail"].as_str().unwrap().starts_with(place), "{problem}");
    }
    let empty = post_raw(&app, "application/json", "").await.problem(400, "malformed_json");
    assert!(empty["detail"].as_str().unwrap().contains("empty"));
    post_raw(&app, "application/json", &b"{\"project\":\"\xff\"}"[..])
        .await
        .problem(400, "malformed_json");
    let deep = "[".repeat(100_000);
    post_raw(&app, "application/json", deep).await.problem(400, "malformed_json");
}

#[tokio::test]
async fn only_json_is_read() {
    let app = TestApp::new().await;
    for media in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
    {
        post_raw(&app, media, job().to_string()).await.problem(415, "unsupported_media_type");
    }
    let none = request(Method::POST, "/jobs", &[], Body::from(job().to_string()));
    app.send(none).await.problem(415, "unsupported_media_type");
    for media in
        ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.benchd+json"]
    {
        assert_eq!(
            post_raw(&app, media, job().to_string()).await.status,
            StatusCode::ACCEPTED,
            "{media}"
        );
    }
}

#[tokio::test]
async fn a_body_over_one_mebibyte_is_refused() {
    let app = TestApp::new().await;
    let large = job_with(json!({"scenario": "x".repeat(1024 * 1024)}));
    app.post(&large).await.problem(413, "body_too_large");
    let padded = format!("{}{}", job(), " ".repeat(1024 * 1024 - job().to_string().len()));
    assert_eq!(post_raw(&app, "application/json", padded).await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_target_that_is_not_allowed_is_refused_with_the_reason() {
    let app = TestApp::new().await;
    for (url, reason) in [
        ("http://93.184.216.34/", "benchd.toml"),
        ("http://10.0.0.7:8080/", "benchd.toml"),
        ("http://169.254.169.254/latest/meta-data/", "never"),
        ("http://[::ffff:169.254.169.254]/", "never"),
        ("http://0xa9fea9fe/", "never"),
        ("http://0.0.0.0/", "never"),
    ] {
        let answer = app.post(&job_with(json!({"target": {"url": url}}))).await;
        let problem = answer.problem(403, "target_refused");
        assert!(problem["detail"].as_str().unwrap().contains(reason), "{problem}");
    }
    let status = json!({"url": "http://127.0.0.1/", "stub_status": "http://10.1.1.1/status"});
    app.post(&job_with(json!({"target": status}))).await.problem(403, "target_refused");
    assert_eq!(app.get("/jobs").await.json()["items"], json!([]));
}

fn registered() -> TargetPolicy {
    TargetPolicy {
        targets: vec![RegisteredTarget {
            name: "shop".into(),
            url: "http://127.0.0.1:8099/page".into(),
            stub_status: Some("http://127.0.0.1:8099/status".into()),
            allowed_cidrs: Vec::new(),
            max_connections: Some(100),
            ..RegisteredTarget::default()
        }],
        ..TargetPolicy::default()
    }
}

#[tokio::test]
async fn sockets_and_given_addresses_are_put_to_the_policy() {
    let mut policy = registered();
    policy.targets.push(RegisteredTarget {
        name: "app".into(),
        url: "http://app/".into(),
        unix_socket: Some("/run/app.sock".into()),
        ..RegisteredTarget::default()
    });
    let app = TestApp::with(policy, None).await;
    for target in [
        json!("app"),
        json!({"url": "http://any/", "unix_socket": "/run/app.sock"}),
        json!({"url": "http://any/", "resolve": ["127.0.0.1", "::1"]}),
    ] {
        let answer = app.post(&job_with(json!({"target": target}))).await;
        assert_eq!(answer.status.as_u16(), 202, "{target}: {}", answer.text());
    }
    for target in [
        json!({"url": "http://127.0.0.1:8099/", "unix_socket": "/run/docker.sock"}),
        json!({"name": "app", "unix_socket": "/run/docker.sock"}),
        json!({"url": "http://127.0.0.1:8099/", "resolve": ["127.0.0.1", "93.184.216.34"]}),
        json!({"url": "http://127.0.0.1/", "resolve": ["169.254.169.254"]}),
    ] {
        let answer = app.post(&job_with(json!({"target": target}))).await;
        answer.problem(403, "target_refused");
    }
}

#[tokio::test]
async fn a_registered_target_is_known_by_name_and_has_its_limit() {
    let app = TestApp::with(registered(), None).await;
    let shown = app.post(&job_with(json!({"target": "shop"}))).await.json();
    assert_eq!(shown["spec"]["target"]["name"], "shop");
    assert_eq!(shown["spec"]["target"]["url"], "http://127.0.0.1:8099/page");
    assert_eq!(shown["spec"]["target"]["stub_status"], "http://127.0.0.1:8099/status");

    let heavy = json!({"connections": 101, "duration": "1s"});
    let by_name = job_with(json!({"target": "shop", "load": heavy}));
    let by_url = job_with(json!({"target": {"url": "http://127.0.0.1:8099/other"}, "load": heavy}));
    for document in [by_name, by_url] {
        assert_eq!(app.post(&document).await.pointers(422, "invalid_job"), ["/load/connections"]);
    }
}

#[tokio::test]
async fn secrets_are_kept_for_the_worker_and_shown_to_nobody() {
    let app = TestApp::new().await;
    let document = job_with(json!({
        "target": {"url": "http://user:hunter2@127.0.0.1/?access_token=hunter2"},
        "request": {"headers": {"Authorization": "Bearer hunter2", "Cookie": "sid=hunter2"}}
    }));
    let posted = app.post_with(&document, &[("idempotency-key", "k")]).await;
    assert!(!posted.text().contains("hunter2"), "{}", posted.text());
    let id = posted.json()["id"].as_str().unwrap().parse().unwrap();
    assert!(
        !app.post_with(&document, &[("idempotency-key", "k")]).await.text().contains("hunter2")
    );
    assert!(!app.get("/jobs").await.text().contains("hunter2"));
    let lease = app.claim(id).await;
    assert_eq!(lease.spec.request.headers["Authorization"], "Bearer hunter2");
    app.measure(&lease, 0, 2, at(0)).await;
    app.finish(&lease, JobState::Completed, 10).await;
    for rest in [
        "",
        "/result",
        "/result?format=ab",
        "/result?format=markdown",
        "/result?format=csv",
        "/timeline",
        "/gate",
    ] {
        let answer = app.get(&format!("/jobs/{id}{rest}")).await;
        assert!(answer.status.is_success(), "{rest}: {}", answer.text());
        assert!(!answer.text().contains("hunter2"), "{rest}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_wait_that_is_over_answers_with_the_job_as_it_is() {
    let app = TestApp::new().await;
    let answer = app.post_with(&job(), &[("prefer", "wait=0")]).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    assert_eq!(answer.header("preference-applied"), "wait=0");
}

#[tokio::test]
async fn a_job_that_ends_within_the_wait_is_answered_as_done() {
    let app = TestApp::new().await;
    let document = job();
    let wait = [("prefer", "respond-async, wait=600")];
    let (answer, ()) = tokio::join!(promptly(app.post_with(&document, &wait)), async {
        let mut changes = app.store.changes();
        loop {
            let queued = app.store.jobs(&Default::default(), None, 1).await.unwrap().items;
            if let Some(job) = queued.first() {
                app.complete(job.id, 2, 10).await;
                return;
            }
            changes.wait(std::time::Duration::from_secs(1)).await;
        }
    });
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("preference-applied"), "wait=50");
    assert_eq!(answer.json()["state"], "completed");
    assert_eq!(answer.json()["verdict"], "pass");
    assert!(answer.header("location").starts_with("/jobs/"));
}
