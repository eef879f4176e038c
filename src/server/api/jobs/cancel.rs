//! `POST /jobs/{id}/cancel`.

use crate::config::App;
use crate::extract::JobPath;
use crate::links::shown;
use crate::problem::{ApiResult, Code, Problem};
use crate::service::cancel::{Cancelled, cancel as cancel_job};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::{Job, Timestamp};
use http::StatusCode;

/// Cancel a job
///
/// A queued job is cancelled at once. A running one is told to stop and keeps
/// what was measured; its result is marked as cancelled. Cancelling twice is
/// fine.
#[utoipa::path(
    post,
    path = "/jobs/{id}/cancel",
    tag = "jobs",
    operation_id = "cancel_job",
    params(("id" = uuid::Uuid, Path, description = "The job.")),
    responses(
        (status = 200, description = "The job is cancelled.", body = Job),
        (status = 202, description = "The job will stop in a moment.", body = Job),
        (status = 404, description = "`job_not_found`"),
        (status = 409, description = "`already_finished`: it ended by itself before."),
    ),
)]
pub(crate) async fn cancel(State(app): State<App>, JobPath(id): JobPath) -> ApiResult<Response> {
    match cancel_job(&app.store, id, Timestamp::now()).await? {
        Cancelled::Now(job) => Ok(Json(shown(job)).into_response()),
        Cancelled::Requested(job) => {
            tracing::info!(job.id = %id, "cancelling a running job");
            Ok((StatusCode::ACCEPTED, Json(shown(job))).into_response())
        }
        Cancelled::TooLate(job) => {
            let detail = format!("job {id} is {} and cannot be cancelled", job.state.name());
            Err(Problem::new(Code::AlreadyFinished, detail))
        }
        Cancelled::NotFound => Err(super::not_found(id)),
    }
}
