//! `POST /jobs`.

use crate::config::App;
use crate::extract::JsonBody;
use crate::links::{job_path, shown};
use crate::prefer::{PREFERENCE_APPLIED, Prefer};
use crate::problem::{ApiResult, Code, Problem};
use crate::service::submit::submit;
use crate::service::wait::wait_for;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::{Job, JobSpec, Timestamp};
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Longest idempotency key, in characters.
const MAX_KEY: usize = 255;

/// Post a job
///
/// The job is queued and answered at once with `202`; a worker takes it as soon
/// as no other job loads the same target host. Everything invalid is told at
/// once, by JSON pointer. Only loopback targets and those registered in
/// `benchd.toml` may be loaded.
///
/// With `Idempotency-Key` a request may be repeated safely: the same body
/// answers `200` with the job that the first one made. With `Prefer: wait=N`
/// the answer comes when the job ended, as `200`, or after N seconds, as `202`.
#[utoipa::path(
    post,
    path = "/jobs",
    tag = "jobs",
    operation_id = "create_job",
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$",
         description = "Up to 255 visible characters, bare or in double quotes."),
        ("Prefer" = Option<String>, Header, description = "`wait=N`: answer when the job ended, at the latest after N seconds (at most 50)."),
    ),
    request_body(content = JobSpec, description = "What to measure."),
    responses(
        (status = 202, description = "The job is queued, or runs.", body = Job, headers(
            ("Location" = String, description = "The job."),
            ("Retry-After" = u32, description = "Seconds until it is worth asking again."),
            ("Preference-Applied" = String, description = "The wait that was applied."),
        )),
        (status = 200, description = "The job ended within the wait, or the key was used before.", body = Job, headers(
            ("Location" = String, description = "The job."),
            ("Idempotent-Replayed" = String, description = "`true` when the key was used before."),
            ("Preference-Applied" = String, description = "The wait that was applied."),
        )),
        (status = 400, description = "`malformed_json`: the body is no JSON; `invalid_header`: the Idempotency-Key cannot be used."),
        (status = 403, description = "`target_refused`: the policy forbids the target."),
        (status = 408, description = "`request_timeout`: the body did not arrive in time."),
        (status = 413, description = "`body_too_large`: more than 1 MiB."),
        (status = 415, description = "`unsupported_media_type`: the body is not declared as application/json."),
        (status = 422, description = "`invalid_job`: `errors` lists every invalid field; `idempotency_mismatch`: the key was used for another body."),
        (status = 503, description = "`queue_full`: too many jobs are queued; `unavailable`."),
    ),
)]
pub(crate) async fn create(
    State(app): State<App>,
    prefer: Prefer,
    headers: HeaderMap,
    JsonBody(document): JsonBody,
) -> ApiResult<Response> {
    let key = idempotency_key(&headers)?;
    let submitted = submit(&app.store, &app.policy, &document, key, Timestamp::now()).await?;
    let id = submitted.job.id;
    if !submitted.replayed {
        tracing::info!(job.id = %id, "job queued");
    }
    let job = match prefer.wait() {
        Some(wait) => wait_for(&app, id, wait, |job| job.state.is_finished()).await?,
        None => None,
    };
    let job = job.unwrap_or(submitted.job);
    let done = submitted.replayed || (prefer.wait().is_some() && job.state.is_finished());
    let status = if done { StatusCode::OK } else { StatusCode::ACCEPTED };
    let mut response = (status, Json(shown(job))).into_response();
    let fields = response.headers_mut();
    fields.insert(LOCATION, HeaderValue::try_from(job_path(id)).expect("an id is a header value"));
    if !done {
        fields.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if submitted.replayed {
        fields.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    fields.extend(prefer.applied().map(|applied| (PREFERENCE_APPLIED, applied)));
    Ok(response)
}

/// The key without its quotes.
fn idempotency_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let refuse =
        |detail: &str| Problem::new(Code::InvalidHeader, format!("Idempotency-Key: {detail}"));
    if values.next().is_some() {
        return Err(refuse("it is given more than once"));
    }
    let text = value.to_str().map_err(|_| refuse("only visible ASCII characters are allowed"))?;
    let text = text.trim();
    let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    if bare.is_empty() {
        return Err(refuse("it is empty"));
    }
    if bare.len() > MAX_KEY {
        return Err(refuse(&format!(
            "it has {} characters; at most {MAX_KEY} are allowed",
            bare.len()
        )));
    }
    Ok(Some(bare.to_owned()))
}
