//! `GET /baselines/{id}`.

use crate::config::App;
use crate::extract::{BaselinePath, RawQuery};
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_model::baseline::Baseline;

/// Get a baseline
///
/// Which job it points to, and where it holds.
#[utoipa::path(
    get,
    path = "/baselines/{id}",
    tag = "baselines",
    operation_id = "get_baseline",
    params(("id" = uuid::Uuid, Path, description = "The baseline.")),
    responses(
        (status = 200, description = "The baseline.", body = Baseline),
        (status = 400, description = "`invalid_query`: this resource takes no parameters."),
        (status = 404, description = "`baseline_not_found`"),
    ),
)]
pub(crate) async fn get(
    State(app): State<App>,
    BaselinePath(id): BaselinePath,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Baseline>> {
    Params::strict(query.as_deref()).finish()?;
    let found = app.store.baseline(id).await?;
    found.map(Json).ok_or_else(|| super::not_found(id))
}
