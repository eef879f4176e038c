//! `GET /grafana/annotations`.

use super::{changes, run_filter};
use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_model::statistics::Strength;
use benchd_model::trend::{LevelChange, Restart};
use benchd_model::{Job, RunResult, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// One run as a region on a graph, or a change as a point.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Annotation {
    /// When the run began, or when the first run after a change ended.
    pub(crate) time: Timestamp,
    /// When it ended; the same time again at a change.
    #[serde(rename = "timeEnd")]
    pub(crate) time_end: Timestamp,
    /// Verdict or change, and scenario.
    #[schema(example = "fail home page")]
    pub(crate) title: String,
    /// The summary, or what changed.
    pub(crate) text: String,
    /// Project, scenario, verdict or `change`, and branch, separated by commas; a
    /// change of environment has `environment`, too.
    #[schema(example = "shop,home page,fail,main")]
    pub(crate) tags: String,
}

/// Runs and changes as annotations
///
/// One region for every finished run with a result, and one point (tag `change`) for
/// every change of level in `rps` and `latency_p99_ms` that stands, and for every
/// change of environment. Ascending. Changes of level advise and fail nothing.
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
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "Most runs; 1000 when not given."),
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
    let found = changes::found(&app, &filter, limit, changes::usual()).await?;
    let levels = found.levels.iter().filter(|change| change.strength == Strength::Strong);
    rows.extend(levels.map(of_level));
    rows.extend(found.restarts.iter().map(of_restart));
    rows.sort_by_key(|row| (row.time, row.time_end));
    Ok(Json(rows))
}

/// The annotation of one run.
pub(crate) fn annotation(job: &Job, result: &RunResult) -> Annotation {
    let spec = &job.spec;
    let verdict = result.verdict.name();
    let branch = spec.labels.get("branch").map(String::as_str);
    Annotation {
        time: job.started_at.unwrap_or(job.created_at),
        time_end: job.finished_at.unwrap_or(job.created_at),
        title: format!("{verdict} {}", spec.scenario),
        text: result.summary.clone(),
        tags: tags([Some(&spec.project), Some(&spec.scenario), Some(verdict), branch]),
    }
}

fn of_level(change: &LevelChange) -> Annotation {
    let LevelChange { project, scenario, branch, metric, .. } = change;
    Annotation {
        time: change.time,
        time_end: change.time,
        title: format!("{metric} changed, {scenario}"),
        text: format!("{}; confirm it with a paired comparison", change.in_words()),
        tags: tags([Some(project), Some(scenario), Some("change"), branch.as_deref()]),
    }
}

fn of_restart(change: &Restart) -> Annotation {
    let Restart { project, scenario, branch, fingerprints: [before, after], .. } = change;
    let subject = change.subject();
    let environment = change
        .is_of_environment()
        .then(|| format!("{after} and not {before}: {}", change.environment.join(", ")));
    let load = (!change.load.is_empty())
        .then(|| format!("another load was asked for: {}", change.load.join(", ")));
    let unlike: Vec<String> = environment.into_iter().chain(load).collect();
    Annotation {
        time: change.time,
        time_end: change.time,
        title: format!("{subject} changed, {scenario}"),
        text: format!("{}; earlier runs are not compared", unlike.join("; ")),
        tags: tags([
            Some(project),
            Some(scenario),
            Some("change"),
            change.is_of_environment().then_some("environment"),
            (!change.load.is_empty()).then_some("load"),
            branch.as_deref(),
        ]),
    }
}

/// Grafana splits tags at commas.
fn tags<const N: usize>(tags: [Option<&str>; N]) -> String {
    let tags: Vec<String> = tags.into_iter().flatten().map(|tag| tag.replace(',', " ")).collect();
    tags.join(",")
}
