//! `GET /metrics`.

use crate::config::App;
use crate::metrics::exposition;
use crate::problem::ApiResult;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_report::openmetrics::{CONTENT_TYPE as OPENMETRICS, Run};
use http::header::{CONTENT_TYPE, HeaderValue};

/// Metrics for Prometheus
///
/// Jobs by state, requests to this service, and the latest completed result of
/// every project and scenario. Base units, seconds. No label grows with the
/// number of runs.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "service",
    operation_id = "metrics",
    responses((status = 200, description = "OpenMetrics text.", body = String,
        content_type = "application/openmetrics-text",
        example = "# HELP benchd_jobs Jobs by state.\n# TYPE benchd_jobs gauge\nbenchd_jobs{state=\"completed\"} 12\n# EOF\n")),
)]
pub(crate) async fn metrics(State(app): State<App>) -> ApiResult<Response> {
    let counts = app.store.counts().await?;
    let latest = app.store.latest_results(Run::of).await?;
    let text = exposition(&app.metrics, &counts, latest);
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS))], text).into_response())
}
