use crate::app::{TestApp, request};
use crate::samples::job;
use axum::body::Body;
use http::{Method, StatusCode};

#[tokio::test]
async fn unknown_routes_are_problems() {
    let app = TestApp::new().await;
    for path in [
        "/nowhere",
        "/jobs/",
        "/jobs/a/b/c",
        "/v1/jobs",
        "/docs/no-such-file.js",
        "/%00",
        "/grafana",
        "/.git/config",
    ] {
        let problem = app.get(path).await.problem(404, "not_found");
        assert!(problem["detail"].as_str().unwrap().len() > 10, "{path}");
    }
}

#[tokio::test]
async fn wrong_methods_name_the_right_ones() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    for (method, path, allowed) in [
        (Method::PUT, "/jobs".to_owned(), "GET,HEAD,POST"),
        (Method::PATCH, format!("/jobs/{id}"), "DELETE,GET,HEAD"),
        (Method::GET, format!("/jobs/{id}/cancel"), "POST"),
        (Method::POST, format!("/jobs/{id}/result"), "GET,HEAD"),
        (Method::DELETE, "/grafana/series".to_owned(), "GET,HEAD"),
        (Method::OPTIONS, "/livez".to_owned(), "GET,HEAD"),
        (Method::from_bytes(b"BREW").unwrap(), "/jobs".to_owned(), "GET,HEAD,POST"),
    ] {
        let answer = app.call(method.clone(), &path).await;
        let problem = answer.problem(405, "method_not_allowed");
        let mut found: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        found.sort_unstable();
        assert_eq!(found.join(","), allowed, "{method} {path}");
        let detail = format!("{path} does not take {method}; it takes {}", answer.header("allow"));
        assert_eq!(problem["detail"], detail);
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 2, 5).await;
    for path in [
        "/jobs".to_owned(),
        format!("/jobs/{id}"),
        format!("/jobs/{id}/result"),
        format!("/jobs/{id}/timeline"),
        "/livez".to_owned(),
        "/metrics".to_owned(),
        "/openapi.json".to_owned(),
    ] {
        let head = app.call(Method::HEAD, &path).await;
        let get = app.get(&path).await;
        assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_eq!(head.header("etag"), get.header("etag"), "{path}");
    }
}

#[tokio::test]
async fn answers_are_never_sniffed_and_stale_ones_never_kept() {
    let app = TestApp::new().await;
    for path in ["/jobs", "/nowhere", "/metrics", "/grafana/results"] {
        let answer = app.get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    }
}

#[tokio::test]
async fn large_answers_are_compressed_unless_a_tag_names_their_bytes() {
    let app = TestApp::new().await;
    let gzip = [("accept-encoding", "gzip, br, zstd")];
    let catalogue = app.get_with("/metrics-catalogue", &gzip).await;
    assert_eq!(catalogue.header("content-encoding"), "gzip");
    assert_eq!(
        app.get_with("/metrics-catalogue", &[("accept-encoding", "br")])
            .await
            .header("content-encoding"),
        ""
    );
    let id = app.queue(&job()).await;
    assert_eq!(app.get_with(&format!("/jobs/{id}"), &gzip).await.header("content-encoding"), "");
}

#[tokio::test]
async fn odd_bodies_and_queries_never_break_a_get() {
    let app = TestApp::new().await;
    let body =
        request(Method::GET, "/jobs", &[("content-type", "application/json")], Body::from("{"));
    assert_eq!(app.send(body).await.status, StatusCode::OK);
    for query in ["%", "%zz=1", "&&&", "=", "a=%ff", "?", "project=%F0%9F%98%80"] {
        let status = app.get(&format!("/jobs?{query}")).await.status;
        assert!(status == StatusCode::OK || status == StatusCode::BAD_REQUEST, "{query}: {status}");
    }
}
