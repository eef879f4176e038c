//! `GET /comparisons/{id}`.

use crate::config::App;
use crate::extract::{JobPath, RawQuery};
use crate::params::Params;
use crate::prefer::MAX_WAIT_S;
use crate::problem::ApiResult;
use crate::service::wait::wait_for;
use axum::Json;
use axum::extract::State;
use benchd_model::metrics::{self, Better};
use benchd_model::statistics::Comparison;
use std::time::Duration;

/// Get a comparison
///
/// What a job that compares has found. With another `metric` or margin it is
/// made anew from the recorded trials, so that one measurement answers many
/// questions. With `wait` the answer comes when the job ended.
#[utoipa::path(
    get,
    path = "/comparisons/{id}",
    tag = "comparisons",
    operation_id = "get_comparison",
    params(
        ("id" = uuid::Uuid, Path, description = "The job."),
        ("metric" = Option<String>, Query, description = "Any metric of the catalogue, any percentile included; the job's own when not given."),
        ("margin_pct" = Option<f64>, Query, minimum = 0, maximum = 1000, description = "By how much the candidate may be worse, in percent."),
        ("wait" = Option<u32>, Query, minimum = 0, description = "Seconds to wait for the end of the job, at most 50."),
    ),
    responses(
        (status = 200, description = "The comparison.", body = Comparison),
        (status = 400, description = "`invalid_query`"),
        (status = 404, description = "`job_not_found`; `compares_nothing`: the job has no second arm."),
        (status = 409, description = "`not_finished`; `no_result`: the job did not come to its end."),
    ),
)]
pub(crate) async fn get(
    State(app): State<App>,
    JobPath(id): JobPath,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Comparison>> {
    let mut params = Params::strict(query.as_deref());
    let metric = params.text("metric");
    match metric.as_deref().map(metrics::metric) {
        Some(Err(why)) => params.error("metric", why),
        Some(Ok(known)) if known.better == Better::Neither => {
            let why = format!("{:?} describes; neither more nor less of it is better", known.name);
            params.error("metric", why);
        }
        _ => {}
    }
    let margin = params.number("margin_pct", 0.0..=1000.0);
    let wait = Duration::from_secs(params.seconds("wait", MAX_WAIT_S).unwrap_or(0));
    params.finish()?;

    wait_for(&app, id, wait, |job| job.state.is_finished()).await?;
    Ok(Json(app.store.comparison(id, metric, margin).await?))
}
