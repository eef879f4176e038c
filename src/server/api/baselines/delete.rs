//! `DELETE /baselines/{id}`.

use crate::config::App;
use crate::extract::BaselinePath;
use crate::problem::ApiResult;
use axum::extract::State;
use http::StatusCode;

/// Remove a baseline
///
/// Its job stays. Jobs that name the baseline are `inconclusive` from then on. A
/// baseline is also gone when its job is deleted.
#[utoipa::path(
    delete,
    path = "/baselines/{id}",
    tag = "baselines",
    operation_id = "remove_baseline",
    params(("id" = uuid::Uuid, Path, description = "The baseline.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "`baseline_not_found`"),
    ),
)]
pub(crate) async fn delete(
    State(app): State<App>,
    BaselinePath(id): BaselinePath,
) -> ApiResult<StatusCode> {
    if !app.store.delete_baseline(id).await? {
        return Err(super::not_found(id));
    }
    tracing::info!(baseline.id = %id, "baseline removed");
    Ok(StatusCode::NO_CONTENT)
}
