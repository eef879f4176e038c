//! Rows for Grafana's Infinity plugin: bare arrays, ascending, flat, every key
//! always there, null where there is no figure, `[]` when there is nothing.
//! Empty parameters are as good as absent, since dashboards send variables
//! that are not set.

pub(crate) mod annotations;
pub(crate) mod changes;
pub(crate) mod downsample;
pub(crate) mod latest;
pub(crate) mod results;
pub(crate) mod series;
pub(crate) mod variables;

use crate::params::Params;
use benchd_model::{Job, metrics};
use benchd_store::JobFilter;

/// Most rows of a list of runs.
const MAX_ROWS: u32 = 10_000;

/// Rows of a list of runs when no limit is given.
const DEFAULT_ROWS: u32 = 1000;

/// The filters that all lists of runs take, and their limit. Times are of the
/// run's end.
fn run_filter(params: &mut Params) -> (JobFilter, u32) {
    let mut filter = JobFilter {
        project: params.text("project"),
        scenario: params.text("scenario"),
        since: params.parsed("from"),
        until: params.parsed("to"),
        ..JobFilter::default()
    };
    filter.labels.extend(params.text("branch").map(|branch| ("branch".to_owned(), branch)));
    let limit = params.whole("limit", 1..=MAX_ROWS).unwrap_or(DEFAULT_ROWS);
    (filter, limit)
}

/// The metric that is asked for, if one is; it must be known.
fn metric(params: &mut Params) -> Option<String> {
    let metric = params.text("metric")?;
    if !metrics::is_known(&metric) {
        let hint = metrics::nearest(&metric).map(|name| format!("; did you mean {name}?"));
        let hint = hint.unwrap_or_else(|| "; GET /metrics-catalogue lists them".to_owned());
        params.error("metric", format!("{metric:?} is no metric{hint}"));
    }
    Some(metric)
}

/// A label of the job.
fn label(job: &Job, name: &str) -> Option<String> {
    job.spec.labels.get(name).cloned()
}
