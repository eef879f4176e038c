use crate::app::{TestApp, at};
use crate::samples::job_with;
use serde_json::json;

#[tokio::test]
async fn a_run_is_a_region_with_its_verdict() {
    let app = TestApp::new().await;
    assert!(app.get("/grafana/annotations").await.rows().is_empty());
    let document = job_with(json!({"scenario": "a, b", "criteria": ["latency_max_ms < 0.1"]}));
    let id = app.queue(&document).await;
    let result = app.complete(id, 2, 50).await;
    let rows = app.get("/grafana/annotations?project=shop").await.rows();
    assert_eq!(
        rows,
        [json!({
            "time": at(0).to_string(), "timeEnd": at(50).to_string(), "title": "fail a, b",
            "text": result.summary, "tags": "shop,a  b,fail,main"
        })]
    );
}
