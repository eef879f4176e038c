//! The label rule: jobs that become the baseline by themselves.

use crate::Worker;
use benchd_model::baseline::{DEFAULT_BASELINE, is_fit};
use benchd_model::{JobId, JobSpec, JobState, Timestamp, Verdict};
use benchd_store::SetBaseline;

/// Makes the job a baseline when it carries a label of the rule, is completed and
/// passed. Its own end is stored by then, so what fails here is told and nothing more.
pub(crate) async fn apply(
    worker: &Worker,
    job: JobId,
    spec: &JobSpec,
    state: JobState,
    verdict: Option<Verdict>,
) {
    let carries = |(key, value): &(String, String)| spec.labels.get(key) == Some(value);
    if !is_fit(state, verdict) || !worker.config.baseline_when.iter().any(carries) {
        return;
    }
    let put = worker.store.put_baseline(job, DEFAULT_BASELINE, false, Timestamp::now()).await;
    match put {
        Ok(SetBaseline::Set(baseline)) => {
            tracing::info!(%job, environment = baseline.environment, "it is the baseline now");
        }
        // It was deleted meanwhile; what it asked for may hold secrets.
        Ok(_) => tracing::warn!(%job, "it does not become the baseline: it is not there as it was"),
        Err(error) => tracing::warn!(%job, %error, "it does not become the baseline"),
    }
}
