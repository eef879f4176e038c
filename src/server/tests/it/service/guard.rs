use crate::app::{TestApp, request};
use crate::samples::job;
use axum::body::Body;
use http::{Method, StatusCode};

#[tokio::test]
async fn a_rebound_name_is_not_answered() {
    let app = TestApp::new().await;
    for host in
        ["evil.example", "127.0.0.1.evil.example:8080", "192.168.0.7", "", "localhost@evil.example"]
    {
        app.get_with("/jobs", &[("host", host)]).await.problem(421, "wrong_host");
    }
    app.get("http://evil.example/jobs").await.problem(421, "wrong_host");
    for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST"] {
        assert_eq!(app.get_with("/jobs", &[("host", host)]).await.status, StatusCode::OK, "{host}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let path = format!("/jobs/{id}/cancel");
    for headers in [
        [("host", "127.0.0.1:8080"), ("origin", "https://evil.example")],
        [("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:9999")],
        [("host", "127.0.0.1:8080"), ("origin", "null")],
        [("host", "127.0.0.1:8080"), ("sec-fetch-site", "cross-site")],
    ] {
        let answer = app.send(request(Method::POST, &path, &headers, Body::empty())).await;
        answer.problem(403, "cross_origin");
    }
    assert_eq!(app.get(&format!("/jobs/{id}")).await.json()["state"], "queued");
    let own = [("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080")];
    let answer = app.send(request(Method::POST, &path, &own, Body::empty())).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn no_page_may_read_across_origins() {
    let app = TestApp::new().await;
    let origin = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
    let preflight = app.send(request(Method::OPTIONS, "/jobs", &origin, Body::empty())).await;
    preflight.problem(405, "method_not_allowed");
    for answer in [preflight, app.get_with("/jobs", &origin).await] {
        let cors = answer.headers.keys().any(|name| name.as_str().starts_with("access-control"));
        assert!(!cors, "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn heads_have_their_limits() {
    let app = TestApp::new().await;
    app.get(&format!("/jobs?project={}", "x".repeat(9000))).await.problem(414, "uri_too_long");
    let long = "x".repeat(20_000);
    app.get_with("/jobs", &[("x-long", &long)]).await.problem(431, "headers_too_large");
}
