use crate::app::TestApp;
use crate::samples::{job, job_with};
use http::StatusCode;
use serde_json::json;

const KEY: &str = "idempotency-key";

#[tokio::test]
async fn a_repeated_key_gives_the_job_it_made() {
    let app = TestApp::new().await;
    let first = app.post_with(&job(), &[(KEY, "ci-17")]).await;
    assert_eq!(first.status, StatusCode::ACCEPTED);
    assert_eq!(first.header("idempotent-replayed"), "");
    let id = first.json()["id"].clone();
    for spelling in ["ci-17", "\"ci-17\""] {
        let again = app.post_with(&job(), &[(KEY, spelling)]).await;
        assert_eq!(again.status, StatusCode::OK);
        assert_eq!(again.json()["id"], id);
        assert_eq!(again.header("location"), first.header("location"));
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    assert_eq!(app.get("/jobs").await.json()["items"].as_array().unwrap().len(), 1);
    assert_ne!(app.post_with(&job(), &[(KEY, "ci-18")]).await.json()["id"], id);
}

#[tokio::test]
async fn another_job_under_the_same_key_is_a_mistake() {
    let app = TestApp::new().await;
    app.post_with(&job(), &[(KEY, "k")]).await.json();
    let other = job_with(json!({"trials": 2}));
    app.post_with(&other, &[(KEY, "k")]).await.problem(422, "idempotency_mismatch");
}

#[tokio::test]
async fn the_same_job_written_otherwise_is_the_same() {
    let app = TestApp::new().await;
    let first = app.post_with(&job(), &[(KEY, "k")]).await.json();
    let explicit = job_with(json!({"trials": 1, "criteria": [], "on_inconclusive": "warn"}));
    let again = app.post_with(&explicit, &[(KEY, "k")]).await;
    assert_eq!((again.status, again.json()["id"].clone()), (StatusCode::OK, first["id"].clone()));
}

#[tokio::test]
async fn a_key_that_cannot_be_one_is_refused() {
    let app = TestApp::new().await;
    let long = "x".repeat(256);
    for key in ["", "\"\"", "  ", &long, "caf\u{e9}"] {
        app.post_with(&job(), &[(KEY, key)]).await.problem(400, "invalid_header");
    }
    app.post_with(&job(), &[(KEY, "a"), (KEY, "b")]).await.problem(400, "invalid_header");
    let longest = "x".repeat(255);
    assert!(app.post_with(&job(), &[(KEY, &longest)]).await.status.is_success());
    assert!(
        app.post_with(&job(), &[(KEY, &format!("\"{}\"", "y".repeat(255)))])
            .await
            .status
            .is_success()
    );
}
