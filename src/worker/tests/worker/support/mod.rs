//! What the worker's tests share: a store in a temporary file, jobs, workers,
//! and waiting for something to become true without sleeping.

pub(crate) mod gate;

use benchd_model::event::{JobEvent, JobEventKind};
use benchd_model::policy::TargetPolicy;
use benchd_model::{Job, JobId, JobSpec, JobState, RunResult, Timestamp, TrialRecording};
use benchd_store::{NewJob, Store};
use benchd_tuning::{ManagedNginx, NginxOptions};
use benchd_worker::{Worker, WorkerConfig, WorkerError};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Nothing in these tests takes this long unless it hangs.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// A store in a folder of its own.
pub(crate) struct Bench {
    pub(crate) store: Store,
    folder: TempDir,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("benchd.db");
        let store = Store::open(path.to_str().unwrap()).await.unwrap();
        Self { store, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn sqlite(&self) -> sqlx::SqliteConnection {
        use sqlx::Connection as _;
        let url = format!("sqlite:{}", self.path("benchd.db").display());
        sqlx::SqliteConnection::connect(&url).await.unwrap()
    }

    pub(crate) fn config(&self, name: &str) -> WorkerConfig {
        WorkerConfig {
            name: name.to_owned(),
            spool: self.path("spool"),
            ..WorkerConfig::new(Arc::new(TargetPolicy::default()))
        }
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker::new(self.store.clone(), self.config(&benchd_worker::worker_name()))
    }

    pub(crate) async fn post(&self, spec: &JobSpec) -> JobId {
        self.post_at(spec, &spec.target_host()).await
    }

    /// Posts a job that counts as one against `target_host`.
    pub(crate) async fn post_at(&self, spec: &JobSpec, target_host: &str) -> JobId {
        let job = NewJob {
            id: JobId::new(),
            spec: spec.clone(),
            target_host: target_host.to_owned(),
            created_at: Timestamp::now(),
            idempotency: None,
        };
        self.store.create_job(job).await.unwrap().job.id
    }

    /// Runs the job on a worker of its own, to its end.
    pub(crate) async fn run(&self, job: JobId) -> Result<JobState, WorkerError> {
        bounded(self.worker().run_one(job, CancellationToken::new())).await
    }

    pub(crate) async fn job(&self, job: JobId) -> Job {
        self.store.job(job).await.unwrap().unwrap()
    }

    pub(crate) async fn result(&self, job: JobId) -> RunResult {
        self.store.result(job).await.unwrap().expect("the job has a result")
    }

    pub(crate) async fn recordings(&self, job: JobId) -> Vec<TrialRecording> {
        self.store.recordings(job).await.unwrap()
    }

    pub(crate) async fn events(&self, job: JobId) -> Vec<JobEvent> {
        self.store.events_after(job, 0, 10_000).await.unwrap()
    }

    /// Waits until the job is in that state.
    pub(crate) async fn until_state(&self, job: JobId, state: JobState) {
        self.until(async || self.job(job).await.state == state).await;
    }

    /// Waits until the job has measured a second in which it was answered.
    pub(crate) async fn until_measured(&self, job: JobId) {
        let measured = |event: &JobEvent| matches!(&event.kind, JobEventKind::Second { row, .. } if row.ok > 0);
        self.until(async || self.events(job).await.iter().any(measured)).await;
    }

    async fn until(&self, mut holds: impl AsyncFnMut() -> bool) {
        let mut changes = self.store.changes();
        bounded(async {
            while !holds().await {
                changes.wait(Duration::from_millis(100)).await;
            }
        })
        .await;
    }
}

pub(crate) async fn bounded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(BOUND, future).await.expect("it hangs")
}

pub(crate) fn nginx() -> ManagedNginx {
    ManagedNginx::start(NginxOptions::default()).expect("install nginx to run these tests")
}

/// A spec of that load against `url`.
pub(crate) fn spec(url: &str, load: Value) -> JobSpec {
    serde_json::from_value(json!({"target": {"url": url}, "load": load})).unwrap()
}

/// The same with nginx's status page.
pub(crate) fn nginx_spec(nginx: &ManagedNginx, load: Value) -> JobSpec {
    let mut spec = spec(&nginx.url("/"), load);
    spec.target.stub_status = Some(nginx.stub_status_url());
    spec
}

/// A URL on a port where nobody listens.
pub(crate) fn closed_url() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

/// Complete responses in all recorded seconds.
pub(crate) fn recorded_ok(recordings: &[TrialRecording]) -> u64 {
    recordings.iter().flat_map(|r| &r.seconds).map(|second| second.tally.counts.ok).sum()
}
