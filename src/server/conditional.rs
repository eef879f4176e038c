//! JSON answers with a strong entity tag, and `304` for who has it already.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Answers `document` as JSON, or `304` when the request's `If-None-Match`
/// names the very same bytes.
pub(crate) fn tagged_json<T: Serialize>(request: &HeaderMap, document: &T) -> Response {
    let body = serde_json::to_vec(document).expect("API documents are plain JSON");
    let tag = tag_of(&body);
    let known = request
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|candidate| candidate.trim().trim_start_matches("W/"))
        .any(|candidate| candidate == tag || candidate == "*");
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = body.into_response();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    };
    let tag = HeaderValue::try_from(tag).expect("hexadecimal digits are a header value");
    response.headers_mut().insert(ETAG, tag);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn tag_of(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}
