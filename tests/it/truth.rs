//! Our counts against nginx's own, which nobody can talk round.

use crate::limits::is_the_generator;
use crate::support::command::benchd;
use crate::support::nginx;
use benchd_tuning::{ManagedNginx, NginxOptions};
use serde_json::Value;

/// Runs `benchd run` and compares with what nginx counted meanwhile.
fn exact_run(nginx: &ManagedNginx, args: &[&str]) -> Value {
    exact_run_of(nginx, &nginx.url("/"), args)
}

pub(crate) fn exact_run_of(nginx: &ManagedNginx, url: &str, args: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let before = nginx::requests(nginx);
    let status = nginx.stub_status_url();
    let mut line = vec!["run", url, "--stub-status", &status, "--format", "json", "-q"];
    line.extend(args);
    let ended = benchd(folder.path(), &line);
    let result = ended.json();
    // Reading the page the second time counts itself.
    let seen = nginx::requests(nginx) - before - 1;
    let polls = result["server"]["stub_status"]["polls"].as_u64().unwrap();
    let counts = &result["counts"];
    assert_eq!(counts["ok"], seen - polls, "{args:?}: {}", ended.stdout);
    assert_eq!(result["server"]["stub_status"]["requests"], counts["ok"], "{args:?}");
    assert_eq!(result["validity"]["reconciled"], true, "{args:?}");
    assert_eq!(counts["issued"], counts["ok"], "{args:?}: {}", ended.stdout);
    // That others keep the generator off the processors is told, and no matter here.
    assert!(result["verdict"] == "pass" || is_the_generator(&result), "{args:?}: {result:#}");
    result
}

#[test]
fn every_count_equals_nginx_for_threads_and_connections() {
    let nginx = nginx::start();
    for threads in ["1", "2", "3"] {
        for connections in ["1", "7", "100"] {
            for keepalive in [&[][..], &["--no-keepalive"]] {
                let mut args = vec!["--threads", threads, "-c", connections, "-n", "5000"];
                args.extend(keepalive);
                let result = exact_run(&nginx, &args);
                assert_eq!(result["counts"]["ok"], 5000);
                let opened = result["connections"]["opened"].as_u64().unwrap();
                let wanted = if keepalive.is_empty() { connections.parse().unwrap() } else { 5000 };
                // nginx closes a kept connection after keepalive_requests; the default here is far off.
                assert_eq!(opened, wanted, "{args:?}");
            }
        }
    }
}

#[test]
fn a_run_by_time_counts_exactly_what_nginx_counts() {
    let nginx = nginx::start();
    for keepalive in [&[][..], &["--no-keepalive"]] {
        let mut args = vec!["-c", "20", "-d", "1500ms", "--threads", "2"];
        args.extend(keepalive);
        let result = exact_run(&nginx, &args);
        let duration = result["duration_s"].as_f64().unwrap();
        assert!((1.5..2.5).contains(&duration), "{duration}");
    }
}

#[test]
fn every_count_equals_nginx_over_tls_and_http_1_0() {
    let folder = tempfile::tempdir().unwrap();
    let tls = nginx::self_signed(folder.path());
    let nginx = nginx::start_with(NginxOptions { tls: Some(tls), ..NginxOptions::default() });
    let secure = nginx.tls_url("/").unwrap();
    for (url, args) in [
        (&secure, &["--insecure", "-c", "20", "-n", "3000"][..]),
        (&secure, &["--insecure", "-c", "20", "-n", "500", "--no-keepalive"]),
        (&nginx.url("/"), &["-c", "20", "-n", "3000", "--protocol", "http10"]),
        (&nginx.url("/"), &["-c", "20", "-n", "3000", "--protocol", "http10", "--no-keepalive"]),
        (&nginx.url("/large"), &["-c", "5", "-n", "200"]),
        (&nginx.url("/"), &["-c", "5", "-n", "500", "-m", "HEAD"]),
    ] {
        let result = exact_run_of(&nginx, url, args);
        assert_eq!(result["server"]["tls"].is_string(), url == &secure, "{args:?}");
    }
    let untrusted =
        benchd(folder.path(), &["run", &secure, "-n", "4", "-c", "2", "--format", "json"]);
    let counts = &untrusted.json()["counts"];
    assert_eq!(
        (untrusted.code, &counts["tls"]),
        (99, &serde_json::json!(4)),
        "{}",
        untrusted.stdout
    );
}

#[test]
fn ten_thousand_connections_are_all_alive() {
    let nginx =
        nginx::start_with(NginxOptions { worker_connections: 16_384, ..NginxOptions::default() });
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("x.db");
    let args = ["-c", "10000", "-n", "50000", "--database", database.to_str().unwrap()];
    let result = exact_run(&nginx, &args);
    assert_eq!(result["load"]["connections_achieved"], 10_000);
    assert_eq!(result["counts"]["ok"], 50_000);
    assert_eq!(result["server"]["stub_status"]["dropped"], 0);
    let short = exact_run(&nginx, &["-c", "10000", "-n", "20000", "--no-keepalive"]);
    assert_eq!(short["counts"]["ok"], 20_000);
}

#[test]
fn the_rows_of_the_timeline_sum_up_to_the_result() {
    let nginx = nginx::start();
    let folder = tempfile::tempdir().unwrap();
    let (url, status) = (nginx.url("/"), nginx.stub_status_url());
    let database = folder.path().join("x.db");
    let service = crate::support::service::Service::start_with(
        folder.path(),
        &["--database", database.to_str().unwrap()],
    );
    let job = service.run(&serde_json::json!({
        "target": {"url": url, "stub_status": status},
        "load": {"connections": 10, "duration": "2500ms", "warmup": "300ms"},
    }));
    let id = job["id"].as_str().unwrap();
    let rows = service.get(&format!("/jobs/{id}/timeline")).json();
    let rows = rows.as_array().unwrap();
    let result = service.get(&format!("/jobs/{id}/result")).json();
    assert_eq!(rows.len(), 3, "{rows:#?}");
    for (column, total) in [
        ("issued", &result["counts"]["issued"]),
        ("ok", &result["counts"]["ok"]),
        ("received_bytes", &result["bytes"]["received"]),
    ] {
        let sum: u64 = rows.iter().map(|row| row[column].as_u64().unwrap()).sum();
        assert_eq!(sum, total.as_u64().unwrap(), "{column}");
    }
    let last = rows.last().unwrap()["elapsed_s"].as_f64().unwrap();
    assert!((last - result["duration_s"].as_f64().unwrap()).abs() < 1e-6);
    for row in rows {
        assert!(row["nginx_active"].as_u64().is_some_and(|active| active >= 10), "{row}");
        assert!(row["nginx_requests_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{row}");
    }
}
