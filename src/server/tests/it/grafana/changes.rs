use crate::app::{TestApp, at};
use crate::samples::{job, job_with};
use benchd_model::assemble::{Evidence, assemble};
use benchd_model::environment::{Environment, HostSnapshot};
use benchd_model::{JobId, JobState, RunResult, Verdict};
use benchd_store::Finish;
use serde_json::{Value, json};

impl TestApp {
    /// A completed run at so many answers a second, on a host with so many processors.
    async fn ran(&self, given: Value, rps: f64, cores: u32, end: i64) -> (JobId, RunResult) {
        let lease = self.claim(self.queue(&job_with(given)).await).await;
        let mut result = assemble(&Evidence {
            job_id: lease.job,
            spec: &lease.spec,
            state: JobState::Completed,
            recordings: &[],
            host: HostSnapshot::default(),
            same_host: true,
            noise_floor_pct: None,
            baseline: None,
        });
        let host = HostSnapshot { cores, ..HostSnapshot::default() };
        result.environment = Environment::new(host, None, true);
        (result.rps, result.duration_s, result.verdict) = (rps, 1.0, Verdict::Pass);
        (result.counts.issued, result.counts.ok) = (1000, 1000);
        let state = JobState::Completed;
        let end = Finish { state, result: Some(&result), error: None, at: at(end) };
        self.store.finish(&lease, end).await.unwrap();
        (lease.job, result)
    }

    /// Runs of a level, one a second; the id of each.
    async fn level(&self, rps: f64, cores: u32, ends: std::ops::Range<i64>) -> Vec<JobId> {
        let mut ids = Vec::new();
        for end in ends {
            // A little noise, the same each time.
            let noisy = rps * (1.0 + 0.01 * ((end * 7919 % 13) as f64 / 6.0 - 1.0));
            ids.push(self.ran(json!({"scenario": "home page"}), noisy, cores, end).await.0);
        }
        ids
    }

    async fn changes_tagged(&self, query: &str) -> Vec<Value> {
        let mut rows = self.get(&format!("/grafana/annotations?{query}")).await.rows();
        rows.retain(|row| row["tags"].as_str().unwrap().contains("change"));
        rows
    }
}

#[tokio::test]
async fn a_step_is_a_row_and_an_annotation_at_its_first_run() {
    let app = TestApp::new().await;
    app.level(1000.0, 2, 0..15).await;
    let slow = app.level(700.0, 2, 15..30).await;
    let (_, result) = app.ran(json!({"scenario": "other"}), 5.0, 2, 40).await;
    let rows = app.get("/grafana/changes?project=shop&metric=rps").await.rows();
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let told = json!({
        "time": at(15).to_string(), "job_id": slow[0], "project": "shop", "scenario": "home page",
        "branch": "main", "commit": "4f2c9e1aa", "metric": "rps", "before": row["before"],
        "after": row["after"], "change_pct": row["change_pct"], "p_value": row["p_value"],
        "strength": "strong", "environment": result.environment.fingerprint
    });
    assert_eq!(*row, told);
    let change = row["change_pct"].as_f64().unwrap();
    assert!((change + 30.0).abs() < 1.0 && row["p_value"].as_f64().unwrap() < 0.001, "{row}");
    // Runs before the range are searched all the same.
    for (query, found) in [
        (format!("from={}", at(10)), 1),
        (format!("from={}", at(15)), 1),
        (format!("from={}", at(16)), 0),
        (format!("to={}", at(15)), 0),
        ("metric=latency_p99_ms".to_owned(), 0),
        ("scenario=other".to_owned(), 0),
        ("branch=dev".to_owned(), 0),
    ] {
        let rows = app.get(&format!("/grafana/changes?{query}")).await.rows();
        assert_eq!(rows.len(), found, "{query}");
    }

    let annotations = app.changes_tagged("project=shop").await;
    let [annotation] = &annotations[..] else { panic!("{annotations:?}") };
    assert_eq!(annotation["time"], at(15).to_string());
    assert_eq!(annotation["timeEnd"], annotation["time"]);
    assert_eq!(annotation["title"], "rps changed, home page");
    assert_eq!(annotation["tags"], "shop,home page,change,main");
    let text = annotation["text"].as_str().unwrap();
    assert!(text.contains("rps went from") && text.contains("paired comparison"), "{text}");
    assert!(app.changes_tagged(&format!("from={}", at(16))).await.is_empty());
}

#[tokio::test]
async fn a_quiet_series_has_no_change() {
    let app = TestApp::new().await;
    app.level(1000.0, 2, 0..40).await;
    assert!(app.get("/grafana/changes").await.rows().is_empty());
    assert!(app.changes_tagged("").await.is_empty());
    let trend = app.get("/history?project=shop&scenario=home%20page").await.json();
    assert_eq!(trend["change_points"], json!([]));
    assert!(trend["runs"][39]["value"].as_f64().unwrap() > 900.0, "{}", trend["runs"][39]);
}

