//! Claims jobs, runs engine and probe, writes as it goes.
//!
//! One job, in the order of the modules: `claim_loop` takes it from the
//! queue, `execute` turns its spec into a plan (`resolve` pins every
//! address) and makes its trials (`trial`, with `sampler` beside it), and
//! `flush` writes what comes in, second by second. `reaper` ends the jobs
//! of workers that died, from what they stored or left in the `spool`.
//! Nothing here knows HTTP serving or pages.

mod baseline_rule;
mod claim_loop;
mod execute;
mod flush;
mod halt;
mod judge;
mod lease;
mod progress;
mod reaper;
mod resolve;
mod sampler;
mod spool;
mod trial;

use benchd_model::policy::TargetPolicy;
use benchd_model::{JobId, JobState};
use benchd_store::{Store, StoreError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub use execute::Outcome;
pub use lease::worker_name;
pub use resolve::{ResolveError, admit};

/// How a worker works.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Who it is; leases carry this name. [`worker_name`] makes one that lets a
    /// successor on the same host see that this process is dead.
    pub name: String,
    /// What may be loaded.
    pub policy: Arc<TargetPolicy>,
    /// How long a lease lasts without a heartbeat. A job of a killed worker is
    /// found dead after this.
    pub lease: Duration,
    /// How many jobs it runs at the same time, each on a target host of its own.
    pub at_once: usize,
    /// How long it goes on trying to write a finished job into a store that is
    /// away, before the job goes to the spool.
    pub keep_trying: Duration,
    /// The folder for jobs that could not be stored. A worker with the same
    /// folder that finds such a job abandoned in the store completes it from here.
    pub spool: PathBuf,
    /// Labels, key and value: a job that is completed with the verdict `pass` and
    /// carries one of them becomes the baseline `default` of its project, scenario
    /// and environment.
    pub baseline_when: Vec<(String, String)>,
}

impl WorkerConfig {
    /// The usual worker of this process: a lease of 20 seconds, one job at a
    /// time (two loads on one generator would disturb each other), five minutes
    /// of patience with the store, a spool folder in the system's temporary
    /// folder, no baselines by label.
    #[must_use]
    pub fn new(policy: Arc<TargetPolicy>) -> Self {
        Self {
            name: worker_name(),
            policy,
            lease: Duration::from_secs(20),
            at_once: 1,
            keep_trying: Duration::from_secs(300),
            spool: std::env::temp_dir().join("benchd-spool"),
            baseline_when: Vec::new(),
        }
    }
}

/// Why a job could not be run to an end that is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] StoreError),
    /// There is no such job.
    #[error("there is no job {0}")]
    UnknownJob(JobId),
    /// Another worker took the job over while this one ran it.
    #[error("job {0} was taken over by another worker")]
    TakenOver(JobId),
    /// The job ran, but the store stayed away.
    #[error("job {job} ran, but its result was not stored; its records are in {}", path.display())]
    Spooled {
        /// The job.
        job: JobId,
        /// Where its records and its result are.
        path: PathBuf,
        /// What it came to.
        outcome: Box<Outcome>,
    },
    /// The job ran, and neither the store nor the spool took it.
    #[error("job {job} ran, but its result was stored nowhere, not even in the spool: {reason}")]
    Lost {
        /// The job.
        job: JobId,
        /// What the spool said.
        reason: String,
        /// What it came to.
        outcome: Box<Outcome>,
    },
}

/// A worker: takes jobs from a store and runs them.
#[derive(Clone, Debug)]
pub struct Worker {
    store: Store,
    config: Arc<WorkerConfig>,
    /// The jobs this worker runs right now; its own reaper leaves them alone.
    running: lease::Running,
}

impl Worker {
    /// A worker on `store`; it does nothing until it is told to run.
    #[must_use]
    pub fn new(store: Store, config: WorkerConfig) -> Self {
        Self { store, config: Arc::new(config), running: lease::Running::default() }
    }

    /// Claims and runs jobs, and ends those of dead workers, until `shutdown`.
    /// Then it stops the jobs it runs, writes them as `interrupted` with what
    /// they measured, and returns.
    pub async fn run(&self, shutdown: CancellationToken) {
        // On the heap, or every caller's future would hold all of it.
        Box::pin(claim_loop::run(self, &shutdown)).await;
    }

    /// Runs one job of the queue and tells its final state. Waits while another
    /// job loads the same host, and also while another worker has the job.
    /// `shutdown` interrupts the job; one that still waits is cancelled.
    ///
    /// # Errors
    /// When there is no such job, when the store fails before the job runs, or
    /// when its end could not be stored.
    pub async fn run_one(
        &self,
        job: JobId,
        shutdown: CancellationToken,
    ) -> Result<JobState, WorkerError> {
        Box::pin(claim_loop::run_one(self, job, &shutdown)).await
    }
}
