//! Baselines: which job others are compared with. The rule who may become one is
//! the model's and is kept here, so that whoever sets one is held to it.

use crate::document::{from_blob, unpack};
use crate::{Store, StoreError, on_backend};
use benchd_model::baseline::{Baseline, BaselineFigures, BaselineId, is_fit};
use benchd_model::{Job, JobId, Timestamp};
use sqlx::QueryBuilder;
use uuid::Uuid;

/// The columns of [`BaselineRow`].
macro_rules! baseline_columns {
    () => {
        "baselines.id, baselines.project, baselines.scenario, baselines.environment, \
         baselines.name, baselines.job_id, baselines.set_at"
    };
}

const PUT: &str = concat!(
    "INSERT INTO baselines (id, project, scenario, environment, name, job_id, set_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) \
     ON CONFLICT (project, scenario, environment, name) DO UPDATE SET \
     job_id = excluded.job_id, set_at = excluded.set_at RETURNING ",
    baseline_columns!()
);
const SELECT: &str = concat!("SELECT ", baseline_columns!(), " FROM baselines WHERE id = $1");
const SELECT_ALL: &str = concat!("SELECT ", baseline_columns!(), " FROM baselines WHERE 1 = 1");
const DELETE: &str = "DELETE FROM baselines WHERE id = $1";

/// The one of the environment comes before the newest of the others.
const FIND: &str = "SELECT baselines.environment, baselines.job_id, results.document \
     FROM baselines JOIN results ON results.job_id = baselines.job_id \
     WHERE baselines.project = $1 AND baselines.scenario = $2 AND baselines.name = $4 \
     ORDER BY CASE WHEN baselines.environment = $3 THEN 0 ELSE 1 END, \
     baselines.set_at DESC, baselines.id DESC LIMIT 1";

#[derive(sqlx::FromRow)]
struct BaselineRow {
    id: Uuid,
    project: String,
    scenario: String,
    environment: String,
    name: String,
    job_id: Uuid,
    set_at: i64,
}

impl From<BaselineRow> for Baseline {
    fn from(row: BaselineRow) -> Self {
        Self {
            id: BaselineId(row.id),
            project: row.project,
            scenario: row.scenario,
            environment: row.environment,
            name: row.name,
            job_id: JobId(row.job_id),
            set_at: Timestamp::from_micros(row.set_at),
        }
    }
}

/// Which baselines. Everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaselineFilter {
    /// This project.
    pub project: Option<String>,
    /// This scenario.
    pub scenario: Option<String>,
    /// This environment's fingerprint.
    pub environment: Option<String>,
    /// This name.
    pub name: Option<String>,
}

/// What came of a wish to make a job a baseline.
#[derive(Clone, Debug, PartialEq)]
pub enum SetBaseline {
    /// It is one now.
    Set(Baseline),
    /// It did not complete with the verdict `pass`, and nobody insisted.
    NotPassed(Box<Job>),
    /// It waits or runs.
    NotFinished(Box<Job>),
    /// It has no result that others could be compared with.
    NoResult(Box<Job>),
    /// There is no such job.
    NotFound,
}

impl Store {
    /// Makes a job the baseline `name` of its project, scenario and environment, in
    /// place of the one before, whose id stays. `forced` takes a job that did not
    /// pass, too. The name is one that the model's `check_name` takes.
    ///
    /// # Errors
    /// The database's.
    pub async fn put_baseline(
        &self,
        job: JobId,
        name: &str,
        forced: bool,
        at: Timestamp,
    ) -> Result<SetBaseline, StoreError> {
        // What is asked of the job never changes once it is finished.
        let Some(found) = self.job(job).await? else { return Ok(SetBaseline::NotFound) };
        if !found.state.is_finished() {
            return Ok(SetBaseline::NotFinished(Box::new(found)));
        }
        if !forced && !is_fit(found.state, found.verdict) {
            return Ok(SetBaseline::NotPassed(Box::new(found)));
        }
        let Some(result) = self.result(job).await? else {
            return Ok(SetBaseline::NoResult(Box::new(found)));
        };
        let put: Result<BaselineRow, sqlx::Error> = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let put = sqlx::query_as(PUT)
                .bind(BaselineId::new().0)
                .bind(&found.spec.project)
                .bind(&found.spec.scenario)
                .bind(&result.environment.fingerprint)
                .bind(name)
                .bind(job.0)
                .bind(at.as_micros())
                .fetch_one(&mut *tx)
                .await;
            if put.is_ok() {
                tx.commit().await?;
            }
            put
        });
        match put {
            Ok(row) => Ok(SetBaseline::Set(row.into())),
            Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => {
                Ok(SetBaseline::NotFound)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The baselines that match, by project, scenario, name and environment.
    ///
    /// # Errors
    /// The database's.
    pub async fn baselines(&self, filter: &BaselineFilter) -> Result<Vec<Baseline>, StoreError> {
        let conditions = [
            ("project", &filter.project),
            ("scenario", &filter.scenario),
            ("environment", &filter.environment),
            ("name", &filter.name),
        ];
        let given =
            || conditions.iter().filter_map(|(column, value)| Some((column, (*value).as_ref()?)));
        // Postgres would refuse to look for one.
        if given().any(|(_, value)| value.contains('\0')) {
            return Ok(Vec::new());
        }
        let rows: Vec<BaselineRow> = on_backend!(self, |db| {
            let mut query = QueryBuilder::new(SELECT_ALL);
            for (column, value) in given() {
                query.push(format_args!(" AND baselines.{column} = ")).push_bind(value.clone());
            }
            query.build_query_as().fetch_all(db.reader()).await?
        });
        let mut all: Vec<Baseline> = rows.into_iter().map(Baseline::from).collect();
        // Here and not in SQL: databases disagree on how text is ordered.
        let place = |b: &Baseline| {
            (b.project.clone(), b.scenario.clone(), b.name.clone(), b.environment.clone())
        };
        all.sort_by_cached_key(place);
        Ok(all)
    }

    /// One baseline.
    ///
    /// # Errors
    /// The database's.
    pub async fn baseline(&self, id: BaselineId) -> Result<Option<Baseline>, StoreError> {
        let row: Option<BaselineRow> = on_backend!(self, |db| {
            sqlx::query_as(SELECT).bind(id.0).fetch_optional(db.reader()).await?
        });
        Ok(row.map(Baseline::from))
    }

    /// Forgets a baseline; its job stays. False when there was none.
    ///
    /// # Errors
    /// The database's.
    pub async fn delete_baseline(&self, id: BaselineId) -> Result<bool, StoreError> {
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let deleted = sqlx::query(DELETE).bind(id.0).execute(&mut *tx).await?;
            tx.commit().await?;
            Ok(deleted.rows_affected() > 0)
        })
    }

    /// The baseline of that name with what its job measured: that of this
    /// environment, or else the one that was set last in another, which says so.
    ///
    /// # Errors
    /// The database's.
    pub async fn find_baseline(
        &self,
        project: &str,
        scenario: &str,
        environment: &str,
        name: &str,
    ) -> Result<Option<BaselineFigures>, StoreError> {
        let found: Option<(String, Uuid, Vec<u8>)> = on_backend!(self, |db| {
            sqlx::query_as(FIND)
                .bind(project)
                .bind(scenario)
                .bind(environment)
                .bind(name)
                .fetch_optional(db.reader())
                .await?
        });
        let Some((environment, job, document)) = found else { return Ok(None) };
        let result = unpack(move || from_blob(&document, "result")).await?;
        Ok(Some(BaselineFigures { name: name.to_owned(), job_id: JobId(job), environment, result }))
    }
}