#[tokio::test]
async fn a_new_environment_starts_the_history_anew_and_says_so() {
    let app = TestApp::new().await;
    app.level(1000.0, 2, 0..15).await;
    app.level(700.0, 4, 15..30).await;
    assert!(app.get("/grafana/changes").await.rows().is_empty());
    let annotations = app.changes_tagged("").await;
    let [annotation] = &annotations[..] else { panic!("{annotations:?}") };
    assert_eq!(annotation["tags"], "shop,home page,change,environment,main");
    assert_eq!(annotation["time"], at(15).to_string());
    assert!(annotation["text"].as_str().unwrap().contains("cores 4 and not 2"), "{annotation}");
    let trend = app.get("/history?project=shop&scenario=home%20page").await.json();
    assert_eq!(trend["environment_changes"], json!([15]));
}

#[tokio::test]
async fn another_load_starts_the_history_anew_and_says_so() {
    let app = TestApp::new().await;
    app.level(1000.0, 2, 0..15).await;
    for end in 15..30 {
        let load = json!({"connections": 7, "requests": 1000});
        app.ran(json!({"scenario": "home page", "load": load}), 700.0, 2, end).await;
    }
    assert!(app.get("/grafana/changes").await.rows().is_empty());
    let annotations = app.changes_tagged("").await;
    let [annotation] = &annotations[..] else { panic!("{annotations:?}") };
    assert_eq!(annotation["tags"], "shop,home page,change,load,main");
    assert_eq!(annotation["title"], "load changed, home page");
    assert_eq!(annotation["time"], at(15).to_string());
    assert!(annotation["text"].as_str().unwrap().contains("load.connections"), "{annotation}");
    let trend = app.get("/history?project=shop&scenario=home%20page").await.json();
    assert_eq!((&trend["load_changes"], &trend["environment_changes"]), (&json!([15]), &json!([])));
}

#[tokio::test]
async fn a_history_has_every_completed_run_with_its_changes() {
    let app = TestApp::new().await;
    app.level(1000.0, 2, 0..15).await;
    let slow = app.level(700.0, 2, 15..30).await;
    let lease = app.claim(app.queue(&job()).await).await;
    app.finish(&lease, JobState::Interrupted, 31).await;
    let trend = app.get("/history?project=shop&scenario=home%20page&metric=rps").await.json();
    assert_eq!(trend["runs"].as_array().unwrap().len(), 30);
    assert_eq!(trend["runs"][15]["job_id"], json!(slow[0]));
    assert_eq!(trend["change_points"][0]["index"], 15);
    assert_eq!((&trend["unit"], &trend["better"]), (&json!("1/s"), &json!("higher")));
    let newest = app.get("/history?project=shop&scenario=home%20page&limit=10").await.json();
    assert_eq!(newest["runs"].as_array().unwrap().len(), 10);
    let none = app.get("/history").await.json();
    assert_eq!((&none["project"], &none["runs"]), (&json!("default"), &json!([])));
    for (query, pointer) in [
        ("metric=rsp", "/query/metric"),
        ("metric=", "/query/metric"),
        ("limit=0", "/query/limit"),
        ("from=1", "/query/from"),
    ] {
        let answer = app.get(&format!("/history?{query}")).await;
        assert_eq!(answer.pointers(400, "invalid_query"), [pointer], "{query}");
    }
    let answer = app.get("/grafana/changes?metric=rsp").await;
    assert_eq!(answer.pointers(400, "invalid_query"), ["/query/metric"]);
}

#[tokio::test]
async fn a_generator_of_its_own_has_a_history_of_its_own() {
    let app = TestApp::new().await;
    let mut of_two = String::new();
    // Two generators in turns, the level of both falling half-way.
    for end in 0..30 {
        let rps = if end < 15 { 1000.0 } else { 700.0 } + (end * 7919 % 13) as f64;
        app.ran(json!({"scenario": "home page"}), rps * 3.0, 4, 2 * end).await;
        let (_, result) = app.ran(json!({"scenario": "home page"}), rps, 2, 2 * end + 1).await;
        of_two = result.environment.fingerprint;
    }
    let history = "/history?project=shop&scenario=home%20page";
    let mixed = app.get(history).await.json();
    assert_eq!(mixed["environment_changes"].as_array().unwrap().len(), 59);
    assert_eq!(mixed["change_points"], json!([]));
    let one = app.get(&format!("{history}&environment={of_two}")).await.json();
    assert_eq!(
        (one["runs"].as_array().unwrap().len(), &one["environment_changes"]),
        (30, &json!([]))
    );
    assert_eq!(one["change_points"][0]["index"], 15);
    let none = app.get(&format!("{history}&environment=0000000000000000")).await.json();
    assert_eq!(none["runs"], json!([]));
}
