//! What a worker says of its job while it runs: that it lives, how far it is,
//! and where it runs.

use crate::claim::lease_until;
use crate::document::{from_column, to_column};
use crate::{Lease, Store, StoreError, on_backend};
use benchd_model::environment::HostSnapshot;
use benchd_model::job::Progress;
use benchd_model::{JobId, Phase, Timestamp};
use std::time::Duration;

const HEARTBEAT: &str = "UPDATE jobs SET lease_until = $3, phase = COALESCE($4, phase), \
     progress = $5 WHERE id = $1 AND attempt = $2 AND state = 'running' \
     RETURNING cancel_requested";

const SET_HOST: &str = "UPDATE jobs SET host = $3, same_host = $4 \
     WHERE id = $1 AND attempt = $2 AND state = 'running'";

const SELECT_HOST: &str = "SELECT host, same_host FROM jobs WHERE id = $1 AND host IS NOT NULL";

/// Locks the job's row for the transaction if the lease still holds, so that
/// nobody takes over between the check and the write it guards.
pub(crate) const FENCE: &str = "UPDATE jobs SET attempt = attempt \
     WHERE id = $1 AND attempt = $2 AND state = 'running'";

/// What a worker learns from its heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Somebody wants the job cancelled.
    pub cancel_requested: bool,
}

impl Store {
    /// Extends the lease and says how far the job is. Without a phase the one
    /// before stays.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], or the database's.
    pub async fn heartbeat(
        &self,
        lease: &Lease,
        now: Timestamp,
        lease_for: Duration,
        phase: Option<Phase>,
        progress: &Progress,
    ) -> Result<Heartbeat, StoreError> {
        let cancel_requested: Option<i64> = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let answer = sqlx::query_scalar(HEARTBEAT)
                .bind(lease.job.0)
                .bind(lease.attempt)
                .bind(lease_until(now, lease_for))
                .bind(phase.map(Phase::name))
                .bind(to_column(progress))
                .fetch_optional(&mut *tx)
                .await?;
            tx.commit().await?;
            answer
        });
        cancel_requested
            .map(|flag| Heartbeat { cancel_requested: flag != 0 })
            .ok_or(StoreError::LeaseLost)
    }

    /// Records the generator host, and whether the target stands on it.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], or the database's.
    pub async fn set_host(
        &self,
        lease: &Lease,
        host: &HostSnapshot,
        same_host: bool,
    ) -> Result<(), StoreError> {
        let rows = on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let done = sqlx::query(SET_HOST)
                .bind(lease.job.0)
                .bind(lease.attempt)
                .bind(to_column(host))
                .bind(i64::from(same_host))
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
            done.rows_affected()
        });
        if rows == 0 { Err(StoreError::LeaseLost) } else { Ok(()) }
    }

    /// The generator host of a job, and whether the target stood on it; nothing
    /// before its worker said so.
    ///
    /// # Errors
    /// The database's.
    pub async fn host(&self, id: JobId) -> Result<Option<(HostSnapshot, bool)>, StoreError> {
        let row: Option<(String, Option<i64>)> = on_backend!(self, |db| {
            sqlx::query_as(SELECT_HOST).bind(id.0).fetch_optional(db.reader()).await?
        });
        let Some((host, same_host)) = row else { return Ok(None) };
        Ok(Some((from_column(&host, "host snapshot")?, same_host.unwrap_or(0) != 0)))
    }
}
