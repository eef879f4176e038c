use crate::app::{TestApp, at, promptly};
use crate::samples::{job, job_with};
use benchd_model::JobState;
use http::{Method, StatusCode};
use serde_json::{Value, json};

async fn gate_of(app: &TestApp, document: &Value) -> crate::app::Answer {
    let id = app.queue(document).await;
    app.complete(id, 3, 5).await;
    app.get(&format!("/jobs/{id}/gate")).await
}

#[tokio::test]
async fn a_passing_job_opens_the_gate() {
    let app = TestApp::new().await;
    let answer = gate_of(&app, &job_with(json!({"criteria": ["latency_max_ms < 500"]}))).await;
    let gate = answer.json();
    assert_eq!((&gate["verdict"], &gate["state"]), (&"pass".into(), &"completed".into()));
    assert_eq!(gate["criteria"][0]["status"], "pass");
    assert!(gate["links"]["result"].is_string() && gate["summary"].is_string());
}

#[tokio::test]
async fn a_failing_job_closes_it_and_says_why() {
    let app = TestApp::new().await;
    let answer = gate_of(&app, &job_with(json!({"criteria": ["latency_max_ms < 0.2"]}))).await;
    let problem = answer.problem(409, "gate_failed");
    assert_eq!(problem["verdict"], "fail");
    assert!(problem["summary"].as_str().unwrap().contains("latency_max_ms"), "{problem}");
}

#[tokio::test]
async fn what_cannot_be_decided_passes_unless_the_job_says_otherwise() {
    let app = TestApp::new().await;
    let undecidable = json!(["latency_p99_ms < 5"]);
    let answer = gate_of(&app, &job_with(json!({"criteria": undecidable}))).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json()["verdict"], "inconclusive");
    let strict = job_with(json!({"criteria": undecidable, "on_inconclusive": "fail"}));
    let problem = gate_of(&app, &strict).await.problem(409, "gate_failed");
    assert_eq!(problem["verdict"], "inconclusive");
}

#[tokio::test]
async fn no_data_never_passes() {
    let app = TestApp::new().await;
    let failed = app.queue(&job()).await;
    app.fail(failed, "the worker was eaten").await;
    let problem = app.get(&format!("/jobs/{failed}/gate")).await.problem(409, "gate_failed");
    let shown = app.get(&format!("/jobs/{failed}")).await.json();
    assert_eq!((&problem["verdict"], &shown["verdict"]), (&Value::Null, &Value::Null));
    assert!(problem["detail"].as_str().unwrap().contains("the worker was eaten"));

    let unstarted = app.queue(&job()).await;
    app.call(Method::POST, &format!("/jobs/{unstarted}/cancel")).await.json();
    let problem = app.get(&format!("/jobs/{unstarted}/gate")).await.problem(409, "gate_failed");
    let shown = app.get(&format!("/jobs/{unstarted}")).await.json();
    assert_eq!((&problem["verdict"], &shown["verdict"]), (&Value::Null, &Value::Null));

    let cut = app.queue(&job()).await;
    let lease = app.claim(cut).await;
    app.measure(&lease, 0, 1, at(0)).await;
    app.finish(&lease, JobState::Cancelled, 2).await;
    app.get(&format!("/jobs/{cut}/gate")).await.problem(409, "gate_failed");
}

#[tokio::test]
async fn an_unfinished_job_is_worth_another_try() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    for query in ["", "?wait=0"] {
        let answer = app.get(&format!("/jobs/{id}/gate{query}")).await;
        answer.problem(503, "pending");
        assert_eq!(answer.header("retry-after"), "1");
    }
}

#[tokio::test]
async fn the_gate_waits_for_the_verdict() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let path = format!("/jobs/{id}/gate?wait=99999");
    let (answer, _) = tokio::join!(promptly(app.get(&path)), app.complete(id, 2, 5));
    assert_eq!(answer.json()["verdict"], "pass");
}

#[tokio::test]
async fn a_wait_that_is_none_is_refused() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    for bad in ["-1", "soon", "1.5", "", "1s", "%2B3"] {
        let answer = app.get(&format!("/jobs/{id}/gate?wait={bad}")).await;
        assert_eq!(answer.pointers(400, "invalid_query"), ["/query/wait"], "{bad}");
    }
}
