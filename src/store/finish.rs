//! The end of a job: state, verdict, result and last event in one transaction.

use crate::document::{to_blob, to_column};
use crate::jobs::INSERT_EVENT;
use crate::{Lease, Store, StoreError, on_backend};
use benchd_model::event::JobEventKind;
use benchd_model::job::Failure;
use benchd_model::{JobId, JobState, RunResult, Timestamp};

const FINISH: &str = "UPDATE jobs SET state = $3, phase = NULL, verdict = $4, summary = $5, \
     error = $6, error_code = $7, finished_at = $8, lease_until = NULL, last_event = last_event + 1 \
     WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING last_event";

const INSERT_RESULT: &str = "INSERT INTO results (job_id, document) VALUES ($1, $2)";

const ENDED_BY_THIS_ATTEMPT: &str = "SELECT COUNT(*) FROM jobs \
     WHERE id = $1 AND attempt = $2 AND state NOT IN ('queued', 'running')";

/// How a job ends.
#[derive(Clone, Copy, Debug)]
pub struct Finish<'a> {
    /// The final state.
    pub state: JobState,
    /// What came out; its verdict and summary become the job's.
    pub result: Option<&'a RunResult>,
    /// Why the job could not be run.
    pub error: Option<&'a Failure>,
    /// When it ended.
    pub at: Timestamp,
}

impl Store {
    /// Ends a job: its state, verdict, summary, result and `finished` event
    /// appear together or not at all. Repeating it after a lost answer is fine.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], [`StoreError::NotFinal`], or the database's.
    pub async fn finish(&self, lease: &Lease, finish: Finish<'_>) -> Result<(), StoreError> {
        self.finish_attempt(lease.job, lease.attempt, &finish).await
    }

    pub(crate) async fn finish_attempt(
        &self,
        job: JobId,
        attempt: i64,
        finish: &Finish<'_>,
    ) -> Result<(), StoreError> {
        if !finish.state.is_finished() {
            return Err(StoreError::NotFinal(finish.state.name()));
        }
        let verdict = finish.result.map(|result| result.verdict);
        let summary = finish.result.map(|result| storable(&result.summary));
        let document = finish.result.map(to_blob);
        let event =
            JobEventKind::Finished { state: finish.state, verdict, summary: summary.clone() };
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let ended: Option<i64> = sqlx::query_scalar(FINISH)
                .bind(job.0)
                .bind(attempt)
                .bind(finish.state.name())
                .bind(verdict.map(|verdict| verdict.name()))
                .bind(&summary)
                .bind(finish.error.map(|error| storable(&error.message)))
                .bind(finish.error.map(|error| error.code.name()))
                .bind(finish.at.as_micros())
                .fetch_optional(&mut *tx)
                .await?;
            let Some(sequence) = ended else {
                let repeated: i64 = sqlx::query_scalar(ENDED_BY_THIS_ATTEMPT)
                    .bind(job.0)
                    .bind(attempt)
                    .fetch_one(&mut *tx)
                    .await?;
                return if repeated > 0 { Ok(()) } else { Err(StoreError::LeaseLost) };
            };
            if let Some(document) = &document {
                sqlx::query(INSERT_RESULT).bind(job.0).bind(document).execute(&mut *tx).await?;
            }
            sqlx::query(INSERT_EVENT)
                .bind(job.0)
                .bind(sequence)
                .bind(finish.at.as_micros())
                .bind(to_column(&event))
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        });
        self.announce();
        Ok(())
    }
}

/// Postgres text holds no NUL, and words from a strange server may.
fn storable(text: impl AsRef<str>) -> String {
    text.as_ref().replace('\0', "\u{fffd}")
}
