//! `GET /history`.

use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::{ApiResult, Code, Problem};
use axum::Json;
use axum::extract::State;
use benchd_model::metrics;
use benchd_model::trend::{MAX_RUNS, Trend, keep_environment, trend};
use benchd_store::JobFilter;

/// The history of a scenario
///
/// Its completed runs by one metric, oldest first, with the places where the level
/// changed and where the environment or the load did. Changes of level advise and fail nothing.
#[utoipa::path(
    get,
    path = "/history",
    tag = "results",
    operation_id = "get_history",
    params(
        ("project" = Option<String>, Query, min_length = 1, description = "The project; `default` when not given.", example = "shop"),
        ("scenario" = Option<String>, Query, min_length = 1, description = "The scenario; `default` when not given.", example = "home page"),
        ("metric" = Option<String>, Query, min_length = 1, description = "A metric of the catalogue; `rps` when not given.", example = "latency_p99_ms"),
        ("branch" = Option<String>, Query, min_length = 1, description = "Only runs with this value of the label `branch`."),
        ("environment" = Option<String>, Query, min_length = 1, description = "Only runs of this environment, by its fingerprint: generators that take turns do not end each other's histories."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Most runs, the newest ones of all environments; 1000 when not given."),
    ),
    responses(
        (status = 200, description = "The history.", body = Trend),
        (status = 400, description = "`invalid_query`: `errors` lists every parameter that is wrong or unknown."),
    ),
)]
pub(crate) async fn history(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Trend>> {
    let mut params = Params::strict(query.as_deref());
    let named = |text: Option<String>| text.unwrap_or_else(|| "default".to_owned());
    let (project, scenario) = (named(params.text("project")), named(params.text("scenario")));
    let metric = params.text("metric").unwrap_or_else(|| "rps".to_owned());
    if let Err(why) = metrics::metric(&metric) {
        params.error("metric", why);
    }
    let branch = params.text("branch").map(|branch| ("branch".to_owned(), branch));
    let environment = params.text("environment");
    let limit = params.whole("limit", 1..=MAX_RUNS).unwrap_or(MAX_RUNS);
    params.finish()?;

    let filter = JobFilter {
        project: Some(project.clone()),
        scenario: Some(scenario.clone()),
        labels: branch.into_iter().collect(),
        ..JobFilter::default()
    };
    let mut runs = app.store.completed_runs(&filter, limit, std::slice::from_ref(&metric)).await?;
    keep_environment(&mut runs, environment.as_deref());
    let found = trend(&project, &scenario, &metric, &runs);
    found.map(Json).map_err(|why| Problem::new(Code::InvalidQuery, why))
}
