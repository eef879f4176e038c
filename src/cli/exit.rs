//! Exit codes, and how a job's end becomes one.

use benchd_model::job::FailureCode;
use benchd_model::{FieldError, JobState, Verdict};
use std::fmt;
use std::process::ExitCode;

/// The exit codes of `run`, `demo` and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Pass,
    /// A criterion is violated.
    Fail,
    /// No trustworthy verdict.
    Undecided,
    /// The command line, the job document or the set-up is wrong.
    Usage,
    /// The target policy refuses the target.
    Refused,
    /// The wait expired; the job goes on.
    WaitExpired,
    Interrupted,
}

impl Exit {
    const fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 99,
            Self::Undecided => 125,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::WaitExpired => 4,
            Self::Interrupted => 130,
        }
    }

    /// The code of a finished job; `failure` says why it could not be run.
    pub(crate) fn of_job(
        state: JobState,
        verdict: Option<Verdict>,
        failure: Option<FailureCode>,
    ) -> Self {
        match failure {
            Some(FailureCode::InvalidJob | FailureCode::TargetUnresolved) => return Self::Usage,
            Some(FailureCode::TargetRefused) => return Self::Refused,
            Some(FailureCode::LoadFailed | FailureCode::Internal) | None => {}
        }
        match (state, verdict) {
            (JobState::Completed, Some(Verdict::Pass)) => Self::Pass,
            (JobState::Completed, Some(Verdict::Fail)) => Self::Fail,
            (JobState::Cancelled | JobState::Interrupted, _) => Self::Interrupted,
            _ => Self::Undecided,
        }
    }

    /// The code of an error that ended a command.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        error.downcast_ref::<Stop>().map_or(Self::Usage, |stop| stop.exit)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error that knows its exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// What is wrong with a job document, when that is it.
    pub(crate) errors: Vec<FieldError>,
}

impl Stop {
    pub(crate) fn error(exit: Exit, message: impl Into<String>) -> anyhow::Error {
        Self { exit, message: message.into(), errors: Vec::new() }.into()
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stop {}

#[cfg(test)]
mod tests {
    use super::Exit;
    use benchd_model::job::FailureCode;
    use benchd_model::{JobState, Verdict};

    #[test]
    fn verdicts_have_the_documented_codes() {
        for (state, verdict, code) in [
            (JobState::Completed, Some(Verdict::Pass), 0),
            (JobState::Completed, Some(Verdict::Fail), 99),
            (JobState::Completed, Some(Verdict::Inconclusive), 125),
            (JobState::Completed, Some(Verdict::Invalid), 125),
            (JobState::Failed, None, 125),
            (JobState::Interrupted, Some(Verdict::Invalid), 130),
            (JobState::Cancelled, Some(Verdict::Invalid), 130),
        ] {
            assert_eq!(Exit::of_job(state, verdict, None).code(), code, "{state:?} {verdict:?}");
        }
        for (failure, code) in [
            (FailureCode::InvalidJob, 2),
            (FailureCode::TargetUnresolved, 2),
            (FailureCode::TargetRefused, 3),
            (FailureCode::LoadFailed, 125),
            (FailureCode::Internal, 125),
        ] {
            assert_eq!(Exit::of_job(JobState::Failed, None, Some(failure)).code(), code);
        }
    }
}
