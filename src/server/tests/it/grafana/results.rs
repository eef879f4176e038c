use crate::app::{TestApp, at};
use crate::samples::{job, job_with};
use serde_json::json;

#[tokio::test]
async fn one_row_a_run_ascending_with_every_key() {
    let app = TestApp::new().await;
    let first = app.queue(&job()).await;
    let result = app.complete(first, 3, 50).await;
    let second = app.queue(&job_with(json!({"labels": {}, "trials": 2}))).await;
    app.complete(second, 2, 300).await;
    let unfinished = app.queue(&job()).await;
    let rows = app.get("/grafana/results").await.rows();
    assert_eq!(rows.len(), 2, "{unfinished} has no row");
    assert_eq!(
        rows[0],
        json!({
            "time": at(50).to_string(), "run_id": first.to_string(), "project": "shop",
            "scenario": "home page", "branch": "main", "commit": "4f2c9e1aa", "verdict": "pass",
            "rps": 10.0, "goodput_rps": 10.0, "latency_p50_ms": 0.2, "latency_p90_ms": 0.3,
            "latency_p99_ms": 0.3, "latency_max_ms": 0.3, "error_ratio": 0.0, "duration_s": 3.0,
            "connections": 2, "rate": null, "protocol": "http1", "nginx_requests": 30, "nginx_dropped": 0, "noise_cv": null,
            "environment": result.environment.fingerprint
        })
    );
    assert_eq!(rows[1]["run_id"], second.to_string());
    assert_eq!(rows[1]["noise_cv"], 0.0);
    assert!(rows[1]["branch"].is_null());
}

#[tokio::test]
async fn rows_are_filtered_and_the_newest_are_kept() {
    let app = TestApp::new().await;
    let mut ids = Vec::new();
    for (end, project, branch) in [(10, "shop", "main"), (20, "shop", "dev"), (30, "blog", "main")]
    {
        let document = job_with(json!({"project": project, "labels": {"branch": branch}}));
        let id = app.queue(&document).await;
        app.complete(id, 1, end).await;
        ids.push(id.to_string());
    }
    for (query, expected) in [
        ("project=shop".to_owned(), vec![0, 1]),
        ("branch=main".to_owned(), vec![0, 2]),
        ("project=shop&branch=dev".to_owned(), vec![1]),
        ("scenario=home%20page".to_owned(), vec![0, 1, 2]),
        ("scenario=".to_owned(), vec![0, 1, 2]),
        ("project=none".to_owned(), vec![]),
        (format!("from={}", at(20)), vec![1, 2]),
        (format!("to={}", at(20).as_millis()), vec![0]),
        ("limit=2".to_owned(), vec![1, 2]),
    ] {
        let rows = app.get(&format!("/grafana/results?{query}")).await.rows();
        let found: Vec<&str> = rows.iter().map(|row| row["run_id"].as_str().unwrap()).collect();
        let expected: Vec<&str> =
            expected.into_iter().map(|index: usize| ids[index].as_str()).collect();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let app = TestApp::new().await;
    for route in ["results", "annotations", "changes"] {
        for (query, pointer) in [
            ("limit=0", "/query/limit"),
            ("limit=10001", "/query/limit"),
            ("limit=x", "/query/limit"),
            ("from=x", "/query/from"),
            ("to=x", "/query/to"),
            ("from=1&from=2", "/query/from"),
            ("projects=x", "/query/projects"),
            ("project=%00", "/query/project"),
            ("label.branch=x", "/query/label.branch"),
            ("to=99999999999999999999", "/query/to"),
        ] {
            let answer = app.get(&format!("/grafana/{route}?{query}")).await;
            assert_eq!(answer.pointers(400, "invalid_query"), [pointer], "{route} {query}");
        }
    }
}
