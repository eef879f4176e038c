//! `benchd compare` on a real nginx, here and through a service.

use crate::support::command::{Ended, benchd};
use crate::support::nginx;
use crate::support::service::Service;
use benchd_tuning::{ManagedNginx, NginxOptions};
use serde_json::Value;
use std::path::Path;

/// An nginx whose `/paced` answers 100 requests a second, however many ask.
fn paced() -> ManagedNginx {
    nginx::start_with(NginxOptions {
        http_extra: "limit_req_zone $server_name zone=pace:1m rate=100r/s;".into(),
        server_extra:
            "location = /paced { limit_req zone=pace burst=100; try_files /index.html =404; }"
                .into(),
        ..NginxOptions::default()
    })
}

fn compare(folder: &Path, args: &[&str]) -> Ended {
    benchd(
        folder,
        &[&["compare", "--blocks", "6", "-c", "2", "-n", "40", "--warmup", "0s", "-q"], args]
            .concat(),
    )
}

#[test]
fn a_slower_candidate_is_a_regression_and_the_other_way_an_improvement() {
    let (nginx, folder) = (paced(), tempfile::tempdir().unwrap());
    let (fast, slow, page) = (nginx.url("/"), nginx.url("/paced"), nginx.stub_status_url());
    let pages = ["--stub-status", &page, "--baseline-stub-status", &page, "--format", "json"];
    let found = compare(folder.path(), &[&[fast.as_str(), &slow], &pages[..]].concat());
    assert_eq!(found.code, 99, "{}{}", found.stdout, found.stderr);
    let document = found.json();
    assert_eq!(
        (&document["decision"], &document["design"]),
        (&"regression".into(), &"paired".into())
    );
    assert_eq!((&document["n_pairs"], &document["pairs_worse"]), (&6.into(), &6.into()));
    assert!(document["effect_pct"].as_f64().unwrap() < -50.0, "{document}");
    assert_eq!(document["metric"], "rps");
    let found =
        compare(folder.path(), &[&slow, &fast, "--metric", "latency_mean_ms", "--format", "json"]);
    assert_eq!(
        (found.code, &found.json()["decision"]),
        (0, &"improvement".into()),
        "{}",
        found.stdout
    );
}

