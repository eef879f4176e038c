//! HTTP/2 against a real nginx.

use crate::support::command::benchd;
use crate::support::nginx;
use crate::truth::exact_run_of;
use benchd_tuning::NginxOptions;
use serde_json::json;

#[test]
fn every_stream_is_a_request_that_nginx_counts() {
    let folder = tempfile::tempdir().unwrap();
    let tls = nginx::self_signed(folder.path());
    let options = NginxOptions { http2: true, tls: Some(tls), ..NginxOptions::default() };
    let nginx = nginx::start_with(options);
    let (plain, secure) = (nginx.http2_url("/").unwrap(), nginx.tls_url("/").unwrap());
    for (url, args) in [
        (&plain, &["-c", "2", "-n", "100"][..]),
        (&plain, &["-c", "7", "-n", "5000", "--streams", "10", "--threads", "3"]),
        (&plain, &["-c", "3", "-d", "1200ms", "--streams", "100", "--warmup", "200ms"]),
        (&secure, &["--insecure", "-c", "5", "-n", "3000", "--streams", "10"]),
        (&nginx.http2_url("/large").unwrap(), &["-c", "2", "-n", "60", "--streams", "10"]),
        (&plain, &["-c", "2", "-n", "500", "--streams", "3", "-m", "HEAD"]),
    ] {
        let args = [args, &["--protocol", "h2"]].concat();
        let warm = args.contains(&"--warmup");
        let result = if warm {
            benchd(folder.path(), &run_line(url, &nginx.stub_status_url(), &args)).json()
        } else {
            exact_run_of(&nginx, url, &args)
        };
        assert_eq!(result["validity"]["reconciled"], true, "{args:?}: {result:#}");
        assert_eq!(result["load"]["protocol"], "h2");
        assert_eq!(result["load"]["driver"], "h2");
        assert_eq!(result["connections"]["opened"], result["load"]["connections"]);
        let streams = result["load"]["streams"].clone();
        assert_eq!(result["load"]["streams_achieved"], streams, "{args:?}");
    }
}

fn run_line<'a>(url: &'a str, status: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let line = ["run", url, "--stub-status", status, "--format", "json", "-q"];
    [&line, args].concat()
}

#[test]
fn connections_that_nginx_ends_by_goaway_are_replaced_without_a_failure() {
    let options = NginxOptions { http2: true, keepalive_requests: 20, ..NginxOptions::default() };
    let nginx = nginx::start_with(options);
    let url = nginx.http2_url("/").unwrap();
    let result = exact_run_of(&nginx, &url, &["-c", "2", "-n", "200", "--protocol", "h2"]);
    let opened = result["connections"]["opened"].as_u64().unwrap();
    assert!((10..=12).contains(&opened), "{opened}");
    // With several streams on their way, nginx leaves those behind its GOAWAY
    // unprocessed: they are failures that say so, and the counts still agree.
    let folder = tempfile::tempdir().unwrap();
    let args = ["-c", "2", "-n", "1000", "--streams", "7", "--protocol", "h2"];
    let ended = benchd(folder.path(), &run_line(&url, &nginx.stub_status_url(), &args));
    let result = ended.json();
    let (ok, reset) = (&result["counts"]["ok"], &result["counts"]["reset"]);
    assert_eq!(ok.as_u64().unwrap() + reset.as_u64().unwrap(), 1000, "{result:#}");
    assert_eq!(&result["server"]["stub_status"]["requests"], ok);
    assert_eq!(result["validity"]["reconciled"], true);
    let reasons = result["failure_reasons"].as_object().unwrap();
    assert!(reasons.keys().all(|reason| reason.contains("GOAWAY")), "{reasons:?}");
}

#[test]
fn nginx_s_own_limit_on_streams_is_obeyed_and_told() {
    let options = NginxOptions {
        http2: true,
        http_extra: "http2_max_concurrent_streams 4;".into(),
        ..NginxOptions::default()
    };
    let nginx = nginx::start_with(options);
    let url = nginx.http2_url("/").unwrap();
    let args = ["-c", "3", "-n", "2000", "--streams", "32", "--protocol", "h2"];
    let result = exact_run_of(&nginx, &url, &args);
    assert_eq!(
        (&result["load"]["streams"], &result["load"]["streams_achieved"]),
        (&json!(32), &json!(4))
    );
    let notes = result["notes"].to_string();
    assert!(notes.contains("at most 4 concurrent streams"), "{notes}");
}

#[test]
fn an_nginx_without_http2_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let tls = nginx::self_signed(folder.path());
    let nginx = nginx::start_with(NginxOptions { tls: Some(tls), ..NginxOptions::default() });
    let run = |url: &str, class: &str, words: &str| {
        let mut line = vec!["run", url, "-n", "4", "-c", "2", "--protocol", "h2"];
        line.extend(["--format", "json", "-q"]);
        line.extend(url.starts_with("https").then_some("--insecure"));
        let ended = benchd(folder.path(), &line);
        let result = ended.json();
        assert_eq!((ended.code, &result["counts"][class]), (99, &json!(4)), "{result:#}");
        let reasons = result["failure_reasons"].to_string();
        assert!(reasons.contains(words), "{reasons}");
    };
    run(&nginx.url("/"), "protocol", "listen … http2");
    run(&nginx.tls_url("/").unwrap(), "tls", "no_application_protocol");
}

#[test]
fn flags_that_http2_has_not_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["--streams", "4"][..], "--streams: takes --protocol \"h2\""),
        (&["--protocol", "h2", "--no-keepalive"], "--no-keepalive: HTTP/2 keeps its connections"),
        (&["--protocol", "h2", "--streams", "0"], "--streams: 0 is not right here"),
        (&["--protocol", "h2", "-H", "Connection: close"], "-H: \"Connection\""),
        (&["--protocol", "h3"], "--protocol: "),
    ] {
        let ended = benchd(folder.path(), &[&["run", "http://127.0.0.1:9/"], args].concat());
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    }
}
