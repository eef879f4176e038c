//! What a job tells its listeners, numbered from 1 and kept.

use crate::document::{from_column, to_column};
use crate::jobs::INSERT_EVENT;
use crate::{Lease, Store, StoreError, on_backend};
use benchd_model::event::{JobEvent, JobEventKind};
use benchd_model::{JobId, Timestamp};

/// Fence, lock and number in one: concurrent writers of one job queue up here.
const NEXT_NUMBER: &str = "UPDATE jobs SET last_event = last_event + 1 \
     WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING last_event";

const SELECT_EVENT: &str = "SELECT kind FROM events WHERE job_id = $1 AND sequence = $2";

const SELECT_AFTER: &str = "SELECT sequence, at, kind FROM events \
     WHERE job_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

impl Store {
    /// Writes an event and gives its number. An event equal to the last one is
    /// not written again, so that a retry after a lost answer tells nobody a
    /// second twice. The states `queued`, `running` and the `finished` event
    /// are written by the calls that bring them about.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], or the database's.
    pub async fn emit(
        &self,
        lease: &Lease,
        now: Timestamp,
        kind: JobEventKind,
    ) -> Result<u64, StoreError> {
        let number: i64 = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let number: Option<i64> = sqlx::query_scalar(NEXT_NUMBER)
                .bind(lease.job.0)
                .bind(lease.attempt)
                .fetch_optional(&mut *tx)
                .await?;
            let Some(number) = number else { return Err(StoreError::LeaseLost) };
            let last: Option<String> = sqlx::query_scalar(SELECT_EVENT)
                .bind(lease.job.0)
                .bind(number - 1)
                .fetch_optional(&mut *tx)
                .await?;
            if let Some(last) = last
                && from_column::<JobEventKind>(&last, "event")? == kind
            {
                return Ok((number - 1).cast_unsigned());
            }
            sqlx::query(INSERT_EVENT)
                .bind(lease.job.0)
                .bind(number)
                .bind(now.as_micros())
                .bind(to_column(&kind))
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
            number
        });
        self.announce();
        Ok(number.cast_unsigned())
    }

    /// A job's events numbered above `after`, in order, `limit` at most.
    ///
    /// # Errors
    /// The database's.
    pub async fn events_after(
        &self,
        id: JobId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<JobEvent>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows: Vec<(i64, i64, String)> = on_backend!(self, |db| {
            sqlx::query_as(SELECT_AFTER)
                .bind(id.0)
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(db.reader())
                .await?
        });
        let event = |(sequence, at, kind): (i64, i64, String)| {
            Ok(JobEvent {
                sequence: sequence.cast_unsigned(),
                at: Timestamp::from_micros(at),
                kind: from_column(&kind, "event")?,
            })
        };
        rows.into_iter().map(event).collect()
    }
}
