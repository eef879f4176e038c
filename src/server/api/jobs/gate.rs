//! `GET /jobs/{id}/gate`.

use crate::config::App;
use crate::documents::Gate;
use crate::extract::{JobPath, RawQuery};
use crate::links::shown;
use crate::params::Params;
use crate::prefer::MAX_WAIT_S;
use crate::problem::{ApiResult, Code, Problem};
use crate::service::wait::wait_for;
use axum::Json;
use axum::extract::State;
use benchd_model::spec::OnInconclusive;
use benchd_model::{Job, Verdict};
use std::time::Duration;

/// Ask the gate
///
/// For one curl in a pipeline: `200` when the verdict is `pass`, `409` when it
/// is `fail` or `invalid`, `503` with `Retry-After` while the job is not
/// finished. `inconclusive` is `200`, or `409` when the job says
/// `"on_inconclusive":"fail"`. A job that ended before anything was measured
/// (it failed, or was cancelled in the queue) has no verdict: `409`. `curl --retry 100 --fail-with-body` polls by
/// itself, since it retries on 503 and honours `Retry-After`.
#[utoipa::path(
    get,
    path = "/jobs/{id}/gate",
    tag = "results",
    operation_id = "ask_gate",
    params(
        ("id" = uuid::Uuid, Path, description = "The job."),
        ("wait" = Option<u32>, Query, minimum = 0, description = "Seconds to wait for the verdict, at most 50."),
    ),
    responses(
        (status = 200, description = "The gate is open.", body = Gate),
        (status = 400, description = "`invalid_query`"),
        (status = 404, description = "`job_not_found`"),
        (status = 409, description = "`gate_failed`: the gate is closed; `verdict` and `summary` say why."),
        (status = 503, description = "`pending`: there is no verdict yet.", headers(
            ("Retry-After" = u32, description = "Seconds until it is worth asking again."),
        )),
    ),
)]
pub(crate) async fn gate(
    State(app): State<App>,
    JobPath(id): JobPath,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Gate>> {
    let mut params = Params::strict(query.as_deref());
    let wait = Duration::from_secs(params.seconds("wait", MAX_WAIT_S).unwrap_or(0));
    params.finish()?;

    let job = wait_for(&app, id, wait, |job| job.state.is_finished()).await?;
    let job = job.ok_or_else(|| super::not_found(id))?;
    if !job.state.is_finished() {
        return Err(pending(&job));
    }
    // A job that could not be measured has no verdict, and no data never passes.
    let open = match job.verdict {
        Some(Verdict::Pass) => true,
        Some(Verdict::Inconclusive) => job.spec.on_inconclusive == OnInconclusive::Warn,
        Some(Verdict::Fail | Verdict::Invalid) | None => false,
    };
    let Some(verdict) = job.verdict.filter(|_| open) else { return Err(closed(&job)) };
    let criteria = app.store.result(id).await?.map(|result| result.criteria).unwrap_or_default();
    let Job { state, summary, links, .. } = shown(job);
    Ok(Json(Gate { job_id: id, state, verdict, summary, criteria, links }))
}

fn pending(job: &Job) -> Problem {
    let done = job.progress.ratio * 100.0;
    let detail = format!("job {} is {}, {done:.0} % done", job.id, job.state.name());
    Problem::new(Code::Pending, detail).retry_soon()
}

fn closed(job: &Job) -> Problem {
    let why = job.summary.as_deref().or(job.error.as_deref());
    let why = why.unwrap_or("it ended before anything was measured");
    let verdict = job.verdict.map_or("without a verdict".to_owned(), |v| format!("verdict {v}"));
    let detail = format!("job {} is {}, {verdict}: {why}", job.id, job.state.name());
    let summary = job.summary.clone().or_else(|| job.error.clone());
    Problem::new(Code::GateFailed, detail).verdict(job.verdict, summary)
}
