//! What comparing a target with itself showed: the change that is only noise.

use crate::{Store, StoreError, on_backend};
use benchd_model::{JobId, Timestamp};
use uuid::Uuid;

const PUT: &str = "INSERT INTO noise_floors \
     (target, environment, metric, floor_pct, job_id, measured_at) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (target, environment, metric) DO UPDATE SET \
     floor_pct = excluded.floor_pct, job_id = excluded.job_id, \
     measured_at = excluded.measured_at";

const SELECT: &str = "SELECT floor_pct, job_id, measured_at FROM noise_floors \
     WHERE target = $1 AND environment = $2 AND metric = $3";

/// The noise floor of one metric of a target in an environment.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseFloor {
    /// The digest of the target ([`benchd_model::spec::TargetSpec::digest`]).
    pub target: String,
    /// The fingerprint of the environment.
    pub environment: String,
    /// The metric.
    pub metric: String,
    /// The largest effect that A against A may have shown, in percent.
    pub floor_pct: f64,
    /// The job that measured it.
    pub job_id: JobId,
    /// When.
    pub measured_at: Timestamp,
}

impl Store {
    /// Stores a noise floor in place of an older one.
    ///
    /// # Errors
    /// The database's.
    pub async fn put_noise_floor(&self, floor: &NoiseFloor) -> Result<(), StoreError> {
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            sqlx::query(PUT)
                .bind(&floor.target)
                .bind(&floor.environment)
                .bind(&floor.metric)
                .bind(floor.floor_pct)
                .bind(floor.job_id.0)
                .bind(floor.measured_at.as_micros())
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        });
        Ok(())
    }

    /// The newest noise floor, if one was ever measured.
    ///
    /// # Errors
    /// The database's.
    pub async fn noise_floor(
        &self,
        target: &str,
        environment: &str,
        metric: &str,
    ) -> Result<Option<NoiseFloor>, StoreError> {
        let found: Option<(f64, Uuid, i64)> = on_backend!(self, |db| {
            sqlx::query_as(SELECT)
                .bind(target)
                .bind(environment)
                .bind(metric)
                .fetch_optional(db.reader())
                .await?
        });
        Ok(found.map(|(floor_pct, job_id, measured_at)| NoiseFloor {
            target: target.to_owned(),
            environment: environment.to_owned(),
            metric: metric.to_owned(),
            floor_pct,
            job_id: JobId(job_id),
            measured_at: Timestamp::from_micros(measured_at),
        }))
    }
}
