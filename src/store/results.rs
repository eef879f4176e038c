//! Results: one job's, a scenario's over time, and the newest of each.

use crate::document::{from_blob, unpack};
use crate::history::push_filter;
use crate::row::{JobRow, job_columns};
use crate::{JobFilter, Store, StoreError, on_backend};
use benchd_model::trend::Run;
use benchd_model::{Job, JobId, JobState, RunResult};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
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

/// How many results are unpacked at a time.
const CHUNK: usize = 64;

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

/// What `keep` takes of `found`, in its order: a few results at a time, off the
/// event loop.
async fn kept<T: Send + 'static>(
    found: BoxStream<'_, Result<ResultRow, sqlx::Error>>,
    keep: impl Fn(&Job, &RunResult) -> T + Clone + Send + 'static,
) -> Result<Vec<T>, StoreError> {
    let mut all = Vec::new();
    let mut chunks = found.try_chunks(CHUNK);
    while let Some(rows) = chunks.try_next().await.map_err(|error| error.1)? {
        let keep = keep.clone();
        let some: Vec<T> = unpack(move || {
            let pairs = rows.into_iter().map(ResultRow::into_pair);
            pairs.map(|pair| pair.map(|(job, result)| keep(&job, &result))).collect()
        })
        .await?;
        all.extend(some);
    }
    Ok(all)
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

    /// What `keep` takes of finished jobs and their results: of the newest
    /// `limit` that match, in ascending order. `since` and `until` look at the
    /// time of ending. Only what is kept stays in memory.
    ///
    /// # Errors
    /// The database's.
    pub async fn results<T: Send + 'static>(
        &self,
        filter: &JobFilter,
        limit: u32,
        keep: impl Fn(&Job, &RunResult) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        if filter.is_unmatchable() {
            return Ok(Vec::new());
        }
        let mut kept: Vec<T> = on_backend!(self, |db| {
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
            kept(query.build_query_as().fetch(db.reader()), keep).await?
        });
        kept.reverse();
        Ok(kept)
    }

    /// The completed runs that match, as the history of these metrics takes them:
    /// the newest `limit`, oldest first. The filter's state does not matter.
    ///
    /// # Errors
    /// The database's.
    pub async fn completed_runs(
        &self,
        filter: &JobFilter,
        limit: u32,
        metrics: &[String],
    ) -> Result<Vec<Run>, StoreError> {
        let filter = JobFilter { state: Some(JobState::Completed), ..filter.clone() };
        let metrics = metrics.to_vec();
        self.results(&filter, limit, move |job, result| Run::of(job, result, &metrics)).await
    }

    /// What `keep` takes of the newest completed job of each project and
    /// scenario and its result, ordered by project and scenario.
    ///
    /// # Errors
    /// The database's.
    pub async fn latest_results<T: Send + 'static>(
        &self,
        keep: impl Fn(&Job, &RunResult) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        let keep = move |job: &Job, result: &RunResult| {
            let order = (job.spec.project.clone(), job.spec.scenario.clone());
            (order, keep(job, result))
        };
        let mut all: Vec<((String, String), T)> = on_backend!(self, |db| {
            kept(sqlx::query_as(SELECT_LATEST).fetch(db.reader()), keep).await?
        });
        // Here and not in SQL: databases disagree on how text is ordered.
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(all.into_iter().map(|(_, kept)| kept).collect())
    }
}
