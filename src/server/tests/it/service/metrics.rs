use crate::app::TestApp;
use crate::samples::{job, job_with};
use serde_json::json;

#[tokio::test]
async fn prometheus_reads_jobs_requests_and_the_latest_results() {
    let app = TestApp::new().await;
    for (seconds, end) in [(2, 5), (3, 9)] {
        let id = app.queue(&job_with(json!({"scenario": "say \"hi\\\""}))).await;
        app.complete(id, seconds, end).await;
    }
    app.queue(&job()).await;
    app.get("/jobs/no-job").await;
    app.get("/no/such/route").await;
    let answer = app.get("/metrics").await;
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let text = answer.text();
    let scenario = "project=\"shop\",scenario=\"say \\\"hi\\\\\\\"\"";
    for line in [
        "benchd_jobs{state=\"completed\"} 2",
        "benchd_jobs{state=\"queued\"} 1",
        "benchd_jobs{state=\"failed\"} 0",
        "benchd_http_requests_total{method=\"POST\",route=\"/jobs\",status=\"202\"} 3",
        "benchd_http_requests_total{method=\"GET\",route=\"/jobs/{id}\",status=\"404\"} 1",
        "benchd_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"} 1",
        &format!("benchd_latency_seconds{{{scenario},quantile=\"1\"}} 0.0003"),
        &format!("benchd_requests_per_second{{{scenario}}} 10.0"),
        &format!("benchd_error_ratio{{{scenario}}} 0.0"),
        &format!("benchd_run_completed_timestamp_seconds{{{scenario}}} 4000000009.0"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    for unbounded in ["commit", "branch", "4f2c9e1", "no-job"] {
        assert!(!text.contains(unbounded), "{unbounded}");
    }
}
