//! `/baselines`.

pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod set;

use crate::problem::{Code, Problem};
use benchd_model::baseline::BaselineId;

fn not_found(id: BaselineId) -> Problem {
    Problem::new(Code::BaselineNotFound, format!("no baseline has the id {id}"))
}
