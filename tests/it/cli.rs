//! `benchd run` as a person or a pipeline calls it.

use crate::support::command::{benchd, command};
use crate::support::nginx;
use crate::support::service::{Service, send_signal};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[test]
fn exit_codes_say_what_the_verdict_is() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let url = nginx.url("/");
    let missing = nginx.url("/missing");
    for (args, code) in [
        (vec!["run", &url, "-n", "500"], 0),
        (vec!["run", &url, "-n", "500", "--criteria", "latency_p50_ms < 0.0001"], 99),
        (vec!["run", &missing, "-n", "500"], 99),
        (vec!["run", &url, "-n", "5", "--criteria", "latency_p99_ms < 500"], 125),
        (vec!["run", &url, "-n", "500", "--criteria", "latency_p99 < 500"], 2),
        (vec!["run", &url, "-c", "0"], 2),
        (vec!["run", "ftp://127.0.0.1/"], 2),
        (vec!["run", "http://no-such-host.invalid/"], 2),
        (vec!["run", "http://192.0.2.1/"], 3),
        (vec!["run", "http://169.254.169.254/latest/meta-data/"], 3),
        (vec!["run"], 2),
        (vec!["run", &url, "--format", "yaml"], 2),
        (vec!["run", &url, "--label", "x"], 2),
        (vec!["nonsense"], 2),
    ] {
        let ended = benchd(folder.path(), &args);
        assert_eq!(ended.code, code, "{args:?}\n{}\n{}", ended.stdout, ended.stderr);
        if matches!(code, 2 | 3) {
            assert!(!ended.stderr.is_empty() && ended.stdout.is_empty(), "{args:?}");
        }
    }
}

#[test]
fn refusals_name_the_flag_and_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let server = format!("http://{}", service.address);
    let url = "http://127.0.0.1:1/";
    for (args, part) in [
        (vec![url, "-c", "0"], "-c: 0 is not right here: it is a whole number from 1"),
        (vec![url, "-c", "-1"], "-c: -1 is not right here: it is a whole number from 1"),
        (vec![url, "-n", "99999999999999999999"], "-n: 1e+20 is not right here"),
        (vec![url, "-d", "soon"], "-d: \"soon\" is no duration"),
        (vec![url, "-d", "-1s"], "-d: \"-1s\" is negative"),
        (vec![url, "--criteria", "rsp > 5"], "did you mean \"rps\"?"),
        (vec![url, "--criteria", "foo<1"], "`benchd metrics` lists the known ones"),
        (
            vec![url, "-H", "Connection: close"],
            "-H: \"Connection\" is written by benchd itself: use --no-keepalive and --body-file",
        ),
        (vec!["nosuch"], "URL: \"nosuch\" is no registered target: write http://nosuch/, or"),
        (vec![""], "URL: is empty: give an http or https URL"),
    ] {
        for place in [vec![], vec!["--server", &server]] {
            let ended = benchd(folder.path(), &[vec!["run"], args.clone(), place].concat());
            assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
            assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
        }
    }
}

#[test]
fn refusals_name_the_variable_or_the_file_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let told = |toml: &str, job: &str, variable: (&str, &str)| {
        std::fs::write(folder.path().join("x.toml"), toml).unwrap();
        std::fs::write(folder.path().join("job.json"), job).unwrap();
        let mut command = command(folder.path());
        command.args(["run", "--config", "x.toml", "-f", "job.json"]).env(variable.0, variable.1);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let (job, none) = (r#"{"target": {"url": "http://127.0.0.1:1/"}}"#, ("BENCHD_QUIET", "yes"));
    for (toml, job, variable, part) in [
        ("", job, ("BENCHD_CONNECTIONS", "abc"), "BENCHD_CONNECTIONS: invalid value 'abc' for"),
        ("", job, ("BENCHD_CONNECTIONS", "0"), "BENCHD_CONNECTIONS (-c): 0 is not right here"),
        ("", job, ("BENCHD_FORMAT", "yaml"), "BENCHD_FORMAT (--format): "),
        ("", job, ("BENCHD_DRIVER", "epoll"), "none of auto, tokio and io_uring"),
        ("connections = \"x\"", job, none, "connections in x.toml: invalid value 'x' for"),
        ("[run]\nduration = \"x\"", job, none, "duration in x.toml (-d): \"x\" is no duration"),
        ("conections = 5", job, none, "x.toml: unknown key \"conections\"; did you mean"),
        ("", r#"{"target": "nosuch"}"#, none, "job.json: /target: \"nosuch\" is no registered"),
        ("", "[]", ("BENCHD_CONNECTIONS", ""), "the job document is no JSON object"),
    ] {
        let told = told(toml, job, variable);
        assert!(told.contains(part), "{toml} {job} {variable:?}: {told}");
    }
}

#[test]
fn the_metrics_are_listed_without_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let table = benchd(folder.path(), &["metrics"]);
    assert!(table.code == 0 && table.stdout.starts_with("metric "), "{}", table.stdout);
    let list = benchd(folder.path(), &["metrics", "--format", "json"]).json();
    let names = list.as_array().unwrap().iter().map(|metric| metric["name"].as_str().unwrap());
    assert!(names.clone().any(|name| name == "rps"));
    assert!(names.into_iter().all(|name| table.stdout.contains(&format!("\n{name} "))));
}

#[test]
fn every_format_is_printed_without_colour_into_a_pipe() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (url, status) = (nginx.url("/"), nginx.stub_status_url());
    for (format, part) in [
        ("table", "pass"),
        ("json", "\"verdict\": \"pass\""),
        ("ab", "Requests per second:"),
        ("csv", "time,elapsed_s,"),
        ("markdown", "pass"),
        ("junit", "<testsuites "),
        ("openmetrics", "# EOF"),
        ("load_performance", "http_req_waiting"),
        ("hdr", "1/(1-Percentile)"),
    ] {
        let ended = benchd(
            folder.path(),
            &["run", &url, "-n", "300", "--stub-status", &status, "--format", format],
        );
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains(part), "{format}: {}", ended.stdout);
        assert!(!ended.stdout.contains('\u{1b}') && !ended.stderr.contains('\u{1b}'), "{format}");
    }
}

