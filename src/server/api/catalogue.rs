//! `GET /metrics-catalogue`.

use axum::Json;
use benchd_model::metrics::{self, Metric};

/// List the metrics
///
/// Every metric that criteria may speak of, with unit, direction, meaning, and how
/// many samples it takes: with fewer, a criterion on it has no data and does not
/// pass. A job with a criterion on any other name is refused.
#[utoipa::path(
    get,
    path = "/metrics-catalogue",
    tag = "results",
    operation_id = "list_metrics",
    responses((status = 200, description = "The catalogue.", body = Vec<Metric>)),
)]
pub(crate) async fn catalogue() -> Json<Vec<Metric>> {
    Json(metrics::catalogue())
}
