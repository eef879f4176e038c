//! What was measured survives what happens to the process.

use crate::support::nginx;
use crate::support::service::Service;
use serde_json::json;

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
