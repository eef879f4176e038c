//! `GET /`.

use crate::documents::Index;
use crate::negotiate::prefers_html;
use axum::Json;
use axum::response::{Html, IntoResponse, Response};
use http::HeaderMap;
use http::header::{HeaderValue, VARY};

const LINKS: [(&str, &str); 11] = [
    ("jobs", "/jobs"),
    ("baselines", "/baselines"),
    ("history", "/history"),
    ("metrics_catalogue", "/metrics-catalogue"),
    ("grafana_results", "/grafana/results"),
    ("metrics", "/metrics"),
    ("livez", "/livez"),
    ("readyz", "/readyz"),
    ("openapi", "/openapi.json"),
    ("docs", "/docs"),
    ("self", "/"),
];

/// What is where
///
/// Links into the API; a browser gets a page that leads to the documentation.
#[utoipa::path(
    get,
    path = "/",
    tag = "service",
    operation_id = "index",
    responses((status = 200, description = "The links.", content(
        (Index = "application/json"),
        (String = "text/html"),
    ))),
)]
pub(crate) async fn index(headers: HeaderMap) -> Response {
    let mut response = if prefers_html(&headers) {
        Html(PAGE).into_response()
    } else {
        Json(Index {
            service: "benchd".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            links: LINKS.map(|(name, path)| (name.to_owned(), path.to_owned())).into(),
        })
        .into_response()
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    response
}

const PAGE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>benchd</title>
<h1>benchd</h1>
<p>Benchmark-as-a-service for nginx and every other HTTP server.</p>
<ul>
<li><a href=\"/docs/\">API documentation</a></li>
<li><a href=\"/jobs\">Jobs</a></li>
<li><a href=\"/metrics-catalogue\">Metrics that criteria may speak of</a></li>
</ul>
</html>
";
