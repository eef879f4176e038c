//! `POST /baselines`.

use crate::config::App;
use crate::extract::JsonBody;
use crate::problem::{ApiResult, Code, Problem};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::baseline::Baseline;
use benchd_model::spec::NewBaseline;
use benchd_model::{Job, Timestamp};
use benchd_store::SetBaseline;
use http::StatusCode;
use http::header::{HeaderValue, LOCATION};

/// Set a baseline
///
/// Makes a finished job the one that `within 5% of baseline` speaks of in jobs of
/// the same project, scenario and environment. A baseline of that name moves on to
/// the new job and keeps its id. The job must have completed with the verdict
/// `pass`, unless `force` is true; then any finished job with a result will do.
#[utoipa::path(
    post,
    path = "/baselines",
    tag = "baselines",
    operation_id = "set_baseline",
    request_body(content = NewBaseline, description = "Which job."),
    responses(
        (status = 201, description = "The job is the baseline now.", body = Baseline, headers(
            ("Location" = String, description = "The baseline."),
        )),
        (status = 400, description = "`malformed_json`: the body is no JSON."),
        (status = 404, description = "`job_not_found`"),
        (status = 408, description = "`request_timeout`: the body did not arrive in time."),
        (status = 409, description = "`not_finished`: the job waits or runs; `not_passed`: it did not complete with the verdict `pass`; `no_result`: there is nothing to compare with, by force either."),
        (status = 413, description = "`body_too_large`: more than 1 MiB."),
        (status = 415, description = "`unsupported_media_type`: the body is not declared as application/json."),
        (status = 422, description = "`invalid_baseline`: `errors` lists every invalid field."),
    ),
)]
pub(crate) async fn set(
    State(app): State<App>,
    JsonBody(document): JsonBody,
) -> ApiResult<Response> {
    let NewBaseline { job, name, force } = NewBaseline::parse(&document)
        .map_err(|errors| Problem::with_errors(Code::InvalidBaseline, errors))?;
    let refused = |code, job: &Job| Err(Problem::new(code, job.why_no_baseline()));
    let baseline = match app.store.put_baseline(job, &name, force, Timestamp::now()).await? {
        SetBaseline::Set(baseline) => baseline,
        SetBaseline::NotPassed(job) => return refused(Code::NotPassed, &job),
        SetBaseline::NotFinished(job) => return refused(Code::NotFinished, &job),
        SetBaseline::NoResult(job) => return refused(Code::NoResult, &job),
        SetBaseline::NotFound => {
            return Err(Problem::new(Code::JobNotFound, format!("no job has the id {job}")));
        }
    };
    tracing::info!(baseline.id = %baseline.id, job.id = %job, name, force, "baseline set");
    let location = HeaderValue::try_from(format!("/baselines/{}", baseline.id))
        .expect("an id is a header value");
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(baseline)).into_response())
}
