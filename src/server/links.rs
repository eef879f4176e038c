//! How jobs and results look from outside: secrets redacted, links filled in.

use benchd_model::{Job, JobId, RunResult};
use std::collections::BTreeMap;

/// The path of a job.
pub(crate) fn job_path(id: JobId) -> String {
    format!("/jobs/{id}")
}

/// Where the parts of a job are, as paths relative to the service.
pub(crate) fn links(id: JobId) -> BTreeMap<String, String> {
    let own = job_path(id);
    [
        ("self", ""),
        ("result", "/result"),
        ("timeline", "/timeline"),
        ("events", "/events"),
        ("cancel", "/cancel"),
        ("gate", "/gate"),
        ("ab", "/result?format=ab"),
        ("csv", "/result?format=csv"),
        ("markdown", "/result?format=markdown"),
        ("junit", "/result?format=junit"),
    ]
    .into_iter()
    .map(|(name, rest)| (name.to_owned(), format!("{own}{rest}")))
    .collect()
}

/// The job as it may be shown.
pub(crate) fn shown(mut job: Job) -> Job {
    job.spec = job.spec.redacted();
    job.links = links(job.id);
    job.links.extend(comparison(job.id, job.spec.compare.is_some()));
    job
}

/// Where the comparison is, of a job that compares.
fn comparison(id: JobId, compares: bool) -> Option<(String, String)> {
    compares.then(|| ("comparison".to_owned(), format!("/comparisons/{id}")))
}

/// The result as it is shown.
pub(crate) fn shown_result(mut result: RunResult) -> RunResult {
    result.links = links(result.job_id);
    result.links.extend(comparison(result.job_id, result.comparison.is_some()));
    result
}
