//! Baselines and the history, as a person or a pipeline uses them.

use crate::support::command::{Ended, benchd, command};
use crate::support::nginx;
use crate::support::service::Service;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A run against `url` with more arguments; its result.
fn run(folder: &Path, url: &str, more: &[&str]) -> (Ended, Value) {
    let args = [&["run", url, "-q", "-n", "2000", "-c", "4", "--format", "json"], more].concat();
    let ended = benchd(folder, &args);
    let result = ended.json();
    (ended, result)
}

#[test]
fn a_run_is_judged_by_a_baseline_once_one_is_set() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (url, folder) = (nginx.url("/"), folder.path());
    let held = ["--criteria", "rps within 99% of baseline"];

    let (ended, result) = run(folder, &url, &held);
    assert_eq!(ended.code, 125, "{}", ended.stderr);
    let reason = result["criteria"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("there is no baseline \"default\""), "{reason}");

    let (ended, first) = run(folder, &url, &[]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let job = first["job_id"].as_str().unwrap();
    let set = benchd(folder, &["baseline", "set", job, "--format", "json"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    let baseline = set.json();
    assert_eq!((&baseline["job_id"], &baseline["name"]), (&json!(job), &json!("default")));

    let both = ["--criteria", "latency_p50_ms within 1000% of baseline"];
    let (ended, result) = run(folder, &url, &[held, both].concat());
    assert_eq!(ended.code, 0, "{}", result["summary"]);
    let environment = &result["environment"]["fingerprint"];
    let used = json!({"name": "default", "job_id": job, "environment": environment});
    assert_eq!(result["baseline"], used);
    assert_eq!(result["criteria"][0]["baseline"], first["rps"]);

    // A few requests a second are fewer than a closed loop gets, by more than 1 %.
    let slow = ["--rate", "20", "-n", "10", "--criteria", "rps within 1% of baseline"];
    let args = [&["run", &url, "-q", "--format", "json"], &slow[..]].concat();
    let worse = benchd(folder, &args);
    let result = worse.json();
    assert_eq!(worse.code, 99, "{}", result["summary"]);
    let reason = result["criteria"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("% worse than the baseline's"), "{reason}");

    // Another limit of descriptors is another environment.
    let plain = command(folder);
    let mut elsewhere = Command::new("sh");
    elsewhere.args(["-c", "ulimit -S -n 500 && exec \"$0\" \"$@\""]).arg(plain.get_program());
    elsewhere.args(["run", &url, "-q", "-n", "200", "-c", "4", "--format", "json"]).args(held);
    elsewhere.env_clear().current_dir(folder);
    elsewhere.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let elsewhere = Ended::from(elsewhere.output().unwrap());
    let result = elsewhere.json();
    assert_eq!((elsewhere.code, &result["baseline"]), (125, &Value::Null), "{}", elsewhere.stderr);
    let reason = result["criteria"][0]["reason"].as_str().unwrap();
    let told = format!("only another one ({}) has", environment.as_str().unwrap());
    assert!(reason.contains(&told) && reason.contains("nofile_soft"), "{reason}");

    let list = benchd(folder, &["baseline", "list", "--project", "default"]);
    assert!(list.code == 0 && list.stdout.contains(job), "{}", list.stdout);
    let id = baseline["id"].as_str().unwrap();
    assert_eq!(benchd(folder, &["baseline", "remove", id]).code, 0);
    assert_eq!(benchd(folder, &["baseline", "list", "--format", "json"]).json(), json!([]));
    assert_eq!(run(folder, &url, &held).0.code, 125);
}

#[test]
fn what_cannot_become_a_baseline_is_refused_with_what_would_help() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    let service = Service::start(folder);
    let server = format!("http://{}", service.address);
    let (_, failed) = run(folder, &nginx.url("/"), &["--criteria", "rps < 1"]);
    let job = failed["job_id"].as_str().unwrap();
    let (unknown, nothing) = (benchd_model::JobId::new().to_string(), ["--name", "a b"]);
    for place in [&[][..], &["--server", &server]] {
        for (args, part) in [
            (&["set", job][..], "completed with the verdict fail"),
            (&["set", &unknown], "no job has the id"),
            (&["set", "latest"], "job ids are UUIDs"),
            (&["set", job, nothing[0], nothing[1]], "no name of a baseline"),
            (&["remove", &unknown], "no baseline has the id"),
        ] {
            let ended = benchd(folder, &[&["baseline"], args, place].concat());
            assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?} {}", ended.stderr);
            assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
        }
        let forced = benchd(folder, &[&["baseline", "set", job, "--force"], place].concat());
        assert!(forced.code == 0 && forced.stdout.contains(job), "{}", forced.stderr);
    }
    let listed = benchd(folder, &["baseline", "list", "--server", &server, "--format", "json"]);
    assert_eq!(listed.json()[0]["job_id"], job);
    let id = listed.json()[0]["id"].as_str().unwrap().to_owned();
    let removed = benchd(folder, &["baseline", "remove", &id, "--server", &server]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert_eq!(service.get("/baselines").json(), json!({"items": []}));
}

#[test]
fn a_service_makes_what_passes_with_the_label_the_baseline() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("benchd.toml"), "baseline_when = [\"branch=main\"]").unwrap();
    let service = Service::start(folder.path());
    let job = |branch: &str, criteria: Value| {
        json!({
            "target": {"url": nginx.url("/")}, "load": {"connections": 2, "requests": 500},
            "criteria": criteria, "labels": {"branch": branch}
        })
    };
    let main = service.run(&job("main", json!([])));
    assert_eq!(main["verdict"], "pass", "{main}");
    // The worker takes the next job when it is done with the first one.
    let held = service.run(&job("dev", json!(["rps within 99% of baseline"])));
    assert_eq!(held["verdict"], "pass", "{held}");
    let result = service.get(&format!("/jobs/{}/result", held["id"].as_str().unwrap())).json();
    assert_eq!(result["baseline"]["job_id"], main["id"]);
    let items = service.get("/baselines?name=default").json()["items"].clone();
    assert_eq!((items.as_array().unwrap().len(), &items[0]["job_id"]), (1, &main["id"]));

    let refused = benchd(folder.path(), &["worker", "--baseline-when", "main"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("KEY=VALUE"), "{}", refused.stderr);

    let server = format!("http://{}", service.address);
    let here = benchd(folder.path(), &["history", "--format", "json"]).json();
    let there = benchd(folder.path(), &["history", "--server", &server, "--format", "json"]).json();
    assert_eq!(here, there);
    assert_eq!(here["runs"].as_array().unwrap().len(), 2);
    let table = benchd(folder.path(), &["history", "--metric", "latency_p99_ms"]).stdout;
    assert!(table.starts_with("ended ") && table.contains("latency_p99_ms (ms)"), "{table}");
    assert_eq!(table.lines().count(), 3, "{table}");
    let unknown = benchd(folder.path(), &["history", "--metric", "rsp"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean \"rps\"?"));
}
