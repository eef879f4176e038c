use crate::app::{TestApp, at};
use crate::samples::job;
use benchd_model::{JobId, JobState};
use http::{Method, StatusCode};

#[tokio::test]
async fn a_queued_job_is_cancelled_at_once_and_twice_is_fine() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    for _ in 0..2 {
        let answer = app.call(Method::POST, &format!("/jobs/{id}/cancel")).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.json()["state"], "cancelled");
        assert_eq!(answer.json()["links"]["self"], format!("/jobs/{id}"));
    }
}

#[tokio::test]
async fn a_running_job_is_told_to_stop_and_keeps_what_it_measured() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let lease = app.claim(id).await;
    app.measure(&lease, 0, 2, at(0)).await;
    let answer = app.call(Method::POST, &format!("/jobs/{id}/cancel")).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    assert_eq!(answer.json()["state"], "running");
    app.finish(&lease, JobState::Cancelled, 3).await;
    assert_eq!(app.get(&format!("/jobs/{id}/result")).await.json()["counts"]["ok"], 20);
    assert_eq!(app.call(Method::POST, &format!("/jobs/{id}/cancel")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_job_that_ended_by_itself_cannot_be_cancelled() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 2, 5).await;
    app.call(Method::POST, &format!("/jobs/{id}/cancel")).await.problem(409, "already_finished");
    let unknown = JobId::new();
    app.call(Method::POST, &format!("/jobs/{unknown}/cancel")).await.problem(404, "job_not_found");
    app.call(Method::POST, "/jobs/7/cancel").await.problem(404, "job_not_found");
}
