//! Readers that go away and people who press Ctrl-C.

use crate::support::command::{benchd, command};
use crate::support::nginx;
use crate::support::service::{Service, send_signal};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

type Lines = std::iter::MapWhile<
    std::io::Lines<BufReader<ChildStderr>>,
    fn(std::io::Result<String>) -> Option<String>,
>;

/// A running command, its stdout and the lines of its stderr.
fn start(folder: &Path, args: &[&str]) -> (Child, ChildStdout, Lines) {
    let mut child =
        command(folder).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    (child, stdout, stderr.lines().map_while(Result::ok))
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (url, wrong) = (nginx.url("/"), "latency_p50_ms < 0.0001");
    for (args, code) in [
        (vec!["run", &url, "-n", "300"], 0),
        (vec!["run", &url, "-n", "300", "--format", "csv", "--criteria", wrong], 99),
        (vec!["ab", "-n", "300", &url], 0),
        (vec!["openapi"], 0),
        (vec!["run", "--help"], 0),
    ] {
        let (mut child, stdout, stderr) = start(folder.path(), &args);
        drop(stdout);
        let told: Vec<String> = stderr.collect();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}: {told:?}");
        assert!(!told.iter().any(|line| line.contains("panicked")), "{args:?}: {told:?}");
    }
    let (mut child, mut stdout, stderr) = start(folder.path(), &["run", &url, "-n", "300"]);
    drop(stderr);
    let mut report = String::new();
    stdout.read_to_string(&mut report).unwrap();
    assert_eq!((child.wait().unwrap().code(), report.contains("pass")), (Some(0), true));
}

#[test]
fn a_full_disk_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(folder.path()).arg("openapi").stdout(full).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.starts_with("benchd: cannot write to stdout"), "{told}");
}

#[test]
fn ctrl_c_in_the_queue_cancels_the_job() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let url = nginx.url("/");
    let (mut first, _stdout, mut said) =
        start(folder.path(), &["run", &url, "-c", "1", "-d", "60s"]);
    assert!(said.any(|line| line.contains(" rps")), "the host is taken");
    let (second, _stdout, mut waiting) = start(folder.path(), &["run", &url, "-n", "10"]);
    assert!(waiting.any(|line| line == "queued"));
    assert!(waiting.any(|line| line == "waiting: another job loads this host"));
    send_signal(&second, "INT");
    let rest: Vec<String> = waiting.collect();
    assert_eq!(second.wait_with_output().unwrap().status.code(), Some(130), "{rest:?}");
    assert!(rest.concat().contains("cancelled before it was started"), "{rest:?}");
    send_signal(&first, "TERM");
    assert_eq!(first.wait().unwrap().code(), Some(130));
}

#[test]
fn ctrl_c_cancels_the_job_at_the_service_wherever_it_is() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let (url, server) = (nginx.url("/"), format!("http://{}", service.address));
    let (running, _stdout, mut said) =
        start(folder.path(), &["run", &url, "-c", "1", "-d", "60s", "--server", &server]);
    assert!(said.any(|line| line.contains(" rps")), "the host is taken");
    let (queued, _stdout, mut waiting) =
        start(folder.path(), &["run", &url, "-n", "10", "--server", &server]);
    assert!(waiting.any(|line| line == "queued"));
    assert!(waiting.any(|line| line.starts_with("waiting: another job loads this host")));
    for child in [&queued, &running] {
        send_signal(child, "INT");
    }
    let (rest, said): (Vec<String>, Vec<String>) = (waiting.collect(), said.collect());
    assert_eq!(queued.wait_with_output().unwrap().status.code(), Some(130), "{rest:?}");
    assert_eq!(running.wait_with_output().unwrap().status.code(), Some(130), "{said:?}");
    assert!(!said.iter().any(|line| line == "queued"), "nothing is told twice: {said:?}");
    let jobs = service.get("/jobs").json();
    let states: Vec<_> = jobs["items"].as_array().unwrap().iter().map(|j| &j["state"]).collect();
    assert_eq!(states, [&json!("cancelled"), &json!("cancelled")]);
}

#[test]
fn a_terminal_that_is_closed_ends_a_run_that_keeps_what_it_measured() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let url = nginx.url("/");
    let args = ["run", &url, "-c", "1", "-d", "60s", "--format", "json"];
    let (mut child, mut stdout, mut said) = start(folder.path(), &args);
    assert!(said.any(|line| line.contains(" rps")));
    // The kernel and the shell both send one.
    send_signal(&child, "HUP");
    send_signal(&child, "HUP");
    let rest: Vec<String> = said.collect();
    let mut report = String::new();
    stdout.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(report.contains("\"ended\": \"interrupted\""), "{report}");
}

#[test]
fn the_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // A service that takes the request and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let (mut child, _stdout, _stderr) =
        start(folder.path(), &["run", "http://127.0.0.1:1/", "--server", &server]);
    let _open = listener.accept().unwrap();
    // Two of a kind may become one on their way.
    send_signal(&child, "INT");
    send_signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn ctrl_c_in_the_demo_shows_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut stdout, mut said) = start(folder.path(), &["demo"]);
    assert!(said.any(|line| line.contains(" rps")));
    send_signal(&child, "INT");
    let rest: Vec<String> = said.collect();
    let mut report = String::new();
    stdout.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}\n{report}");
    assert!(report.contains("Complete requests:") && report.contains("verdict   "), "{report}");
}

#[test]
fn a_log_filter_that_is_none_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        command(folder.path()).env("BENCHD_LOG", "info,x=loud").arg("openapi").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{told}");
    assert!(told.contains("BENCHD_LOG") && told.contains("TARGET=LEVEL"), "{told}");
}

#[test]
fn no_part_of_a_database_address_is_printed_that_may_be_a_password() {
    let folder = tempfile::tempdir().unwrap();
    for address in [
        "postgres://u:hunter2@127.0.0.1:1/d",
        "postgres://u@127.0.0.1:1/d?password=hunter2",
        "postgres://u@127.0.0.1:1/d?pass=hunter2",
        "postgres://u@127.0.0.1:1/d?sslpassword=hunter2",
        "mysql://u@h/d?pwd=hunter2",
        "host=127.0.0.1 password=hunter2",
    ] {
        let mut worker = command(folder.path());
        worker.env("BENCHD_LOG", "trace").args(["worker", "--database", address]);
        let output = worker.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    std::fs::write(
        folder.path().join("benchd.toml"),
        "database = \"postgres://u:hunter2@h/d\"\ntoken = \"hunter2\"\n",
    )
    .unwrap();
    let help = benchd(folder.path(), &["serve", "--help"]);
    assert!(help.code == 0 && !help.stdout.contains("hunter2"), "{}", help.stdout);
    std::fs::write(folder.path().join("benchd.toml"), "listen = \"x\"\ntoken = \"hunter2\n")
        .unwrap();
    let torn = benchd(folder.path(), &["serve"]);
    assert!(torn.stderr.contains("line 2") && !torn.stderr.contains("hunter2"), "{}", torn.stderr);
}
