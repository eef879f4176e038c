//! The service in a box.

use axum::Router;
use axum::body::{Body, Bytes};
use benchd_model::policy::TargetPolicy;
use benchd_model::{JobId, Timestamp};
use benchd_server::{ServerConfig, router};
use benchd_store::Store;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use std::sync::Arc;
use tempfile::TempDir;
use tower::ServiceExt;

/// One service with a database of its own.
pub(crate) struct TestApp {
    pub(crate) store: Store,
    pub(crate) router: Router,
    _folder: TempDir,
}

impl TestApp {
    pub(crate) async fn new() -> Self {
        Self::with(TargetPolicy::default(), None).await
    }

    pub(crate) async fn with(policy: TargetPolicy, token: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("benchd.db");
        let store = Store::open(path.to_str().unwrap()).await.unwrap();
        let router = router(ServerConfig {
            store: store.clone(),
            policy: Arc::new(policy),
            token: token.map(ToOwned::to_owned),
        });
        Self { store, router, _folder: folder }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[]).await
    }

    pub(crate) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(request(Method::GET, path, headers, Body::empty())).await
    }

    pub(crate) async fn call(&self, method: Method, path: &str) -> Answer {
        self.send(request(method, path, &[], Body::empty())).await
    }

    /// Posts a job.
    pub(crate) async fn post(&self, document: &Value) -> Answer {
        self.post_with(document, &[]).await
    }

    pub(crate) async fn post_with(&self, document: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.send(request(Method::POST, "/jobs", &all, Body::from(document.to_string()))).await
    }

    /// Posts a document elsewhere.
    pub(crate) async fn post_to(&self, path: &str, document: &Value) -> Answer {
        let typed = [("content-type", "application/json")];
        self.send(request(Method::POST, path, &typed, Body::from(document.to_string()))).await
    }

    /// Posts a job that must be taken, and gives its id.
    pub(crate) async fn queue(&self, document: &Value) -> JobId {
        let answer = self.post(document).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().parse().unwrap()
    }
}

/// A request with these header fields.
pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> Request<Body> {
    let mut builder = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body).unwrap()
}

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body of a good answer.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.text());
        assert_eq!(self.header("content-type"), "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The rows of a Grafana answer.
    #[track_caller]
    pub(crate) fn rows(&self) -> Vec<Value> {
        match self.json() {
            Value::Array(rows) => rows,
            other => panic!("no bare array: {other}"),
        }
    }

    /// The problem, which must have this status and code and be complete.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["type"], format!("urn:benchd:problem:{code}"));
        assert_eq!(problem["status"], status);
        assert!(!problem["title"].as_str().unwrap().is_empty());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        problem
    }

    /// The pointers of a problem's errors.
    #[track_caller]
    pub(crate) fn pointers(&self, status: u16, code: &str) -> Vec<String> {
        let problem = self.problem(status, code);
        let errors = problem["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }
}

/// The n-th second of the tests' time, which is after that of posting.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(4_000_000_000_000_000 + second * 1_000_000)
}

/// What must come long before a wait of 50 s is over.
pub(crate) async fn promptly<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(30), future).await.expect("no long wait")
}
