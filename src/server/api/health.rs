//! `GET /livez`, `/readyz` and `/healthz`: for probes, without a token.

use crate::config::App;
use crate::documents::Health;
use crate::problem::{ApiResult, Code, Problem};
use axum::Json;
use axum::extract::State;

/// Is the process alive?
///
/// Answers whenever the process can answer at all.
#[utoipa::path(
    get,
    path = "/livez",
    tag = "service",
    operation_id = "livez",
    security(()),
    responses((status = 200, description = "It is.", body = Health)),
)]
pub(crate) async fn livez() -> Json<Health> {
    Json(Health::ok())
}

/// Is the service ready?
///
/// Ready means that the database takes writes.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "service",
    operation_id = "readyz",
    security(()),
    responses(
        (status = 200, description = "It is.", body = Health),
        (status = 503, description = "`unavailable`: the database takes no writes, or the service is stopping."),
    ),
)]
pub(crate) async fn readyz(State(app): State<App>) -> ApiResult<Json<Health>> {
    ready(&app).await
}

/// Is the service ready? (alias)
///
/// The same as `/readyz`, for probes that expect this name.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "service",
    operation_id = "healthz",
    security(()),
    responses(
        (status = 200, description = "It is.", body = Health),
        (status = 503, description = "`unavailable`: the database takes no writes, or the service is stopping."),
    ),
)]
pub(crate) async fn healthz(State(app): State<App>) -> ApiResult<Json<Health>> {
    ready(&app).await
}

async fn ready(app: &App) -> ApiResult<Json<Health>> {
    if app.shutdown.is_cancelled() {
        return Err(Problem::new(Code::Unavailable, "the service is stopping").retry_soon());
    }
    match app.store.ping().await {
        Ok(()) => Ok(Json(Health::ok())),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database takes no writes");
            Err(Problem::new(Code::Unavailable, "the database takes no writes just now")
                .retry_soon())
        }
    }
}