#[test]
fn a_service_measures_both_and_answers_other_questions_of_the_same_trials() {
    let (nginx, folder) = (paced(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let server = format!("http://{}", service.address);
    let (fast, slow) = (nginx.url("/"), nginx.url("/paced"));
    let found = compare(folder.path(), &[&fast, &slow, "--server", &server, "--format", "json"]);
    assert_eq!(found.code, 99, "{}{}", found.stdout, found.stderr);
    let job = found.json()["candidate"]["run_ids"][0].as_str().unwrap().to_owned();
    let ask = |path: &str| -> Value { service.get(path).json() };
    let other = ask(&format!("/comparisons/{job}?metric=latency_mean_ms&margin_pct=10"));
    assert_eq!(
        (&other["decision"], &other["metric"]),
        (&"regression".into(), &"latency_mean_ms".into())
    );
    let gate = service.get(&format!("/jobs/{job}/gate"));
    assert_eq!(gate.status, 409, "{}", gate.body);
    let result = ask(&format!("/jobs/{job}/result"));
    assert_eq!((&result["verdict"], &result["counts"]["issued"]), (&"fail".into(), &240.into()));
}

/// What comparing a target with itself shows stands beside later comparisons,
/// and a margin below it decides nothing.
#[test]
fn the_noise_floor_is_kept_and_no_margin_goes_below_it() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let url = nginx.url("/");
    let floor = compare(folder.path(), &["--self", &url, "--format", "json"]).json();
    let floor = floor["noise_floor_pct"].as_f64().expect("it is told");
    let found =
        compare(folder.path(), &[&nginx.url("/?a"), &url, "--margin", "0", "--format", "json"]);
    let document = found.json();
    assert_eq!(document["noise_floor_pct"].as_f64(), Some(floor), "{document}");
    assert_eq!((found.code, &document["decision"]), (125, &"inconclusive".into()), "{document}");
    assert!(document["reasons"][0].as_str().unwrap().contains("noise floor"), "{document}");
}

#[test]
fn finished_jobs_are_compared_by_what_is_stored() {
    let (nginx, folder) = (paced(), tempfile::tempdir().unwrap());
    let run = |path: &str| {
        let url = nginx.url(path);
        let args = ["run", &url, "-c", "2", "-n", "40", "--trials", "6", "-q", "--format", "json"];
        benchd(folder.path(), &args).json()["job_id"].as_str().unwrap().to_owned()
    };
    let (fast, slow) = (run("/"), run("/paced"));
    let found = benchd(folder.path(), &["compare", &fast, &slow, "--format", "json"]);
    let document = found.json();
    assert_eq!((found.code, &document["design"]), (99, &"historical".into()), "{document}");
    assert_eq!(
        (&document["advisory"], &document["decision"]),
        (&true.into(), &"regression".into())
    );
    let table = benchd(folder.path(), &["compare", &slow, &fast]);
    assert_eq!(table.code, 0, "{}", table.stdout);
    assert!(table.stdout.contains("improvement (advisory)"), "{}", table.stdout);
    // What an earlier comparison left is replaced, or at least gone.
    let kept = folder.path().join("kept");
    for (format, part) in [("json", "\"historical\""), ("markdown", "### benchd: **regression**")] {
        std::fs::write(&kept, "of yesterday").unwrap();
        let output = format!("{format}={}", kept.display());
        let ended = benchd(folder.path(), &["compare", &fast, &slow, "--output", &output]);
        assert_eq!(ended.code, 99, "{}", ended.stderr);
        assert!(std::fs::read_to_string(&kept).unwrap().contains(part), "{format}");
    }
    let output = format!("junit={}", kept.display());
    let refused = benchd(folder.path(), &["compare", &fast, &slow, "--output", &output]);
    assert_eq!((refused.code, kept.exists()), (2, false), "{}", refused.stderr);
    let alone = benchd(folder.path(), &["compare", &slow]);
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("there is no baseline"), "{}", alone.stderr);
    let set = benchd(folder.path(), &["baseline", "set", &fast]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    assert_eq!(benchd(folder.path(), &["compare", &slow]).code, 99);
    let itself = benchd(folder.path(), &["compare", &fast]);
    assert!(itself.stderr.contains("is the baseline itself"), "{}", itself.stderr);
}

#[test]
fn what_cannot_be_compared_is_refused_by_what_was_typed() {
    let folder = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:1/";
    let id = "01936f5c-8d40-7c3e-9a55-2f6b1d0e4a17";
    let other = "01936f5c-8d40-7c3e-9a55-2f6b1d0e4a18";
    for (args, code, words) in [
        (vec![url], 2, "CANDIDATE: is missing: give a second load, or --self"),
        (
            vec![url, url, "--metric", "rsp"],
            2,
            "--metric: unknown metric \"rsp\"; did you mean \"rps\"?",
        ),
        (vec![url, url, "--margin", "-1"], 2, "--margin: -1 is not right here"),
        (vec![url, url, "--blocks", "5"], 2, "--blocks: 5 is not right here"),
        (vec![url, url, "--metric", "issued"], 2, "--metric: \"issued\" describes"),
        (vec![url, "shop"], 2, "\"shop\" is no registered target"),
        (vec!["shop", url], 2, "BASELINE: \"shop\" is no registered target"),
        (vec![id, url], 2, "BASELINE: is a finished job beside a load"),
        (vec![url, id], 2, "BASELINE: is a load beside a finished job"),
        (vec![id, other], 2, "no job has the id"),
        (vec![id, other, "--blocks", "6"], 2, "--blocks: goes with loads"),
        (vec!["missing.json", url], 2, "cannot read missing.json"),
        (vec![url, "http://10.0.0.1/"], 3, "10.0.0.1"),
        (vec!["http://10.0.0.1/", url], 3, "10.0.0.1"),
        (vec![url, url, "--self"], 2, "cannot be used with"),
        (vec![], 2, "BASELINE"),
    ] {
        let ended = benchd(folder.path(), &[vec!["compare"], args.clone()].concat());
        assert_eq!(ended.code, code, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    }
}
