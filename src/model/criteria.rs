//! Criteria: `metric op number`.
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A criterion with what was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CriterionOutcome {
    /// The criterion as it was written.
    #[schema(example = "latency_p99_ms < 500")]
    pub expression: String,
    /// Its metric.
    pub metric: String,
    /// The observed value; null when there is none.
    pub observed: Option<f64>,
    /// Whether it holds.
    pub status: CriterionStatus,
}

/// Whether a criterion holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriterionStatus {
    /// It holds.
    Pass,
    /// It is violated.
    Fail,
    /// There is nothing, or too little, to decide it by.
    NoData,
}
