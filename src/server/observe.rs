//! Around every request: it is counted and logged, panics and late answers
//! become problems, and so does every bare error that a layer or the router
//! itself answered.

use crate::config::App;
use crate::problem::{CONTENT_TYPE_PROBLEM, Code, Problem};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, StatusCode};
use std::any::Any;
use std::time::Duration;
use tokio::time::Instant;

/// How long a handler may take: the longest wait and some.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(75);

/// Counts and logs. The log has the path, never the query, since that may hold
/// what somebody meant to keep.
pub(crate) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = method_name(request.method());
    let path = request.uri().path().to_owned();
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = matched.as_deref().unwrap_or("unmatched");
    let response = next.run(request).await;
    let (status, took) = (response.status().as_u16(), started.elapsed());
    app.metrics.count(method, route, status, took);
    tracing::debug!(
        http.method = method,
        http.path = path,
        http.status = status,
        duration_ms = took.as_secs_f64() * 1000.0,
        "answered"
    );
    response
}

/// Makes a problem of every error that is none yet, and sets what every answer
/// has in its head.
pub(crate) async fn explain(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = next.run(request).await;
    if is_bare_error(&response) {
        response = explained(response, &method, &path);
    }
    let fields = response.headers_mut();
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    fields.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Gives up on handlers that take longer than `limit`.
pub(crate) async fn limit_time(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("no answer within {} s", limit.as_secs_f64());
            Problem::new(Code::Timeout, detail).into_response()
        }
    }
}

/// The answer to a panic. What it said goes to the log only.
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let said = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("nothing readable");
    tracing::error!(panic = said, "a handler panicked");
    Problem::new(Code::Internal, "a handler panicked; the log says more").into_response()
}

fn is_bare_error(response: &Response) -> bool {
    let status = response.status();
    let is_problem = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|media| media.as_bytes().starts_with(CONTENT_TYPE_PROBLEM.as_bytes()));
    (status.is_client_error() || status.is_server_error()) && !is_problem
}

/// The same answer with a problem for a body; its other header fields stay.
fn explained(bare: Response, method: &Method, path: &str) -> Response {
    let status = bare.status();
    let (parts, _) = bare.into_parts();
    let mut fields = parts.headers;
    let detail = match status {
        StatusCode::NOT_FOUND => format!("there is nothing at {path}; /docs shows what there is"),
        StatusCode::METHOD_NOT_ALLOWED => {
            let allowed = fields.get(ALLOW).and_then(|allow| allow.to_str().ok()).unwrap_or("none");
            format!("{path} does not take {method}; it takes {allowed}")
        }
        _ => status.canonical_reason().unwrap_or("the request failed").to_lowercase(),
    };
    for body_field in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING] {
        fields.remove(body_field);
    }
    let mut response = Problem::new(Code::of_status(status), detail).status(status).into_response();
    response.headers_mut().extend(fields);
    response
}

/// The method as a label, from a bounded set.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::{explain, limit_time, panicked};
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::{from_fn, from_fn_with_state};
    use axum::response::Response;
    use axum::routing::get;
    use http::{Request, StatusCode};
    use http_body_util::BodyExt;
    use serde_json::Value;
    use std::time::Duration;
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    async fn broken() -> StatusCode {
        panic!("the secret is hunter2")
    }

    async fn answer(path: &str) -> (StatusCode, Value) {
        let teapot = || async { (StatusCode::IM_A_TEAPOT, "no coffee") };
        let router = Router::new()
            .route("/broken", get(broken))
            .route("/hanging", get(std::future::pending::<StatusCode>))
            .route("/teapot", get(teapot))
            .layer(from_fn_with_state(Duration::from_millis(1), limit_time))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn(explain));
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response: Response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_tells_nothing() {
        let (status, problem) = answer("/broken").await;
        assert_eq!(
            (status, &problem["code"]),
            (StatusCode::INTERNAL_SERVER_ERROR, &"internal".into())
        );
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
    }

    #[tokio::test]
    async fn a_handler_that_hangs_is_given_up() {
        let (status, problem) = answer("/hanging").await;
        assert_eq!((status, &problem["code"]), (StatusCode::GATEWAY_TIMEOUT, &"timeout".into()));
    }

    #[tokio::test]
    async fn a_bare_error_becomes_a_problem_with_its_status() {
        let (status, problem) = answer("/teapot").await;
        assert_eq!((status, &problem["code"]), (StatusCode::IM_A_TEAPOT, &"bad_request".into()));
    }
}
