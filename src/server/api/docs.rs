//! `GET /openapi.json` and `/docs`: the description of the API and a page to
//! read it on. The page's files are in the binary, so it works offline.

use crate::openapi::openapi_json;
use crate::problem::{Code, Problem};
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{CONTENT_TYPE, HeaderValue};
use std::sync::{Arc, LazyLock};
use utoipa_swagger_ui::Config;

static DOCUMENT: LazyLock<String> = LazyLock::new(openapi_json);

/// Where the page finds the document, seen from `/docs/`.
static PAGE: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("../openapi.json").validator_url("none")));

/// This document
///
/// The API as OpenAPI 3.1.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "service",
    operation_id = "openapi",
    responses((status = 200, description = "The document.", body = Object)),
)]
pub(crate) async fn openapi() -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, json)], DOCUMENT.as_str()).into_response()
}

/// The documentation to read
///
/// Leads to the page at `/docs/`, where every operation can be tried.
#[utoipa::path(
    get,
    path = "/docs",
    tag = "service",
    operation_id = "docs",
    responses((status = 303, description = "The page is at `/docs/`.", headers(
        ("Location" = String, description = "`/docs/`"),
    ))),
)]
pub(crate) async fn docs() -> Redirect {
    Redirect::to("/docs/")
}

/// The page itself.
pub(crate) async fn page() -> Response {
    file("")
}

/// Its files.
pub(crate) async fn asset(Path(path): Path<String>) -> Response {
    file(&path)
}

fn file(path: &str) -> Response {
    match utoipa_swagger_ui::serve(path, PAGE.clone()) {
        Ok(Some(file)) => ([(CONTENT_TYPE, file.content_type)], file.bytes).into_response(),
        Ok(None) => Problem::new(Code::NotFound, format!("the documentation has no file {path:?}"))
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "the documentation page could not be made");
            Problem::new(Code::Internal, "the documentation page could not be made").into_response()
        }
    }
}
