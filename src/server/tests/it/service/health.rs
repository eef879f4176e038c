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
