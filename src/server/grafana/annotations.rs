//! `GET /grafana/annotations`.

use super::run_filter;
use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_model::{Job, RunResult, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// One run as a region on a graph.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Annotation {
    /// When the run began.
    pub(crate) time: Timestamp,
    /// When it ended.
    #[serde(rename = "timeEnd")]
    pub(crate) time_end: Timestamp,
    /// Verdict and scenario.
    #[schema(example = "fail home page")]
    pub(crate) title: String,
    /// The summary.
    pub(crate) text: String,
    /// Project, scenario, verdict and branch, separated by commas.
    #[schema(example = "shop,home page,fail,main")]
    pub(crate) tags: String,
}

/// Runs as annotations
///
/// One region for every finished run with a result, ascending by its begin.
#[utoipa::path(
    get,
    path = "/grafana/annotations",
    tag = "grafana",
    operation_id = "grafana_annotations",
    params(
        ("project" = Option<String>, Query, description = "The project."),
        ("scenario" = Option<String>, Query, description = "The scenario."),
        ("branch" = Option<String>, Query, description = "The label `branch`."),
        ("from" = Option<String>, Query, description = "Ended at this time or later: RFC 3339 or epoch milliseconds."),
        ("to" = Option<String>, Query, description = "Ended before this time."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "Most rows; 1000 when not given."),
    ),
    responses(
        (status = 200, description = "The annotations.", body = Vec<Annotation>),
        (status = 400, description = "`invalid_query`"),
    ),
)]
pub(crate) async fn annotations(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Vec<Annotation>>> {
    let mut params = Params::lenient(query.as_deref());
    let (filter, limit) = run_filter(&mut params);
    params.finish()?;
    let mut rows = app.store.results(&filter, limit, annotation).await?;
    rows.sort_by_key(|row| (row.time, row.time_end));
    Ok(Json(rows))
}

/// The annotation of one run.
pub(crate) fn annotation(job: &Job, result: &RunResult) -> Annotation {
    let spec = &job.spec;
    let verdict = result.verdict.name();
    // Grafana splits tags at commas.
    let tag = |text: &str| text.replace(',', " ");
    let mut tags = vec![tag(&spec.project), tag(&spec.scenario), verdict.to_owned()];
    tags.extend(spec.labels.get("branch").map(|branch| tag(branch)));
    Annotation {
        time: job.started_at.unwrap_or(job.created_at),
        time_end: job.finished_at.unwrap_or(job.created_at),
        title: format!("{verdict} {}", spec.scenario),
        text: result.summary.clone(),
        tags: tags.join(","),
    }
}
