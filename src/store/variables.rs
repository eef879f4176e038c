//! What the pickers of a dashboard offer.

use crate::{Store, StoreError, on_backend};
use benchd_model::{JobId, Timestamp};
use uuid::Uuid;

/// The most runs a picker offers.
const MAX_RUNS: i64 = 500;

const PROJECTS: &str = "SELECT DISTINCT project FROM jobs";
const SCENARIOS: &str = "SELECT DISTINCT scenario FROM jobs \
     WHERE CAST($1 AS TEXT) IS NULL OR project = $1";
const BRANCHES: &str = "SELECT DISTINCT job_labels.value FROM job_labels \
     JOIN jobs ON jobs.id = job_labels.job_id \
     WHERE job_labels.name = 'branch' AND (CAST($1 AS TEXT) IS NULL OR jobs.project = $1)";
const RUNS: &str = "SELECT id, scenario, created_at, state, verdict FROM jobs \
     WHERE started_at IS NOT NULL AND (CAST($1 AS TEXT) IS NULL OR project = $1) \
     ORDER BY created_at DESC, id DESC LIMIT $2";

/// What to pick from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Every project.
    Projects,
    /// The scenarios of a project, or all.
    Scenarios,
    /// The values of the label `branch`.
    Branches,
    /// The newest runs that have or will have data, newest first.
    Runs,
}

impl Store {
    /// What a picker offers, as (text, value), in order. `project` narrows
    /// everything but the projects.
    ///
    /// # Errors
    /// The database's.
    pub async fn variables(
        &self,
        variable: Variable,
        project: Option<&str>,
    ) -> Result<Vec<(String, String)>, StoreError> {
        if project.is_some_and(|project| project.contains('\0')) {
            return Ok(Vec::new());
        }
        match variable {
            Variable::Projects => self.distinct(PROJECTS, None).await,
            Variable::Scenarios => self.distinct(SCENARIOS, Some(project)).await,
            Variable::Branches => self.distinct(BRANCHES, Some(project)).await,
            Variable::Runs => self.runs(project).await,
        }
    }

    async fn distinct(
        &self,
        sql: &'static str,
        project: Option<Option<&str>>,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let mut values: Vec<String> = on_backend!(self, |db| {
            let mut query = sqlx::query_scalar(sql);
            if let Some(project) = project {
                query = query.bind(project.map(str::to_owned));
            }
            query.fetch_all(db.reader()).await?
        });
        // Here and not in SQL: databases disagree on how text is ordered.
        values.sort_unstable();
        Ok(values.into_iter().map(|value| (value.clone(), value)).collect())
    }

    async fn runs(&self, project: Option<&str>) -> Result<Vec<(String, String)>, StoreError> {
        let rows: Vec<(Uuid, String, i64, String, Option<String>)> = on_backend!(self, |db| {
            sqlx::query_as(RUNS)
                .bind(project.map(str::to_owned))
                .bind(MAX_RUNS)
                .fetch_all(db.reader())
                .await?
        });
        let run = |(id, scenario, created_us, state, verdict): (
            Uuid,
            String,
            i64,
            String,
            Option<String>,
        )| {
            let created = Timestamp::from_micros(created_us);
            let text = format!("{created} {scenario} ({})", verdict.unwrap_or(state));
            (text, JobId(id).to_string())
        };
        Ok(rows.into_iter().map(run).collect())
    }
}
