//! Readers that go away and people who press Ctrl-C.

use crate::support::command::{benchd, command};
use crate::support::nginx;
use crate::support::service::{Service, send_signal};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Instant;

type Lines = std::iter::MapWhile<
    std::io::Lines<BufReader<ChildStderr>>,
    fn(std::io::Result<String>) -> Option<String>,
>;

/// A running command, its stdout and the lines of its stderr.
fn start(folder: &Path, args: &[&str]) -> (Child, ChildStdout, Lines) {
    spawn(command(folder).args(args))
}

fn spawn(command: &mut Command) -> (Child, ChildStdout, Lines) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
    let args = ["run", &nginx.url("/"), "-c", "1", "-d", "60s", "--format", "json"];
    let mut command = with_hangup(folder.path(), "default");
    let (mut child, mut stdout, mut said) = spawn(command.args(args));
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
fn a_run_under_nohup_outlives_its_terminal() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let args = ["run", &nginx.url("/"), "-c", "1", "-d", "2s"];
    let mut command = with_hangup(folder.path(), "ignore");
    let (mut child, _stdout, mut said) = spawn(command.args(args));
    assert!(said.any(|line| line.contains(" rps")));
    send_signal(&child, "HUP");
    let rest: Vec<String> = said.collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
}

/// `benchd` that begins with SIGHUP as `disposition` says, whatever the tests
/// themselves were started with.
fn with_hangup(folder: &Path, disposition: &str) -> Command {
    let benchd = command(folder);
    let mut command = Command::new("env");
    command.env_clear().envs(benchd.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .arg(format!("--{disposition}-signal=HUP"))
        .arg(benchd.get_program())
        .current_dir(folder);
    command
}

/// Runs with these arguments until it says `word`, sends the signal and returns
/// the result in full, which must be marked as interrupted.
fn interrupted(args: &[&str], driver: &str, word: &str, signal: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let mut command = command(folder.path());
    command.env("BENCHD_DRIVER", driver).arg("run").args(["-d", "60s", "--format", "json"]);
    let (mut child, mut stdout, mut said) = spawn(command.args(args));
    assert!(said.any(|line| line.contains(word)), "it did not say {word:?}: {args:?}");
    send_signal(&child, signal);
    let rest: Vec<String> = said.collect();
    let mut report = String::new();
    stdout.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    let result: Value = serde_json::from_str(&report).unwrap_or_else(|_| panic!("{report}"));
    assert_eq!(result["ended"], "interrupted", "{report}");
    assert!(result["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{report}");
    let lasted = result["duration_s"].as_f64().unwrap();
    assert!(lasted <= begun.elapsed().as_secs_f64(), "{lasted} s is longer than it was");
    result
}

#[test]
fn a_run_that_is_stopped_reports_all_that_it_measured_over_the_time_that_passed() {
    let nginx = nginx::start();
    for (driver, signal) in
        [("tokio", "INT"), ("tokio", "TERM"), ("io_uring", "INT"), ("io_uring", "TERM")]
    {
        let result =
            interrupted(&["-c", "4", &nginx.url("/"), "--warmup", "0s"], driver, " rps", signal);
        let (counts, of) = (&result["counts"], |class: &str| result["counts"][class].as_u64());
        let (issued, ok, aborted) =
            (of("issued").unwrap(), of("ok").unwrap(), of("aborted").unwrap());
        assert!(ok > 0 && aborted <= 4 && issued == ok + aborted, "{counts}");
        assert_eq!(result["latency_ms"]["count"], ok);
        let lasted = result["duration_s"].as_f64().unwrap();
        assert!(lasted >= 1.0, "a second was over, and it says {lasted}");
        assert!((result["rps"].as_f64().unwrap() * lasted / ok as f64 - 1.0).abs() < 1e-3);
    }
}

#[test]
fn a_run_against_a_server_that_hangs_is_stopped_in_every_phase() {
    // The kernel accepts, and nobody reads.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let timeout = ["--timeout", "60s"];
    for driver in ["tokio", "io_uring"] {
        let measuring = [&["-c", "4", &url, "--warmup", "0s"][..], &timeout].concat();
        let result = interrupted(&measuring, driver, " rps", "INT");
        assert_eq!(result["counts"]["aborted"], 4, "{}", result["counts"]);
        assert_eq!(result["counts"]["issued"], 4, "{}", result["counts"]);
        assert!(result["duration_s"].as_f64().unwrap() >= 1.0);
        assert_ne!(result["verdict"], "pass");

        let warming_up = [&["-c", "4", &url, "--warmup", "60s"][..], &timeout].concat();
        let result = interrupted(&warming_up, driver, "warming up", "TERM");
        assert_eq!((&result["counts"]["issued"], &result["duration_s"]), (&json!(0), &json!(0.0)));
        assert_ne!(result["verdict"], "pass");
    }
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
