//! `GET /grafana/latest`.

use super::label;
use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_model::{Job, RunResult, metrics};
use serde::Serialize;
use utoipa::ToSchema;

/// One metric of the newest run of a scenario. One number in a row, as Grafana's
/// alerts on tables want it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LatestRow {
    /// The project.
    pub(crate) project: String,
    /// The scenario.
    pub(crate) scenario: String,
    /// The label `branch`.
    pub(crate) branch: Option<String>,
    /// The figure; null where there is none.
    pub(crate) value: Option<f64>,
}

/// The latest figures
///
/// One metric of the newest completed run of every project and scenario, ready
/// for an alert.
#[utoipa::path(
    get,
    path = "/grafana/latest",
    tag = "grafana",
    operation_id = "grafana_latest",
    params(
        ("metric" = String, Query, min_length = 1, description = "A metric of the catalogue, such as `latency_p99_ms`.", example = "latency_p99_ms"),
        ("project" = Option<String>, Query, description = "Only of this project."),
    ),
    responses(
        (status = 200, description = "The rows.", body = Vec<LatestRow>),
        (status = 400, description = "`invalid_query`: the metric is missing or unknown."),
    ),
)]
pub(crate) async fn latest(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Vec<LatestRow>>> {
    let mut params = Params::lenient(query.as_deref());
    let metric = super::metric(&mut params).unwrap_or_default();
    if metric.is_empty() {
        params.error("metric", "a metric is required, such as metric=latency_p99_ms");
    }
    let project = params.text("project");
    params.finish()?;

    let row = move |job: &Job, result: &RunResult| LatestRow {
        project: job.spec.project.clone(),
        scenario: job.spec.scenario.clone(),
        branch: label(job, "branch"),
        value: metrics::of_result(&metric, result),
    };
    let mut rows = app.store.latest_results(row).await?;
    rows.retain(|row| project.as_ref().is_none_or(|project| row.project == *project));
    Ok(Json(rows))
}
