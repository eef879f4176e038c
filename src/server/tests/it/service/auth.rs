use crate::app::{TestApp, request};
use axum::body::Body;
use benchd_model::policy::TargetPolicy;
use http::{Method, StatusCode};

async fn guarded() -> TestApp {
    TestApp::with(TargetPolicy::default(), Some("open sesame")).await
}

#[tokio::test]
async fn nothing_but_health_is_answered_without_the_token() {
    let app = guarded().await;
    for (method, path) in [
        (Method::GET, "/"),
        (Method::GET, "/jobs"),
        (Method::POST, "/jobs"),
        (Method::GET, "/jobs/x/result"),
        (Method::DELETE, "/jobs/x"),
        (Method::GET, "/metrics"),
        (Method::GET, "/metrics-catalogue"),
        (Method::GET, "/grafana/results"),
        (Method::GET, "/openapi.json"),
        (Method::GET, "/docs/"),
        (Method::GET, "/nowhere"),
        (Method::GET, "/livez/../jobs"),
        (Method::GET, "//livez"),
    ] {
        let answer = app.call(method, path).await;
        answer.problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{path}");
    }
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(app.get(path).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn only_the_right_token_opens() {
    let app = guarded().await;
    for value in [
        "Bearer wrong",
        "Bearer open sesame2",
        "Bearer ",
        "open sesame",
        "Basic open sesame",
        "Bearer",
    ] {
        app.get_with("/jobs", &[("authorization", value)]).await.problem(401, "unauthorized");
    }
    for value in ["Bearer open sesame", "bearer open sesame"] {
        assert_eq!(app.get_with("/jobs", &[("authorization", value)]).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn with_a_token_every_host_name_is_answered() {
    let app = guarded().await;
    let headers = [
        ("authorization", "Bearer open sesame"),
        ("host", "bench.example"),
        ("origin", "https://ci.example"),
    ];
    let cancel = request(Method::POST, "/jobs/x/cancel", &headers, Body::empty());
    app.send(cancel).await.problem(404, "job_not_found");
}
