//! `benchd ab` beside the real ab on the same nginx: every count agrees.

use crate::support::command::benchd;
use crate::support::nginx;
use std::collections::BTreeMap;
use std::process::Command;

/// The labels whose values must agree; the rest are times.
const COUNTS: [&str; 12] = [
    "Server Software",
    "Server Hostname",
    "Server Port",
    "Document Path",
    "Document Length",
    "Concurrency Level",
    "Complete requests",
    "Failed requests",
    "Non-2xx responses",
    "Keep-Alive requests",
    "Total transferred",
    "HTML transferred",
];

fn counts(report: &str) -> BTreeMap<String, String> {
    let lines = report.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(label, _)| COUNTS.contains(label))
        .map(|(label, value)| (label.to_owned(), value.trim().to_owned()))
        .collect()
}

/// The labels of the report in order, from below the banner; whether the times
/// earn a warning is theirs to say.
fn labels(report: &str) -> Vec<&str> {
    let labels = report.lines().filter_map(|line| line.split_once(':')).map(|(label, _)| label);
    let labels = labels.skip_while(|label| *label != "Server Software");
    labels.filter(|label| !matches!(*label, "WARNING" | "ERROR")).collect()
}

#[test]
fn every_count_agrees_with_the_real_ab() {
    let nginx = nginx::start();
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body");
    std::fs::write(&body, "a=1&b=2").unwrap();
    let body = body.to_str().unwrap();
    for (options, path) in [
        (&["-n", "500", "-c", "10"][..], "/"),
        (&["-k", "-n", "500", "-c", "10"], "/"),
        (&["-k", "-n", "1000", "-c", "1"], "/"),
        (&["-n", "200", "-c", "5"], "/missing"),
        (&["-k", "-i", "-n", "200", "-c", "5"], "/"),
        (&["-l", "-n", "200", "-c", "5"], "/large"),
        (&["-n", "100", "-c", "4", "-p", body, "-T", "application/x-www-form-urlencoded"], "/"),
        (
            &["-n", "100", "-c", "4", "-H", "Accept-Encoding: gzip", "-C", "a=b", "-A", "u:p"],
            "/?q=1",
        ),
    ] {
        let url = nginx.url(path);
        let theirs = Command::new("ab").arg("-q").args(options).arg(&url).output();
        let theirs = theirs.unwrap_or_else(|_| {
            panic!("ab is needed for this test: apt-get install apache2-utils")
        });
        let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
        let mut line = vec!["ab", "-q"];
        line.extend(options);
        line.push(&url);
        let ours = benchd(folder.path(), &line);
        assert_eq!(ours.code, 0, "{options:?}: {}", ours.stderr);
        assert_eq!(counts(&ours.stdout), counts(&theirs), "{options:?}\n{}\n{theirs}", ours.stdout);
        assert!(counts(&theirs).len() >= 9, "{theirs}");
        assert_eq!(labels(&ours.stdout), labels(&theirs), "{options:?}");
    }
}
