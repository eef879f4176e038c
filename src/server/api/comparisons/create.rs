//! `POST /comparisons`.

use crate::config::App;
use crate::extract::JsonBody;
use crate::links::shown;
use crate::problem::{ApiResult, Code, Problem};
use crate::service::submit::{SubmitError, submit};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::comparing::{Comparing, ComparisonSpec, place};
use benchd_model::statistics::Comparison;
use benchd_model::{FieldError, Job, Timestamp};
use http::StatusCode;
use http::header::{HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::Value;

/// Compare
///
/// Two loads are measured in one job, in blocks of one trial each in balanced
/// order: `202` with that job, whose comparison will be at `Location`. Finished
/// jobs are compared at once, by what is stored of them: `200` with the
/// comparison, which is advisory, since whatever else changed between them is
/// part of the difference. Jobs of environments that differ are compared only
/// with `force`.
#[utoipa::path(
    post,
    path = "/comparisons",
    tag = "comparisons",
    operation_id = "create_comparison",
    request_body(content = ComparisonSpec, description = "What to compare."),
    responses(
        (status = 200, description = "The comparison of finished jobs.", body = Comparison),
        (status = 202, description = "The job that measures both loads is queued.", body = Job, headers(
            ("Location" = String, description = "The comparison."),
            ("Retry-After" = u32, description = "Seconds until it is worth asking again."),
        )),
        (status = 400, description = "`malformed_json`: the body is no JSON."),
        (status = 403, description = "`target_refused`: the policy forbids a target."),
        (status = 404, description = "`job_not_found`"),
        (status = 408, description = "`request_timeout`: the body did not arrive in time."),
        (status = 409, description = "`not_finished`; `no_result`: a job did not come to its end; `no_baseline`; `environments_differ`."),
        (status = 413, description = "`body_too_large`: more than 1 MiB."),
        (status = 415, description = "`unsupported_media_type`: the body is not declared as application/json."),
        (status = 422, description = "`invalid_comparison`: `errors` lists every invalid field."),
        (status = 503, description = "`queue_full`: too many jobs are queued; `unavailable`."),
    ),
)]
pub(crate) async fn create(
    State(app): State<App>,
    JsonBody(request): JsonBody,
) -> ApiResult<Response> {
    match Comparing::parse(&request).map_err(invalid)? {
        Comparing::Jobs(jobs) => Ok(Json(app.store.compare(&jobs).await?).into_response()),
        Comparing::Loads(document) => measure(&app, &document, &request).await,
    }
}

async fn measure(app: &App, document: &Value, request: &Value) -> ApiResult<Response> {
    let submitted = submit(&app.store, &app.policy, document, None, Timestamp::now()).await;
    let job = match submitted {
        Ok(submitted) => submitted.job,
        Err(SubmitError::Invalid(errors)) => {
            let placed = |FieldError { pointer, detail }| FieldError {
                pointer: place(&pointer, request),
                detail,
            };
            return Err(invalid(errors.into_iter().map(placed).collect()));
        }
        Err(other) => return Err(other.into()),
    };
    tracing::info!(job.id = %job.id, "comparison queued");
    let location = HeaderValue::try_from(format!("/comparisons/{}", job.id));
    let mut response = (StatusCode::ACCEPTED, Json(shown(job))).into_response();
    let fields = response.headers_mut();
    fields.insert(LOCATION, location.expect("an id is a header value"));
    fields.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    Ok(response)
}

fn invalid(errors: Vec<FieldError>) -> Problem {
    Problem::with_errors(Code::InvalidComparison, errors)
}
