//! `GET /jobs/{id}`.

use crate::conditional::tagged_json;
use crate::config::App;
use crate::extract::{JobPath, RawQuery};
use crate::links::shown;
use crate::params::Params;
use crate::prefer::{PREFERENCE_APPLIED, Prefer};
use crate::problem::ApiResult;
use crate::service::wait::wait_for;
use axum::extract::State;
use axum::response::Response;
use benchd_model::Job;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};

/// Get a job
///
/// State, phase, progress, spec and verdict. With `Prefer: wait=N` the answer
/// comes as soon as the state changes, at the latest after N seconds; a job
/// that is finished is answered at once. Cheap to poll: `If-None-Match` with
/// the last `ETag` gives `304` while nothing changed.
#[utoipa::path(
    get,
    path = "/jobs/{id}",
    tag = "jobs",
    operation_id = "get_job",
    params(
        ("id" = uuid::Uuid, Path, description = "The job."),
        ("Prefer" = Option<String>, Header, description = "`wait=N`: answer when the state changed, at the latest after N seconds (at most 50)."),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer."),
    ),
    responses(
        (status = 200, description = "The job.", body = Job, headers(
            ("ETag" = String, description = "Changes whenever the job does."),
            ("Retry-After" = u32, description = "Seconds until it is worth asking again, while it is unfinished."),
            ("Preference-Applied" = String, description = "The wait that was applied."),
        )),
        (status = 304, description = "Nothing changed since the `ETag` given."),
        (status = 400, description = "`invalid_query`: this resource takes no parameters."),
        (status = 404, description = "`job_not_found`"),
    ),
)]
pub(crate) async fn get(
    State(app): State<App>,
    JobPath(id): JobPath,
    RawQuery(query): RawQuery,
    prefer: Prefer,
    headers: HeaderMap,
) -> ApiResult<Response> {
    Params::strict(query.as_deref()).finish()?;
    let mut job = super::find(&app, id).await?;
    if let Some(wait) = prefer.wait()
        && !job.state.is_finished()
    {
        let before = job.state;
        let later = wait_for(&app, id, wait, |job| job.state != before).await?;
        job = later.ok_or_else(|| super::not_found(id))?;
    }
    let finished = job.state.is_finished();
    let mut response = tagged_json(&headers, &shown(job));
    let fields = response.headers_mut();
    if !finished {
        fields.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    fields.extend(prefer.applied().map(|applied| (PREFERENCE_APPLIED, applied)));
    Ok(response)
}
