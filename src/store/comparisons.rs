//! Comparisons made from what is stored: of jobs that were measured at another
//! time, and again of the two arms of one job, by any metric.

use crate::document::unpack;
use crate::{Store, StoreError};
use benchd_model::arms::{self, Ask, Differing};
use benchd_model::assemble::{Evidence, environment};
use benchd_model::baseline::DEFAULT_BASELINE;
use benchd_model::comparing::ComparedJobs;
use benchd_model::environment::HostSnapshot;
use benchd_model::statistics::Comparison;
use benchd_model::{Job, JobId, JobState, TrialRecording};
use std::sync::Arc;

/// Why jobs are not compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// No job is to be judged.
    #[error("there is no candidate")]
    NoCandidate,
    /// There is no such job.
    #[error("no job has the id {0}")]
    NoSuchJob(JobId),
    /// It waits or runs.
    #[error("job {0} is not finished yet")]
    NotFinished(JobId),
    /// It ended before anything was measured, or did not come to its end.
    #[error("job {0} is {1}, and only completed jobs are compared")]
    NotCompleted(JobId, &'static str),
    /// It has one arm only.
    #[error("job {0} compares nothing: it was posted without `compare`")]
    ComparesNothing(JobId),
    /// There is no stored baseline to compare with.
    #[error(
        "there is no baseline for project {project:?}, scenario {scenario:?} in environment {environment}: \
         name the jobs to compare with, or set one"
    )]
    NoBaseline {
        /// The candidate's project.
        project: String,
        /// Its scenario.
        scenario: String,
        /// The fingerprint of where it was measured.
        environment: String,
    },
    /// The stored baseline is the candidate itself.
    #[error("job {0} is the baseline itself: a job says nothing about itself")]
    IsTheBaseline(JobId),
    /// They were measured in environments that differ.
    #[error("the environments differ ({}): the difference may be theirs; force the comparison to see it all the same", fingerprints(.0))]
    Differing(Differing),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn fingerprints(differing: &Differing) -> String {
    let each = |(fingerprint, job): (&String, &JobId)| format!("{fingerprint} of job {job}");
    differing.environments.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// What a result was made from.
struct Stored {
    job: Job,
    recordings: Vec<TrialRecording>,
    host: HostSnapshot,
    same_host: bool,
}

impl Stored {
    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            job_id: self.job.id,
            spec: &self.job.spec,
            state: self.job.state,
            recordings: &self.recordings,
            host: self.host.clone(),
            same_host: self.same_host,
            noise_floor_pct: None,
            baseline: None,
        }
    }
}

impl Store {
    /// Compares jobs that were measured already.
    ///
    /// # Errors
    /// Why they are not compared.
    pub async fn compare(&self, asked: &ComparedJobs) -> Result<Comparison, CompareError> {
        let mut candidate = Vec::new();
        for id in &asked.candidate {
            candidate.push(self.stored(*id).await?);
        }
        let mut baseline = Vec::new();
        for id in &asked.baseline {
            baseline.push(self.stored(*id).await?);
        }
        let first = candidate.first().ok_or(CompareError::NoCandidate)?;
        let usual = first.job.spec.load.model.usual_metric();
        let metric = asked.metric.clone().unwrap_or_else(|| usual.to_owned());
        let fingerprint = environment(&first.evidence()).fingerprint;
        if baseline.is_empty() {
            let spec = &first.job.spec;
            let found = self
                .find_baseline(&spec.project, &spec.scenario, &fingerprint, DEFAULT_BASELINE)
                .await?;
            let usable = found.filter(|found| asked.force || found.environment == fingerprint);
            let found = usable.ok_or_else(|| CompareError::NoBaseline {
                project: spec.project.clone(),
                scenario: spec.scenario.clone(),
                environment: fingerprint.clone(),
            })?;
            if asked.candidate.contains(&found.job_id) {
                return Err(CompareError::IsTheBaseline(found.job_id));
            }
            baseline.push(self.stored(found.job_id).await?);
        }
        let floor =
            self.noise_floor(&first.job.spec.target.digest(), &fingerprint, &metric).await?;
        let ask = Ask {
            metric,
            margin_pct: asked.margin_pct,
            seed: asked.seed,
            noise_floor_pct: floor.map(|floor| floor.floor_pct),
        };
        let forced = asked.force;
        unpack(move || {
            let baseline: Vec<Evidence<'_>> = baseline.iter().map(Stored::evidence).collect();
            let candidate: Vec<Evidence<'_>> = candidate.iter().map(Stored::evidence).collect();
            Ok(arms::historical(&baseline, &candidate, &ask, forced))
        })
        .await?
        .map_err(CompareError::Differing)
    }

    /// The comparison that the job measured, by `metric` and `margin_pct` or, where
    /// they are not given, by its own.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn comparison(
        &self,
        id: JobId,
        metric: Option<String>,
        margin_pct: Option<f64>,
    ) -> Result<Comparison, CompareError> {
        let result = self.result(id).await?;
        if metric.is_none() && margin_pct.is_none() {
            // As it was judged, whatever became known since.
            if let Some(found) = result.as_ref().and_then(|result| result.comparison.clone()) {
                return Ok(found);
            }
        }
        let stored = Arc::new(self.stored(id).await?);
        let spec = &stored.job.spec;
        let Some(compare) = &spec.compare else { return Err(CompareError::ComparesNothing(id)) };
        let metric = metric.unwrap_or_else(|| compare.metric.clone());
        let fingerprint = result.map(|result| result.environment.fingerprint).unwrap_or_default();
        let floor = self.noise_floor(&spec.target.digest(), &fingerprint, &metric).await?;
        let then = stored.job.finished_at;
        let floor = floor.filter(|floor| {
            !compare.of_itself() && then.is_none_or(|then| floor.measured_at <= then)
        });
        let ask = Ask {
            metric,
            margin_pct: margin_pct.unwrap_or(compare.margin_pct),
            seed: spec.seed(id),
            noise_floor_pct: floor.map(|floor| floor.floor_pct),
        };
        let found = Arc::clone(&stored);
        let compared = unpack(move || Ok(arms::paired(&found.evidence(), &ask))).await?;
        compared.ok_or(CompareError::ComparesNothing(id))
    }

    async fn stored(&self, id: JobId) -> Result<Stored, CompareError> {
        let job = self.job(id).await?.ok_or(CompareError::NoSuchJob(id))?;
        match job.state {
            JobState::Completed => {}
            state if state.is_finished() => {
                return Err(CompareError::NotCompleted(id, state.name()));
            }
            _ => return Err(CompareError::NotFinished(id)),
        }
        let recordings = self.recordings(id).await?;
        let (host, same_host) = self.host(id).await?.unwrap_or_default();
        Ok(Stored { job, recordings, host, same_host })
    }
}
