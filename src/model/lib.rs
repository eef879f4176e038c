//! The nouns of benchd and their rules: specs, outcomes, recordings, results,
//! criteria, verdicts. The serialised types here *are* the documents the API
//! speaks. This crate knows no I/O, no async runtime and no SQL.

pub mod arms;
pub mod assemble;
pub mod baseline;
pub mod comparing;
mod conclusion;
pub mod criteria;
pub mod environment;
pub mod event;
pub mod histogram;
pub mod job;
pub mod kernel;
mod limits;
pub mod metrics;
pub mod outcome;
mod overtime;
pub mod policy;
mod rate;
mod reconcile;
pub mod recording;
pub mod result;
mod seconds;
pub mod secrets;
pub mod span;
pub mod spec;
mod spread;
pub mod statistics;
pub mod stub_status;
pub mod time;
pub mod timeline;
pub mod trend;
mod validity;
pub mod verdict;

pub use histogram::Histogram;
pub use job::{Job, JobId, JobState, Phase};
pub use kernel::KernelCounts;
pub use outcome::{Counts, Outcome};
pub use recording::{SecondRecord, Tally, TrialEnd, TrialRecording};
pub use result::RunResult;
pub use span::Span;
pub use spec::{FieldError, JobSpec};
pub use time::Timestamp;
pub use timeline::TimelineRow;
pub use verdict::Verdict;
