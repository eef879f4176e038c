//! `/comparisons`.

pub(crate) mod create;
pub(crate) mod get;

use crate::problem::{Code, Problem};
use benchd_store::CompareError;

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Self {
        let code = match &error {
            CompareError::NoSuchJob(_) => Code::JobNotFound,
            CompareError::NotFinished(_) => Code::NotFinished,
            CompareError::NotCompleted(..) => Code::NoResult,
            CompareError::ComparesNothing(_) => Code::ComparesNothing,
            CompareError::NoBaseline { .. } | CompareError::IsTheBaseline(_) => Code::NoBaseline,
            CompareError::Differing(_) => Code::EnvironmentsDiffer,
            CompareError::Store(_) => {
                let CompareError::Store(error) = error else {
                    unreachable!("it was matched above")
                };
                return error.into();
            }
            _ => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}
