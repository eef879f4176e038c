use crate::app::TestApp;
use serde_json::json;

#[tokio::test]
async fn a_living_service_with_its_database_is_ready() {
    let app = TestApp::new().await;
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(app.get(path).await.json(), json!({"status": "ok"}), "{path}");
    }
}

#[tokio::test]
async fn without_its_database_it_lives_but_is_not_ready() {
    let app = TestApp::new().await;
    app.store.close().await;
    assert!(app.get("/livez").await.status.is_success());
    for path in ["/readyz", "/healthz"] {
        app.get(path).await.problem(503, "unavailable");
    }
    assert!(app.get("/jobs").await.status.is_server_error());
    assert!(!app.get("/jobs").await.text().contains("sqlx"));
}

#[tokio::test]
async fn without_its_database_file_it_is_not_ready_and_takes_no_jobs() {
    let app = TestApp::new().await;
    let document = json!({"target": {"url": "http://127.0.0.1:9/"}});
    app.queue(&document).await;
    assert!(app.get("/readyz").await.status.is_success());
    let path = app.store.describe().replace("sqlite:", "");
    std::fs::remove_file(&path).unwrap();
    for answer in [app.get("/readyz").await, app.get("/healthz").await, app.post(&document).await] {
        let problem = answer.problem(503, "unavailable");
        assert_eq!(answer.header("retry-after"), "1");
        assert!(!problem.to_string().contains(&path), "{problem}");
    }
    assert!(app.get("/livez").await.status.is_success());
}
