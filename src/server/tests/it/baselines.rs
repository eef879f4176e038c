use crate::app::{TestApp, request};
use crate::samples::{job, job_with};
use axum::body::Body;
use benchd_model::{JobId, JobState};
use http::{Method, StatusCode};
use serde_json::{Value, json};

impl TestApp {
    /// A job that completed with the verdict `pass`.
    async fn passed(&self, fields: Value, end: i64) -> JobId {
        let id = self.queue(&job_with(fields)).await;
        self.complete(id, 2, end).await;
        id
    }
}

#[tokio::test]
async fn a_job_that_passed_becomes_a_baseline_that_others_replace() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let result = app.complete(id, 2, 5).await;
    let answer = app.post_to("/baselines", &json!({"job": id})).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let baseline = answer.json();
    assert_eq!(
        baseline,
        json!({
            "id": baseline["id"], "project": "shop", "scenario": "home page", "name": "default",
            "environment": result.environment.fingerprint, "job_id": id,
            "set_at": baseline["set_at"]
        })
    );
    let path = answer.header("location").to_owned();
    assert_eq!(path, format!("/baselines/{}", baseline["id"].as_str().unwrap()));
    assert_eq!(app.get(&path).await.json(), baseline);

    let next = app.passed(json!({}), 8).await;
    let moved = app.post_to("/baselines", &json!({"job": next, "name": "default"})).await.json();
    assert_eq!((&moved["id"], &moved["job_id"]), (&baseline["id"], &json!(next)));
    assert_eq!(app.get(&path).await.json(), moved);

    assert_eq!(app.call(Method::DELETE, &path).await.status, StatusCode::NO_CONTENT);
    app.call(Method::DELETE, &path).await.problem(404, "baseline_not_found");
    app.get(&path).await.problem(404, "baseline_not_found");
    app.get("/baselines/latest").await.problem(404, "baseline_not_found");
    assert_eq!(app.get(&format!("/jobs/{next}")).await.json()["state"], "completed");
}

#[tokio::test]
async fn baselines_are_listed_by_what_they_are_for() {
    let app = TestApp::new().await;
    assert_eq!(app.get("/baselines").await.json(), json!({"items": []}));
    let mut ids = Vec::new();
    for (project, name) in [("shop", "default"), ("shop", "v1"), ("blog", "default")] {
        let job = app.passed(json!({"project": project}), 5).await;
        let set = app.post_to("/baselines", &json!({"job": job, "name": name})).await.json();
        ids.push(set["id"].clone());
    }
    let environment = app.get("/baselines").await.json()["items"][0]["environment"].clone();
    for (query, expected) in [
        ("", vec![2, 0, 1]),
        ("?project=shop", vec![0, 1]),
        ("?name=default", vec![2, 0]),
        ("?scenario=home%20page&project=blog", vec![2]),
        (&format!("?environment={}&name=v1", environment.as_str().unwrap()), vec![1]),
        ("?environment=e3a9", vec![]),
    ] {
        let listed = app.get(&format!("/baselines{query}")).await.json();
        let found: Vec<&Value> =
            listed["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
        let expected: Vec<&Value> = expected.into_iter().map(|index: usize| &ids[index]).collect();
        assert_eq!(found, expected, "{query}");
    }
    for (query, pointer) in [("projct=x", "/query/projct"), ("name=", "/query/name")] {
        let answer = app.get(&format!("/baselines?{query}")).await;
        assert_eq!(answer.pointers(400, "invalid_query"), [pointer]);
    }
}

#[tokio::test]
async fn what_did_not_pass_is_taken_by_force_only() {
    let app = TestApp::new().await;
    let set = async |job: JobId, force: bool| {
        app.post_to("/baselines", &json!({"job": job, "force": force})).await
    };
    let waiting = app.queue(&job()).await;
    set(waiting, true).await.problem(409, "not_finished");
    app.fail(waiting, "the target is away").await;
    set(waiting, false).await.problem(409, "not_passed");
    set(waiting, true).await.problem(409, "no_result");
    set(JobId::new(), true).await.problem(404, "job_not_found");

    let failed = app.queue(&job_with(json!({"criteria": ["latency_max_ms < 0.1"]}))).await;
    app.complete(failed, 2, 5).await;
    let problem = set(failed, false).await.problem(409, "not_passed");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("completed with the verdict fail"), "{detail}");
    assert_eq!(set(failed, true).await.status, StatusCode::CREATED);

    let lease = app.claim(app.queue(&job()).await).await;
    app.finish(&lease, JobState::Interrupted, 9).await;
    set(lease.job, false).await.problem(409, "not_passed");
}

#[tokio::test]
async fn a_body_that_names_no_job_is_refused_by_pointer() {
    let app = TestApp::new().await;
    for (document, pointer) in [
        (json!({}), "/job"),
        (json!({"job": "latest"}), "/job"),
        (json!({"job": JobId::new(), "name": "a/b"}), "/name"),
        (json!({"job": JobId::new(), "forced": true}), "/forced"),
    ] {
        let answer = app.post_to("/baselines", &document).await;
        assert_eq!(answer.pointers(422, "invalid_baseline"), [pointer], "{document}");
    }
    let typed = [("content-type", "application/json")];
    let broken = request(Method::POST, "/baselines", &typed, Body::from("{"));
    app.send(broken).await.problem(400, "malformed_json");
    let untyped = request(Method::POST, "/baselines", &[], Body::from("{}"));
    app.send(untyped).await.problem(415, "unsupported_media_type");
}

#[tokio::test]
async fn a_baseline_goes_with_its_job() {
    let app = TestApp::new().await;
    let job = app.passed(json!({}), 5).await;
    let path = app.post_to("/baselines", &json!({"job": job})).await.header("location").to_owned();
    assert_eq!(
        app.call(Method::DELETE, &format!("/jobs/{job}")).await.status,
        StatusCode::NO_CONTENT
    );
    app.get(&path).await.problem(404, "baseline_not_found");
}
