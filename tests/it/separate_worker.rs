//! Service and worker apart, with Postgres between them.

use crate::support::command::command;
use crate::support::nginx;
use crate::support::postgres::TestDatabase;
use crate::support::service::Service;
use serde_json::json;
use std::path::Path;
use std::process::{Child, Stdio};

struct Worker(Child);

impl Worker {
    fn start(folder: &Path, database: &str) -> Self {
        let mut command = command(folder);
        command.args(["worker", "--database", database]).stderr(Stdio::null());
        Self(command.spawn().expect("benchd starts"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _already_gone = self.0.wait();
    }
}

#[test]
fn a_worker_of_its_own_takes_jobs_and_its_death_is_noticed() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let database = TestDatabase::create();
    let args = ["--workers", "0", "--database", database.url()];
    let service = Service::start_with(folder.path(), &args);
    let worker = Worker::start(folder.path(), database.url());
    let document = json!({
        "target": {"url": nginx.url("/"), "stub_status": nginx.stub_status_url()},
        "load": {"connections": 10, "requests": 2000},
    });
    let job = service.run(&document);
    assert_eq!(job["verdict"], "pass", "{job:#}");
    let result = service.get(&format!("/jobs/{}/result", job["id"].as_str().unwrap())).json();
    assert_eq!(result["counts"]["ok"], 2000);

    let mut long = document.clone();
    long["load"] = json!({"connections": 5, "duration": "60s"});
    let id =
        service.post("/jobs", &[], &long.to_string()).json()["id"].as_str().unwrap().to_owned();
    service.measured(&id, 1);
    drop(worker);
    let _successor = Worker::start(folder.path(), database.url());
    let job = service.finished(&id);
    assert_eq!(job["state"], "interrupted", "{job:#}");
    assert!(
        service.get(&format!("/jobs/{id}/result")).json()["counts"]["ok"].as_u64().unwrap() > 0
    );
}