#[test]
fn the_history_of_runs_is_what_a_service_on_the_same_file_shows() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let ended = benchd(
        folder.path(),
        &[
            "run",
            &nginx.url("/"),
            "-n",
            "200",
            "--project",
            "shop",
            "--label",
            "branch=main",
            "--format",
            "json",
        ],
    );
    let service = Service::start(folder.path());
    let jobs = service.get("/jobs?project=shop&label.branch=main").json();
    assert_eq!(jobs["items"].as_array().map(Vec::len), Some(1), "{jobs:#}");
    let kept =
        service.get(&format!("/jobs/{}/result", jobs["items"][0]["id"].as_str().unwrap())).json();
    let printed = ended.json();
    for field in ["job_id", "counts", "latency_ms", "rps", "verdict"] {
        assert_eq!(kept[field], printed[field], "{field}");
    }
}

#[test]
fn a_service_measures_for_the_command_line() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let server = format!("http://{}", service.address);
    let url = nginx.url("/");
    let ended =
        benchd(folder.path(), &["run", &url, "-n", "400", "--server", &server, "--format", "json"]);
    assert_eq!(
        (ended.code, &ended.json()["counts"]["ok"]),
        (0, &serde_json::json!(400)),
        "{}",
        ended.stderr
    );
    let refused = benchd(folder.path(), &["run", "http://192.0.2.1/", "--server", &server]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let wrong = benchd(folder.path(), &["run", &url, "-c", "0", "--server", &server]);
    assert!(wrong.code == 2 && wrong.stderr.contains("-c: 0 is not"), "{}", wrong.stderr);
    let late =
        benchd(folder.path(), &["run", &url, "-d", "30s", "--server", &server, "--wait", "100ms"]);
    assert_eq!(late.code, 4, "{}", late.stderr);
    let nginx_itself = benchd(folder.path(), &["run", &url, "--server", &url]);
    let told = nginx_itself.stderr;
    assert!(nginx_itself.code == 2 && told.contains("not look like a benchd service"), "{told}");
    let nobody = benchd(folder.path(), &["run", &url, "--server", "http://127.0.0.1:1"]);
    assert!(nobody.code == 2 && nobody.stderr.contains("cannot reach"), "{}", nobody.stderr);
}

#[test]
fn an_interrupted_run_reports_what_it_measured() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let mut child = command(folder.path())
        .args(["run", &nginx.url("/"), "-c", "5", "-d", "60s", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(progress.any(|line| line.contains(" rps")), "a second is reported");
    send_signal(&child, "INT");
    let rest: Vec<String> = progress.collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest:?}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["counts"]["ok"].as_u64().unwrap() > 0);
    assert_eq!((&result["ended"], &result["verdict"]), (&"interrupted".into(), &"invalid".into()));
}

#[test]
fn variables_and_the_settings_file_stand_behind_the_flags() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    std::fs::write(
        folder.path().join("benchd.toml"),
        "format = \"json\"\n[run]\nconnections = 3\nrequests = 30\n",
    )
    .unwrap();
    let connections = |args: &[&str], variable: Option<&str>| {
        let mut command = command(folder.path());
        command.args(["run", &nginx.url("/")]).args(args);
        if let Some(value) = variable {
            command.env("BENCHD_CONNECTIONS", value);
        }
        let output = command.output().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&output.stderr)));
        result["load"]["connections"].as_u64().unwrap()
    };
    assert_eq!(connections(&[], None), 3);
    assert_eq!(connections(&[], Some("4")), 4);
    assert_eq!(connections(&["-c", "5"], Some("4")), 5);
}
