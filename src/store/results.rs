//! Results: one job's, a scenario's over time, and the newest of each.

use crate::document::from_blob;
use crate::history::push_filter;
use crate::row::{JobRow, job_columns};
use crate::{JobFilter, Store, StoreError, on_backend};
use benchd_model::{Job, JobId, RunResult};
use sqlx::QueryBuilder;

const SELECT: &str = "SELECT document FROM results WHERE job_id = $1";

const SELECT_WITH_JOB: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", results.document FROM jobs JOIN results ON results.job_id = jobs.id \
     WHERE jobs.finished_at IS NOT NULL"
);

/// First the pairs, then one step into an index for each: no result is read
/// that is not shown.
const SELECT_LATEST: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", results.document FROM \
     (SELECT DISTINCT project, scenario FROM jobs WHERE state = 'completed') AS pairs \
     JOIN jobs ON jobs.id = (SELECT newest.id FROM jobs AS newest \
         JOIN results AS present ON present.job_id = newest.id \
         WHERE newest.project = pairs.project AND newest.scenario = pairs.scenario \
         AND newest.state = 'completed' \
         ORDER BY newest.finished_at DESC, newest.id DESC LIMIT 1) \
     JOIN results ON results.job_id = jobs.id"
);

#[derive(sqlx::FromRow)]
struct ResultRow {
    #[sqlx(flatten)]
    job: JobRow,
    document: Vec<u8>,
}

impl ResultRow {
    fn into_pair(self) -> Result<(Job, RunResult), StoreError> {
        Ok((self.job.into_job(None)?, from_blob(&self.document, "result")?))
    }
}

impl Store {
    /// A job's result; nothing while it has none.
    ///
    /// # Errors
    /// The database's.
    pub async fn result(&self, id: JobId) -> Result<Option<RunResult>, StoreError> {
        let document: Option<Vec<u8>> = on_backend!(self, |db| {
            sqlx::query_scalar(SELECT).bind(id.0).fetch_optional(db.reader()).await?
        });
        document.map(|document| from_blob(&document, "result")).transpose()
    }

    /// Finished jobs with their results: the newest `limit` of those that
    /// match, in ascending order. `since` and `until` look at the time of ending.
    ///
    /// # Errors
    /// The database's.
    pub async fn results(
        &self,
        filter: &JobFilter,
        limit: u32,
    ) -> Result<Vec<(Job, RunResult)>, StoreError> {
        if filter.is_unmatchable() {
            return Ok(Vec::new());
        }
        let rows: Vec<ResultRow> = on_backend!(self, |db| {
            let mut query = QueryBuilder::new(SELECT_WITH_JOB);
            push_filter(&mut query, filter);
            if let Some(since) = filter.since {
                query.push(" AND jobs.finished_at >= ").push_bind(since.as_micros());
            }
            if let Some(until) = filter.until {
                query.push(" AND jobs.finished_at < ").push_bind(until.as_micros());
            }
            query.push(" ORDER BY jobs.finished_at DESC, jobs.id DESC LIMIT ");
            query.push_bind(i64::from(limit));
            query.build_query_as().fetch_all(db.reader()).await?
        });
        rows.into_iter().rev().map(ResultRow::into_pair).collect()
    }

    /// The newest completed job of each project and scenario, with its result,
    /// ordered by project and scenario.
    ///
    /// # Errors
    /// The database's.
    pub async fn latest_results(&self) -> Result<Vec<(Job, RunResult)>, StoreError> {
        let rows: Vec<ResultRow> =
            on_backend!(self, |db| { sqlx::query_as(SELECT_LATEST).fetch_all(db.reader()).await? });
        let mut pairs: Vec<(Job, RunResult)> =
            rows.into_iter().map(ResultRow::into_pair).collect::<Result<_, _>>()?;
        // Here and not in SQL: databases disagree on how text is ordered.
        pairs.sort_by(|(a, _), (b, _)| {
            (&a.spec.project, &a.spec.scenario).cmp(&(&b.spec.project, &b.spec.scenario))
        });
        Ok(pairs)
    }
}
