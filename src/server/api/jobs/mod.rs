//! `/jobs`.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod events;
pub(crate) mod gate;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod result;
pub(crate) mod timeline;

use crate::config::App;
use crate::problem::{ApiResult, Code, Problem};
use benchd_model::{Job, JobId};

/// The job, or the problem that there is none.
async fn find(app: &App, id: JobId) -> ApiResult<Job> {
    app.store.job(id).await?.ok_or_else(|| not_found(id))
}

fn not_found(id: JobId) -> Problem {
    Problem::new(Code::JobNotFound, format!("no job has the id {id}"))
}
