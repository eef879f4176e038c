//! `DELETE /jobs/{id}`.

use crate::config::App;
use crate::extract::JobPath;
use crate::problem::{ApiResult, Code, Problem};
use axum::extract::State;
use benchd_store::DeleteOutcome;
use http::StatusCode;

/// Delete a job
///
/// Removes a finished job with its recordings, result and events.
#[utoipa::path(
    delete,
    path = "/jobs/{id}",
    tag = "jobs",
    operation_id = "delete_job",
    params(("id" = uuid::Uuid, Path, description = "The job.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "`job_not_found`"),
        (status = 409, description = "`not_finished`: cancel it first."),
    ),
)]
pub(crate) async fn delete(State(app): State<App>, JobPath(id): JobPath) -> ApiResult<StatusCode> {
    match app.store.delete(id).await? {
        DeleteOutcome::Deleted => {
            tracing::info!(job.id = %id, "job deleted");
            Ok(StatusCode::NO_CONTENT)
        }
        DeleteOutcome::NotFinished => Err(Problem::new(
            Code::NotFinished,
            format!("job {id} is not finished: cancel it first"),
        )
        .retry_soon()),
        DeleteOutcome::NotFound => Err(super::not_found(id)),
    }
}
