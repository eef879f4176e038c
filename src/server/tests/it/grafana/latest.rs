use crate::app::TestApp;
use crate::samples::{job, job_with};
use serde_json::json;

#[tokio::test]
async fn one_number_of_the_newest_run_of_every_scenario() {
    let app = TestApp::new().await;
    assert!(app.get("/grafana/latest?metric=rps").await.rows().is_empty());
    for (scenario, seconds, end) in [("home page", 2, 5), ("home page", 3, 9), ("cart", 1, 7)] {
        let id = app.queue(&job_with(json!({"scenario": scenario}))).await;
        app.complete(id, seconds, end).await;
    }
    let rows = app.get("/grafana/latest?metric=latency_max_ms").await.rows();
    let row = |scenario: &str, value: f64| json!({"project": "shop", "scenario": scenario, "branch": "main", "value": value});
    assert_eq!(rows, [row("cart", 0.1), row("home page", 0.3)]);
    for (metric, value) in [
        ("rps", json!(10.0)),
        ("nginx_requests", json!(30.0)),
        ("ttfb_p50_ms", json!(0.2)),
        ("latency_p99.9_ms", json!(0.3)),
        ("tls_p50_ms", json!(null)),
    ] {
        let rows = app.get(&format!("/grafana/latest?metric={metric}&project=shop")).await.rows();
        assert_eq!(rows[1]["value"], value, "{metric}");
    }
    assert!(app.get("/grafana/latest?metric=rps&project=blog").await.rows().is_empty());
}

#[tokio::test]
async fn a_metric_is_required_and_must_be_known() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 1, 5).await;
    for query in ["", "?metric=", "?metric=latncy_p99_ms", "?metric=summary"] {
        let answer = app.get(&format!("/grafana/latest{query}")).await;
        assert_eq!(answer.pointers(400, "invalid_query"), ["/query/metric"], "{query}");
    }
    let hint = app.get("/grafana/latest?metric=latncy_p99_ms").await.text();
    assert!(hint.contains("did you mean latency_p99_ms?"), "{hint}");
}
