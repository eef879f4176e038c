//! What one run leaves behind beside what it prints: files and a step summary.

use crate::support::command::{Ended, benchd, command};
use crate::support::nginx;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn one_measurement_is_written_in_every_form_asked_for() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (url, out) = (nginx.url("/"), tempfile::tempdir().unwrap());
    let out = out.path();
    std::fs::write(out.join("junit.xml"), "of an earlier run, and longer than that".repeat(1000))
        .unwrap();
    let at = |output: &str| output.replace('=', &format!("={}/", out.display()));
    let mut run = command(folder.path());
    run.args(["run", &url, "-n", "300", "--format", "json"]);
    for output in ["junit=junit.xml", "json=result.json", "openmetrics=metrics.txt", "hdr=h.txt"] {
        run.args(["--output", &at(output)]);
    }
    let ended: Ended = run.output().unwrap().into();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("result.json")).unwrap(), ended.json());
    let id = ended.json()["job_id"].as_str().unwrap().to_owned();
    assert!(read("junit.xml").contains(&id) && read("junit.xml").ends_with("</testsuites>\n"));
    assert!(read("h.txt").contains("Total count    =          300]"), "{}", read("h.txt"));
    let expected = ["h.txt", "junit.xml", "metrics.txt", "result.json"];
    assert_eq!(names(out), expected.map(str::to_owned).into(), "and no draft is left");
    // As any other program's files: what the mask leaves for others to read.
    let mode = |name: &str| {
        std::os::unix::fs::PermissionsExt::mode(&out.join(name).metadata().unwrap().permissions())
    };
    std::fs::write(out.join("usual"), "").unwrap();
    assert_eq!(mode("result.json"), mode("usual"));

    // By the variable, one a line; a pipe is no file to be replaced.
    let mut run = command(folder.path());
    run.args(["run", &url, "-n", "300", "-q"]);
    run.env("BENCHD_OUTPUT", at("csv=rows.csv\n") + "\n json=/dev/stderr\n");
    let ended: Ended = run.output().unwrap().into();
    assert!(ended.code == 0 && read("rows.csv").starts_with("time,"), "{}", ended.stderr);
    assert_eq!(serde_json::from_str::<Value>(&ended.stderr).unwrap()["counts"]["ok"], 300);
}

#[test]
fn a_run_that_measures_nothing_leaves_nothing_of_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("junit.xml");
    std::fs::write(&old, "<testsuites/>").unwrap();
    let ended = benchd(folder.path(), &["run", "http://192.0.2.1/", "--output", "junit=junit.xml"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        names(folder.path()).iter().all(|name| !name.contains("junit") && !name.contains("draft"))
    );
    assert!(!old.exists());
}

#[test]
fn outputs_that_cannot_be_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for (outputs, told) in [
        (vec!["junit"], "--output: \"junit\" names no file: write FORMAT=FILE"),
        (vec!["junit="], "names no file"),
        (vec!["xml=x.xml"], "--output: \"xml\" is no report format: one of json, ab, "),
        (vec!["junit=no/such/folder/x.xml"], "cannot write no/such/folder/x.xml: "),
        (vec!["junit=."], "cannot write .: "),
        (vec!["json=x", "junit=x"], "x is given twice"),
    ] {
        let mut run = command(folder.path());
        run.args(["run", "http://127.0.0.1:1/", "-n", "1"]);
        run.args(outputs.iter().flat_map(|output| ["--output", output]));
        let ended: Ended = run.output().unwrap().into();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(told), "{told} is not in {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
}

#[test]
fn the_summary_is_appended_where_the_step_has_one() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (url, summary) = (nginx.url("/"), folder.path().join("summary.md"));
    std::fs::write(&summary, "# Ours\nno line break").unwrap();
    let run = |args: &[&str], place: &Path| -> Ended {
        let mut run = command(folder.path());
        run.args(["run", &url, "-n", "300", "-q"]).args(args).env("GITHUB_STEP_SUMMARY", place);
        run.output().unwrap().into()
    };
    assert_eq!(run(&["--summary"], &summary).code, 0);
    assert_eq!(run(&["--summary", "--criteria", "latency_p50_ms < 0.0001"], &summary).code, 99);
    assert_eq!(run(&[], &summary).code, 0);
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("# Ours\nno line break\n### benchd: pass, "), "{text}");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings.len(), 3, "{text}");
    assert!(headings[2].starts_with("### benchd: **FAIL**, "), "{text}");

    // A summary is no verdict.
    let ended = run(&["--summary"], &folder.path().join("no/such/summary.md"));
    assert!(ended.code == 0 && ended.stdout.starts_with("PASS"), "{}", ended.stdout);
    assert!(ended.stderr.contains("cannot append to GITHUB_STEP_SUMMARY"), "{}", ended.stderr);
    let nowhere = run(&["--summary"], Path::new(""));
    assert_eq!((nowhere.code, &*nowhere.stderr), (0, ""));
}
