//! `GET /grafana/changes`, and what the other routes show of changes.

use super::run_filter;
use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_model::trend::{self, Changes, LevelChange, USUAL_METRICS};
use benchd_store::JobFilter;

/// Changes of level
///
/// One row for every place where the level of a metric changed in the history of a
/// scenario (change points, as E-divisive and Apache Otava find them), ascending. The
/// search starts anew where the environment or the load changes and passes invalid runs
/// over. It advises: confirm with a paired comparison before anything fails by it.
/// `from` and `to` are about the rows; earlier runs are searched all the same.
#[utoipa::path(
    get,
    path = "/grafana/changes",
    tag = "grafana",
    operation_id = "grafana_changes",
    params(
        ("project" = Option<String>, Query, description = "The project."),
        ("scenario" = Option<String>, Query, description = "The scenario."),
        ("metric" = Option<String>, Query, description = "A metric of the catalogue; `rps` and `latency_p99_ms` when not given."),
        ("branch" = Option<String>, Query, description = "Only runs with this value of the label `branch`."),
        ("from" = Option<String>, Query, description = "At this time or later: RFC 3339 or epoch milliseconds."),
        ("to" = Option<String>, Query, description = "Before this time."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "Most runs that are searched, the newest ones; 1000 when not given."),
    ),
    responses(
        (status = 200, description = "The rows.", body = Vec<LevelChange>),
        (status = 400, description = "`invalid_query`"),
    ),
)]
pub(crate) async fn changes(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Vec<LevelChange>>> {
    let mut params = Params::lenient(query.as_deref());
    let (filter, limit) = run_filter(&mut params);
    let metric = super::metric(&mut params);
    params.finish()?;
    let metrics = metric.map_or_else(usual, |metric| vec![metric]);
    Ok(Json(found(&app, &filter, limit, metrics).await?.levels))
}

/// The metrics that are searched when nobody asks for one.
pub(super) fn usual() -> Vec<String> {
    USUAL_METRICS.map(ToOwned::to_owned).into()
}

/// The changes from `since` on, in the history of all completed runs before `until`.
pub(super) async fn found(
    app: &App,
    filter: &JobFilter,
    limit: u32,
    metrics: Vec<String>,
) -> ApiResult<Changes> {
    let whole = JobFilter { since: None, ..filter.clone() };
    let runs = app.store.completed_runs(&whole, limit, &metrics).await?;
    let mut found = trend::changes(&runs, &metrics);
    if let Some(since) = filter.since {
        found.levels.retain(|change| change.time >= since);
        found.restarts.retain(|change| change.time >= since);
    }
    Ok(found)
}
