//! What was measured survives what happens to the process.

use crate::support::command::command;
use crate::support::service::Service;
use crate::support::{http, nginx};
use serde_json::{Value, json};
use std::process::Stdio;

fn start_long_job(service: &Service, url: &str) -> String {
    let document = json!({"target": {"url": url}, "load": {"connections": 5, "duration": "60s"}});
    let posted = service.post("/jobs", &[], &document.to_string()).json();
    let id = posted["id"].as_str().unwrap().to_owned();
    service.measured(&id, 2);
    id
}

fn assert_interrupted_with_its_part(service: &Service, id: &str) {
    let job = service.finished(id);
    assert_eq!(
        (&job["state"], &job["verdict"]),
        (&json!("interrupted"), &json!("invalid")),
        "{job:#}"
    );
    let result = service.get(&format!("/jobs/{id}/result")).json();
    assert!(result["duration_s"].as_f64().unwrap() >= 2.0, "{result:#}");
    assert!(result["counts"]["ok"].as_u64().unwrap() > 0);
    let rows = service.get(&format!("/jobs/{id}/timeline")).json();
    let sum: u64 = rows.as_array().unwrap().iter().map(|row| row["ok"].as_u64().unwrap()).sum();
    assert_eq!(sum, result["counts"]["ok"].as_u64().unwrap());
}

#[test]
fn a_killed_service_finds_its_job_interrupted_when_it_starts_again() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let id = start_long_job(&service, &nginx.url("/"));
    service.kill();
    let service = Service::start(folder.path());
    assert_interrupted_with_its_part(&service, &id);
    let next = service.run(
        &json!({"target": {"url": nginx.url("/")}, "load": {"connections": 1, "requests": 100}}),
    );
    assert_eq!(next["verdict"], "pass", "the host is free again: {next:#}");
}

#[test]
fn a_stopped_service_writes_its_part_before_it_goes() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let id = start_long_job(&service, &nginx.url("/"));
    assert_eq!(service.terminate(), Some(0));
    let service = Service::start_with(folder.path(), &["--workers", "0"]);
    assert_interrupted_with_its_part(&service, &id);
}

#[test]
fn a_service_whose_disk_was_full_for_a_while_goes_on_and_has_lost_nothing() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start_limited(folder.path());
    let document =
        json!({"target": {"url": nginx.url("/")}, "load": {"connections": 2, "duration": "4s"}});
    let posted = service.post("/jobs", &[], &document.to_string()).json();
    let id = posted["id"].as_str().unwrap();
    service.measured(id, 1);
    service.limit_files(Some(0));
    // The load goes on meanwhile; every answer says what to do, none is a 500.
    for _ in 0..3 {
        for answer in [
            service.post("/jobs", &[], &document.to_string()),
            http::send(&service.address, "GET", "/readyz", &[], ""),
        ] {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert_eq!(answer.json()["code"], "unavailable");
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
    }
    assert_eq!(service.get("/livez").status, 200);
    service.limit_files(None);
    assert_eq!(service.get("/readyz").status, 200);

    let job = service.finished(id);
    assert_eq!((&job["state"], &job["verdict"]), (&json!("completed"), &json!("pass")), "{job:#}");
    let result = service.get(&format!("/jobs/{id}/result")).json();
    let rows = service.get(&format!("/jobs/{id}/timeline")).json();
    let sum: u64 = rows.as_array().unwrap().iter().map(|row| row["ok"].as_u64().unwrap()).sum();
    assert_eq!(sum, result["counts"]["ok"].as_u64().unwrap());
}

#[test]
fn a_run_whose_database_is_removed_prints_its_report_and_says_that_it_is_not_stored() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let spool = folder.path().join("tmp");
    std::fs::create_dir(&spool).unwrap();
    let url = nginx.url("/");
    let mut run = command(folder.path());
    run.args(["run", &url, "-c", "2", "-d", "2s", "--database", "dd/x.db", "--format", "json"]);
    let child = run.env("TMPDIR", &spool).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    // Looking counts, too.
    let (before, mut looks) = (nginx::requests(&nginx), 1);
    while nginx::requests(&nginx) < before + looks + 100 {
        assert!(child.try_wait().unwrap().is_none(), "it runs until it was seen");
        looks += 1;
    }
    std::fs::remove_dir_all(folder.path().join("dd")).unwrap();
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(125), "{stderr}");
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert!(report.to_string().contains("\"ok\""), "{report:#}");
    let (_, path) = stderr.split_once("was not stored; its records are in ").unwrap();
    let spooled = std::fs::read_to_string(path.lines().next().unwrap()).unwrap();
    let spooled: Value = serde_json::from_str(&spooled).unwrap();
    assert_eq!(spooled["state"], "completed");
    assert!(!folder.path().join("dd").exists(), "nothing is made anew");
}
