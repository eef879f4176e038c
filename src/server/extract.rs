//! What handlers take in. Every refusal is a problem, none of axum's plain
//! text gets out.

use crate::config::App;
use crate::problem::{Code, Problem};
use crate::strict_json::Strict;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use benchd_model::JobId;
use benchd_model::baseline::BaselineId;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;
use std::convert::Infallible;
use std::time::Duration;

/// Largest body of a request, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// The job of the path `/jobs/{id}/…`. What is no id names no job.
pub(crate) struct JobPath(pub(crate) JobId);

impl FromRequestParts<App> for JobPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let not_found = |detail: String| Problem::new(Code::JobNotFound, detail);
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| not_found("the path holds no job id: job ids are UUIDs".to_owned()))?;
        id.parse().map(Self).map_err(not_found)
    }
}

/// The baseline of the path `/baselines/{id}`. What is no id names none.
pub(crate) struct BaselinePath(pub(crate) BaselineId);

impl FromRequestParts<App> for BaselinePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let not_found = |detail: String| Problem::new(Code::BaselineNotFound, detail);
        let Path(id) = Path::<String>::from_request_parts(parts, app).await.map_err(|_| {
            not_found("the path holds no id of a baseline: those are UUIDs".to_owned())
        })?;
        id.parse().map(Self).map_err(not_found)
    }
}

/// The query string as it came.
pub(crate) struct RawQuery(pub(crate) Option<String>);

impl FromRequestParts<App> for RawQuery {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self(parts.uri.query().map(ToOwned::to_owned)))
    }
}

/// A JSON body.
pub(crate) struct JsonBody(pub(crate) Value);

impl FromRequest<App> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        require_json(request.headers())?;
        let body = match tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, app)).await
        {
            Ok(Ok(body)) => body,
            Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let detail = format!("a body has at most {MAX_BODY_BYTES} bytes");
                return Err(Problem::new(Code::BodyTooLarge, detail));
            }
            Ok(Err(_)) => {
                return Err(Problem::new(Code::BadRequest, "the body did not arrive whole"));
            }
            Err(_) => {
                let detail = format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs());
                return Err(Problem::new(Code::RequestTimeout, detail));
            }
        };
        parse(&body).map(Self)
    }
}

/// A browser sends this media type to another origin only after asking, and
/// the answer to that question is no.
fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let media = media.to_ascii_lowercase();
    let is_json = media == "application/json"
        || (media.starts_with("application/") && media.ends_with("+json"));
    if is_json {
        return Ok(());
    }
    let found = if media.is_empty() { "none" } else { &media };
    let detail = format!("send `Content-Type: application/json`; this request has {found}");
    Err(Problem::new(Code::UnsupportedMediaType, detail))
}

fn parse(body: &[u8]) -> Result<Value, Problem> {
    if body.is_empty() {
        return Err(Problem::new(
            Code::MalformedJson,
            "the body is empty; a JSON object is expected",
        ));
    }
    let read = serde_json::from_slice(body).map(|Strict(value)| value);
    read.map_err(|error| {
        let words = error.to_string();
        let reason = words.split(" at line ").next().unwrap_or(&words).to_owned();
        let (line, column) = (error.line(), error.column());
        Problem::new(Code::MalformedJson, format!("line {line}, column {column}: {reason}"))
    })
}
