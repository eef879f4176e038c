use crate::app::{Answer, TestApp, request};
use crate::samples::job_with;
use axum::body::Body;
use http::{Method, StatusCode};
use serde_json::{Value, json};

async fn ask(app: &TestApp, document: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    app.send(request(Method::POST, "/comparisons", &json, Body::from(document.to_string()))).await
}

fn loads() -> Value {
    json!({"baseline": "http://127.0.0.1:8088/", "candidate": "http://127.0.0.1:8089/", "quick": true})
}

#[tokio::test]
async fn two_loads_are_one_job_whose_comparison_follows() {
    let app = TestApp::new().await;
    let answer = ask(&app, &loads()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text());
    let location = answer.headers["location"].to_str().unwrap().to_owned();
    let job = answer.json();
    assert_eq!(job["spec"]["compare"]["blocks"], 6);
    let id = job["id"].as_str().unwrap();
    assert_eq!(job["links"]["comparison"], format!("/comparisons/{id}"));
    assert_eq!(location, format!("/comparisons/{}", job["id"].as_str().unwrap()));
    let early = app.get(&location).await;
    early.problem(409, "not_finished");

    let id = job["id"].as_str().unwrap().parse().unwrap();
    let result = app.complete(id, 8, 300).await;
    let found = app.get(&location).await;
    assert_eq!(found.status, StatusCode::OK, "{}", found.text());
    assert_eq!(found.json(), json!(result.comparison.unwrap()));
    assert_eq!(found.json()["n_pairs"], 6);
    let other = app.get(&format!("{location}?metric=latency_p50_ms&margin_pct=1.5")).await.json();
    assert_eq!((&other["metric"], &other["margin_pct"]), (&json!("latency_p50_ms"), &json!(1.5)));
    // The rows of its timeline are those of the candidate, and add up to the result.
    let rows = app.get(&format!("/jobs/{id}/timeline")).await.rows();
    let issued: u64 = rows.iter().map(|row| row["issued"].as_u64().unwrap()).sum();
    assert_eq!((issued, rows.len()), (result.counts.issued, 6 * 8));
    for bad in ["metric=rsp", "margin_pct=-1", "margin_pct=x", "wait=x", "colour=red"] {
        assert_eq!(
            app.get(&format!("{location}?{bad}")).await.status,
            StatusCode::BAD_REQUEST,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn finished_jobs_are_compared_at_once_and_advisory() {
    let app = TestApp::new().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = app.queue(&job_with(json!({"trials": 6}))).await;
        app.complete(id, 3, 300).await;
        ids.push(id);
    }
    let asked = json!({"baseline": ids[0], "candidate": [ids[1]], "metric": "latency_p50_ms"});
    let answer = ask(&app, &asked).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let found = answer.json();
    assert_eq!((&found["design"], &found["advisory"]), (&json!("historical"), &json!(true)));
    assert_eq!(
        (&found["baseline"]["run_ids"][0], &found["n_pairs"]),
        (&json!(ids[0]), &json!(null))
    );
    assert_eq!(found["baseline"]["n"], 6);
}

#[tokio::test]
async fn what_cannot_be_compared_says_why() {
    let app = TestApp::new().await;
    let waiting = app.queue(&job_with(json!({}))).await;
    let done = app.queue(&job_with(json!({"target": {"url": "http://127.0.0.1:1/"}}))).await;
    app.complete(done, 2, 300).await;
    let nobody = benchd_model::JobId::new();
    for (document, status, code, pointer) in [
        (json!({"baseline": waiting, "candidate": done}), 409, "not_finished", None),
        (json!({"baseline": nobody, "candidate": done}), 404, "job_not_found", None),
        (json!({"candidate": done}), 409, "no_baseline", None),
        (json!({"baseline": done}), 422, "invalid_comparison", Some("/candidate")),
        (
            json!({"baseline": "http://127.0.0.1:1/", "candidate": done}),
            422,
            "invalid_comparison",
            Some("/baseline"),
        ),
        (
            json!({"baseline": "shop", "candidate": "http://127.0.0.1:1/"}),
            422,
            "invalid_comparison",
            Some("/baseline"),
        ),
        (
            json!({"baseline": "http://127.0.0.1:1/", "candidate": "http://127.0.0.1:1/", "metric": "rsp"}),
            422,
            "invalid_comparison",
            Some("/metric"),
        ),
        (
            json!({"baseline": "http://127.0.0.1:1/", "candidate": {"target": {"url": "http://127.0.0.1:1/"}, "load": {"connections": 0}}}),
            422,
            "invalid_comparison",
            Some("/candidate/load/connections"),
        ),
        (
            json!({"baseline": "http://10.0.0.1/", "candidate": "http://127.0.0.1:1/"}),
            403,
            "target_refused",
            None,
        ),
    ] {
        let answer = ask(&app, &document).await;
        let problem = answer.problem(status, code);
        if let Some(pointer) = pointer {
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{document}: {problem}");
        }
    }
    let plain = app.get(&format!("/comparisons/{done}")).await;
    plain.problem(404, "compares_nothing");
    let none = app.get(&format!("/comparisons/{nobody}")).await;
    none.problem(404, "job_not_found");
}
