//! `docs/ci/gate.sh`, and what it stands on: curl's own retries at the gate.

use super::repository;
use crate::support::command::Ended;
use crate::support::nginx;
use crate::support::service::Service;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn plain(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(folder);
    command
}

/// Runs the script for this job.
fn gate(folder: &Path, server: &str, job: &Value, variables: &[(&str, &str)]) -> Ended {
    std::fs::write(folder.join("job.json"), job.to_string()).unwrap();
    let mut command = plain("sh", folder);
    command.arg(repository("docs/ci/gate.sh")).arg("job.json");
    command.env("BENCHD_SERVER", server).envs(variables.iter().copied());
    command.output().expect("sh starts").into()
}

fn job(url: &str, criteria: &Value) -> Value {
    json!({"target": {"url": url}, "load": {"connections": 2, "requests": 300}, "criteria": criteria})
}

#[test]
fn the_script_exits_by_the_verdict() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let (server, url) = (format!("http://{}/", service.address), nginx.url("/"));
    let mut strict = job(&url, &json!(["latency_p99.99_ms < 5s"]));
    strict["on_inconclusive"] = json!("fail");
    // Only the worker can tell that this address is none of its host.
    let mut elsewhere = job(&url, &json!([]));
    elsewhere["load"]["source_addresses"] = json!(["192.0.2.9"]);
    for (job, code, told) in [
        (job(&url, &json!(["latency_p50_ms < 5s"])), 0, "\npass: "),
        (job(&url, &json!(["latency_p50_ms < 0.0001"])), 99, "fail: latency_p50_ms < 0.0001"),
        (
            job(&url, &json!(["latency_p99.99_ms < 5s"])),
            125,
            "inconclusive: latency_p99.99_ms < 5s",
        ),
        (strict, 125, "inconclusive: latency_p99.99_ms < 5s"),
        (job(&url, &json!(["rsp > 5"])), 2, "did you mean \\\"rps\\\"?"),
        (json!([]), 2, "invalid_"),
        (elsewhere, 2, "192.0.2.9"),
        (job("http://192.0.2.1/", &json!([])), 3, "target_refused"),
    ] {
        let ended = gate(folder.path(), &server, &job, &[]);
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, code, "{job}\n{text}");
        assert!(text.contains(told), "{told} is not in {text}");
    }
    for (server, told) in [("http://127.0.0.1:1", "cannot be reached"), (&*url, "answered 40")] {
        let ended = gate(folder.path(), server, &job(&url, &json!([])), &[]);
        assert!(ended.code == 2 && ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn the_script_measures_once_for_a_key_and_never_waits_for_ever() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let server = format!("http://{}", service.address);
    let document = job(&nginx.url("/"), &json!([]));
    let of = |key: &str| {
        let ended = gate(folder.path(), &server, &document, &[("BENCHD_KEY", key)]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout
    };
    assert_eq!(of("pipeline 7"), of("pipeline 7"));
    assert_ne!(of("pipeline 7"), of("pipeline 8"));
    // A new attempt of a pipeline measures anew; the same one does not.
    let attempt = |number: &str| {
        let run = [("GITHUB_RUN_ID", "77"), ("GITHUB_JOB", "load"), ("GITHUB_RUN_ATTEMPT", number)];
        gate(folder.path(), &server, &document, &run).stdout
    };
    assert_eq!(attempt("1"), attempt("1"));
    assert_ne!(attempt("1"), attempt("2"));

    let mut long = document.clone();
    long["load"] = json!({"connections": 1, "duration": "60s"});
    let late = gate(folder.path(), &server, &long, &[("BENCHD_GATE_WAIT", "1")]);
    assert!(late.code == 4 && late.stderr.contains("it goes on"), "{}", late.stderr);
    let path = late.stdout.trim().strip_prefix(&format!("job {server}")).unwrap().to_owned();
    assert_eq!(service.post(&format!("{path}/cancel"), &[], "").status / 100, 2);
}

#[test]
fn the_script_shows_its_token_to_the_service() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("token"), "friend\n").unwrap();
    let service = Service::start_with(folder.path(), &["--token-file", "token"]);
    let server = format!("http://{}", service.address);
    let document = job(&nginx.url("/"), &json!([]));
    let with = |token| gate(folder.path(), &server, &document, &[("BENCHD_TOKEN", token)]);
    let friend = with("friend");
    assert_eq!(friend.code, 0, "{}", friend.stderr);
    let foe = with("foe");
    assert!(foe.code == 2 && foe.stderr.contains("answered 401"), "{}", foe.stderr);
}

#[test]
fn one_curl_waits_for_the_verdict_as_the_gate_says() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let mut document = job(&nginx.url("/"), &json!([]));
    document["load"] = json!({"connections": 1, "duration": "4s"});
    let posted = service.post("/jobs", &[], &document.to_string()).json();
    let url = format!("http://{}/jobs/{}/gate", service.address, posted["id"].as_str().unwrap());
    let mut curl = plain("curl", folder.path());
    curl.args(["--no-progress-meter", "--fail-with-body", "--retry", "100"]);
    let ended: Ended = curl.args(["-o", "gate.json", &url]).output().unwrap().into();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    // Left to itself, curl doubles its wait each time; the gate says one second.
    let told = ended.stderr.lines().filter_map(|line| line.split_once("Will retry in "));
    let waits: Vec<f64> =
        told.map(|(_, told)| told.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(waits.len() >= 3 && waits.iter().all(|wait| *wait == 1.0), "{}", ended.stderr);
    // Of all the answers, only the last one is in the file.
    let kept = std::fs::read_to_string(folder.path().join("gate.json")).unwrap();
    let gate: Value = serde_json::from_str(&kept).unwrap_or_else(|why| panic!("{why}: {kept}"));
    assert_eq!((&gate["verdict"], &gate["job_id"]), (&json!("pass"), &posted["id"]));
}
