use crate::app::TestApp;
use crate::samples::job;
use http::{Method, StatusCode};

#[tokio::test]
async fn a_finished_job_goes_with_all_its_parts() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 2, 5).await;
    let answer = app.call(Method::DELETE, &format!("/jobs/{id}")).await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::NO_CONTENT, 0));
    for rest in ["", "/result", "/timeline", "/events", "/gate"] {
        app.get(&format!("/jobs/{id}{rest}")).await.problem(404, "job_not_found");
    }
    app.call(Method::DELETE, &format!("/jobs/{id}")).await.problem(404, "job_not_found");
}

#[tokio::test]
async fn an_unfinished_job_stays() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.call(Method::DELETE, &format!("/jobs/{id}")).await.problem(409, "not_finished");
    app.claim(id).await;
    app.call(Method::DELETE, &format!("/jobs/{id}")).await.problem(409, "not_finished");
    assert_eq!(app.get(&format!("/jobs/{id}")).await.json()["state"], "running");
}
