//! What must not happen.

use crate::support::command::benchd;
use crate::support::http::send;
use crate::support::service::Service;
use serde_json::json;

#[test]
fn nobody_outside_reaches_a_service_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let ended = benchd(folder.path(), &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("--token-file"), "{}", ended.stderr);
}

#[test]
fn a_token_guards_every_route_but_health() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "correct-horse-battery\n").unwrap();
    let service = Service::start_with(folder.path(), &["--token-file", token.to_str().unwrap()]);
    for path in ["/jobs", "/metrics", "/grafana/results", "/openapi.json"] {
        let refused = service.get(path);
        assert_eq!(
            (refused.status, refused.header("www-authenticate").is_some()),
            (401, true),
            "{path}"
        );
        let right = send(
            &service.address,
            "GET",
            path,
            &[("Authorization", "Bearer correct-horse-battery")],
            "",
        );
        assert_eq!(right.status, 200, "{path}");
        let wrong = send(
            &service.address,
            "GET",
            path,
            &[("Authorization", "Bearer correct-horse-batterz")],
            "",
        );
        assert_eq!(wrong.status, 401, "{path}");
    }
    assert_eq!((service.get("/livez").status, service.get("/readyz").status), (200, 200));
}

#[test]
fn targets_outside_the_policy_are_refused_however_they_are_spelt() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    for url in [
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/",
        "http://[fe80::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0xa000001/",
        "http://167772161/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://[fd00:ec2::254]/",
    ] {
        let answer = service.post("/jobs", &[], &json!({"target": {"url": url}}).to_string());
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (403, &json!("target_refused")),
            "{url}: {answer:?}"
        );
    }
    let status =
        json!({"target": {"url": "http://127.0.0.1:1/", "stub_status": "http://10.0.0.1/s"}});
    assert_eq!(
        service.post("/jobs", &[], &status.to_string()).status,
        403,
        "the status page is a target, too"
    );
}

#[test]
fn secrets_are_neither_shown_nor_printed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let job = service.run(&json!({
        "target": {"url": "http://user:hunter2@127.0.0.1:1/?api_token=hunter2"},
        "request": {"headers": {"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2"}},
        "load": {"connections": 1, "requests": 1},
    }));
    let id = job["id"].as_str().unwrap();
    for path in ["", "/result", "/result?format=ab", "/result?format=markdown", "/events", "/gate"]
    {
        let answer = service.get(&format!("/jobs/{id}{path}"));
        assert!(!answer.body.contains("hunter2"), "{path}: {}", answer.body);
    }
    assert!(!service.get("/jobs").body.contains("hunter2"));
    let ended = benchd(
        folder.path(),
        &["run", "http://u:hunter2@127.0.0.1:1/", "-n", "1", "-H", "Cookie: hunter2"],
    );
    assert!(
        !ended.stdout.contains("hunter2") && !ended.stderr.contains("hunter2"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_web_page_elsewhere_cannot_drive_a_local_service() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let body = json!({"target": {"url": "http://127.0.0.1:1/"}}).to_string();
    let form = send(&service.address, "POST", "/jobs", &[("Content-Type", "text/plain")], &body);
    assert_eq!(form.status, 415);
    let rebound = send(&service.address, "GET", "/jobs", &[("Host", "evil.example")], "");
    assert_eq!(rebound.status, 421, "{rebound:?}");
}
