//! `GET /grafana/results`.

use super::{label, run_filter};
use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use benchd_model::{Job, JobId, RunResult, Timestamp, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

/// One finished run, flat. Null where there is no figure.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ResultRow {
    /// When it ended.
    time: Timestamp,
    /// The job.
    run_id: JobId,
    /// Its project.
    project: String,
    /// Its scenario.
    scenario: String,
    /// Its label `branch`.
    branch: Option<String>,
    /// Its label `commit`.
    commit: Option<String>,
    /// Its verdict.
    verdict: Verdict,
    /// Complete responses per second.
    rps: f64,
    /// Complete responses with an expected status, per second.
    goodput_rps: f64,
    /// Median latency.
    latency_p50_ms: Option<f64>,
    /// 90th percentile.
    latency_p90_ms: Option<f64>,
    /// 99th percentile.
    latency_p99_ms: Option<f64>,
    /// Largest latency.
    latency_max_ms: Option<f64>,
    /// Share of attempts without an expected answer, 0 to 1.
    error_ratio: Option<f64>,
    /// Length of the measuring window over all trials.
    duration_s: f64,
    /// Connections asked for.
    connections: u32,
    /// Requests per second asked for; null for a closed loop.
    rate: Option<f64>,
    /// `http1`, `http10` or `h2`.
    protocol: String,
    /// Requests nginx counted, our polls left out.
    nginx_requests: Option<u64>,
    /// Connections nginx dropped.
    nginx_dropped: Option<u64>,
    /// Standard deviation of the trials' rps over their mean; null with one trial.
    noise_cv: Option<f64>,
    /// Fingerprint of generator and target: only equal ones may be compared.
    environment: String,
}

/// Runs over time
///
/// One row for every finished run with a result, ascending by its end: the
/// trend. `from` and `to` are about the end of a run; the newest `limit` are told.
#[utoipa::path(
    get,
    path = "/grafana/results",
    tag = "grafana",
    operation_id = "grafana_results",
    params(
        ("project" = Option<String>, Query, description = "The project."),
        ("scenario" = Option<String>, Query, description = "The scenario."),
        ("branch" = Option<String>, Query, description = "The label `branch`."),
        ("from" = Option<String>, Query, description = "Ended at this time or later: RFC 3339 or epoch milliseconds."),
        ("to" = Option<String>, Query, description = "Ended before this time."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "Most rows; 1000 when not given."),
    ),
    responses(
        (status = 200, description = "The rows.", body = Vec<ResultRow>),
        (status = 400, description = "`invalid_query`"),
    ),
)]
pub(crate) async fn results(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Vec<ResultRow>>> {
    let mut params = Params::lenient(query.as_deref());
    let (filter, limit) = run_filter(&mut params);
    params.finish()?;
    Ok(Json(app.store.results(&filter, limit, row).await?))
}

/// The row of one run.
pub(crate) fn row(job: &Job, result: &RunResult) -> ResultRow {
    let nginx = result.server.stub_status.as_ref();
    ResultRow {
        time: job.finished_at.unwrap_or(job.created_at),
        run_id: job.id,
        project: job.spec.project.clone(),
        scenario: job.spec.scenario.clone(),
        branch: label(job, "branch"),
        commit: label(job, "commit"),
        verdict: result.verdict,
        rps: result.rps,
        goodput_rps: result.goodput_rps,
        latency_p50_ms: result.latency_ms.p50,
        latency_p90_ms: result.latency_ms.p90,
        latency_p99_ms: result.latency_ms.p99,
        latency_max_ms: result.latency_ms.max,
        error_ratio: result.error_ratio,
        duration_s: result.duration_s,
        connections: result.load.connections,
        rate: result.load.rate,
        protocol: result.load.protocol.clone(),
        nginx_requests: nginx.and_then(|nginx| nginx.requests),
        nginx_dropped: nginx.and_then(|nginx| nginx.dropped),
        noise_cv: variation(result.trials.iter().map(|trial| trial.rps)),
        environment: result.environment.fingerprint.clone(),
    }
}

/// Sample standard deviation over mean; none below two values.
fn variation(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (n - 1.0)).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::variation;

    #[test]
    fn one_trial_says_nothing_about_noise() {
        assert_eq!(variation([5.0].into_iter()), None);
        assert_eq!(variation([0.0, 0.0].into_iter()), None);
        assert_eq!(variation([10.0, 10.0].into_iter()), Some(0.0));
        let cv = variation([9.0, 11.0].into_iter()).unwrap();
        assert!((cv - 0.2f64.sqrt() / 10f64.sqrt()).abs() < 1e-12, "{cv}");
    }
}
