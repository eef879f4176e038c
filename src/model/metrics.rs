//! The metric catalogue: what criteria may speak of.

use crate::result::RunResult;
use crate::{Histogram, Tally};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
