//! The history of a scenario: its completed runs over time, and where the level of
//! a metric changed. It advises and fails nothing.

use crate::arms::{Asked, asked, differing};
use crate::environment::Environment;
use crate::metrics::{self, Better};
use crate::statistics::{ChangePoint, History, HistoryPoint, Search, Strength, history};
use crate::{Job, JobId, RunResult, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What is searched for changes when no metric is asked for: one that a closed loop
/// shows best, and one that an open loop does.
pub const USUAL_METRICS: [&str; 2] = ["rps", "latency_p99_ms"];

/// Most runs that are searched at a time, the newest ones.
pub const MAX_RUNS: u32 = 1000;

/// A completed run, as far as a history needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    time: Timestamp,
    job_id: JobId,
    project: String,
    scenario: String,
    branch: Option<String>,
    commit: Option<String>,
    verdict: Verdict,
    environment: Environment,
    /// A request may be another one each time, by the number of a build in a header.
    load: Asked,
    /// One for each metric that was asked for.
    values: Vec<Option<f64>>,
}

impl Run {
    /// What the history of these metrics takes of a completed job.
    #[must_use]
    pub fn of(job: &Job, result: &RunResult, metrics: &[String]) -> Self {
        let label = |name: &str| job.spec.labels.get(name).cloned();
        Self {
            time: job.finished_at.unwrap_or(job.created_at),
            job_id: job.id,
            project: job.spec.project.clone(),
            scenario: job.spec.scenario.clone(),
            branch: label("branch"),
            commit: label("commit"),
            verdict: result.verdict,
            environment: result.environment.clone(),
            load: asked(&job.spec)
                .into_iter()
                .filter(|(field, _)| field.starts_with("load."))
                .collect(),
            values: metrics.iter().map(|metric| metrics::of_result(metric, result)).collect(),
        }
    }
}

/// Keeps the runs of this environment, or all when none is asked for.
pub fn keep_environment(runs: &mut Vec<Run>, fingerprint: Option<&str>) {
    if let Some(fingerprint) = fingerprint {
        runs.retain(|run| run.environment.fingerprint == fingerprint);
    }
}

/// The history of a scenario by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Trend {
    /// The project.
    #[schema(example = "shop")]
    pub project: String,
    /// The scenario.
    #[schema(example = "home page")]
    pub scenario: String,
    /// The metric.
    #[schema(example = "latency_p99_ms")]
    pub metric: String,
    /// Its unit.
    #[schema(example = "ms")]
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// The completed runs, oldest first.
    pub runs: Vec<TrendRun>,
    /// Where the level changed, ascending; `index` counts the runs from 0. None lies
    /// at a change of environment or load.
    pub change_points: Vec<ChangePoint>,
    /// The first run of each new environment, counted from 0: levels on its two sides
    /// are not compared.
    pub environment_changes: Vec<usize>,
    /// The first run that asked for another load than the one before, its length left
    /// out: levels on its two sides are not compared.
    pub load_changes: Vec<usize>,
}

/// One run of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrendRun {
    /// When it ended.
    pub time: Timestamp,
    /// The job.
    pub job_id: JobId,
    /// Its label `branch`.
    pub branch: Option<String>,
    /// Its label `commit`.
    pub commit: Option<String>,
    /// Its verdict. An invalid run is shown and otherwise passed over.
    pub verdict: Verdict,
    /// The metric; null where the run has no figure of it.
    pub value: Option<f64>,
    /// The fingerprint of the environment.
    pub environment: String,
}

/// The level of a metric changed with a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LevelChange {
    /// When the first run of the new level ended.
    pub time: Timestamp,
    /// That run.
    pub job_id: JobId,
    /// Its project.
    pub project: String,
    /// Its scenario.
    pub scenario: String,
    /// Its label `branch`.
    pub branch: Option<String>,
    /// Its label `commit`.
    pub commit: Option<String>,
    /// The metric.
    pub metric: String,
    /// Mean of the runs before, as far as the change before this one.
    pub before: f64,
    /// Mean of the runs from this one on, as far as the next change.
    pub after: f64,
    /// The change in percent of `before`; null when that is zero.
    pub change_pct: Option<f64>,
    /// Two-sided p of Student's t-test between the two.
    pub p_value: f64,
    /// `strong`, or `weak` when it does not hold against its whole neighbourhood, or
    /// not yet.
    pub strength: Strength,
    /// The fingerprint of the environment of all these runs.
    pub environment: String,
}

impl LevelChange {
    /// What happened, in a few words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let pct = self.change_pct.map(|pct| format!("{pct:+.1} %, ")).unwrap_or_default();
        let shown = crate::criteria::six_digits;
        let (metric, before, after) = (&self.metric, shown(self.before), shown(self.after));
        format!("{metric} went from {before} to {after} ({pct}p = {:.2e})", self.p_value)
    }
}

/// The environment or the load changed with a run, so that its scenario's history
/// starts anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// When the first run under the new conditions ended.
    pub time: Timestamp,
    /// Its project.
    pub project: String,
    /// Its scenario.
    pub scenario: String,
    /// Its label `branch`.
    pub branch: Option<String>,
    /// Before and after.
    pub fingerprints: [String; 2],
    /// What of the environment is unlike, field by field: after and not before.
    pub environment: Vec<String>,
    /// The fields of the load that are unlike.
    pub load: Vec<String>,
}

impl Restart {
    /// What changed.
    #[must_use]
    pub fn subject(&self) -> &'static str {
        match (self.is_of_environment(), self.load.is_empty()) {
            (true, false) => "environment and load",
            (false, false) => "load",
            _ => "environment",
        }
    }

    /// The environment changed.
    #[must_use]
    pub fn is_of_environment(&self) -> bool {
        self.fingerprints[0] != self.fingerprints[1]
    }
}

/// What the histories of several scenarios show, each ascending in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Where the level of a metric changed.
    pub levels: Vec<LevelChange>,
    /// Where an environment or a load changed.
    pub restarts: Vec<Restart>,
}

/// Searches the runs, oldest first, each scenario on its own. `metrics` are those
/// that the runs were made with.
#[must_use]
pub fn changes(runs: &[Run], metrics: &[String]) -> Changes {
    let mut scenarios: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
    for run in runs {
        scenarios.entry((&run.project, &run.scenario)).or_default().push(run);
    }
    let mut found = Changes::default();
    for runs in scenarios.values() {
        for (number, metric) in metrics.iter().enumerate() {
            let history = searched(runs, number);
            let points = history.change_points.iter();
            found.levels.extend(points.map(|point| level_change(runs[point.index], metric, point)));
            // They are the same for every metric.
            if number == 0 {
                let places = history.restarts.iter();
                found.restarts.extend(places.map(|place| restart(runs, *place)));
            }
        }
    }
    found.levels.sort_by_key(|change| change.time);
    found.restarts.sort_by_key(|change| change.time);
    found
}

/// The history of the runs of one scenario, oldest first, by the first metric that
/// they were made with.
///
/// # Errors
/// When there is no such metric: a sentence that names the nearest known one.
pub fn trend(project: &str, scenario: &str, metric: &str, runs: &[Run]) -> Result<Trend, String> {
    let known = metrics::metric(metric)?;
    let runs: Vec<&Run> = runs.iter().collect();
    let searched = searched(&runs, 0);
    let changed = |what: fn(&Restart) -> bool| {
        searched.restarts.iter().copied().filter(|at| what(&restart(&runs, *at))).collect()
    };
    let shown = |run: &&Run| TrendRun {
        time: run.time,
        job_id: run.job_id,
        branch: run.branch.clone(),
        commit: run.commit.clone(),
        verdict: run.verdict,
        value: run.values.first().copied().flatten(),
        environment: run.environment.fingerprint.clone(),
    };
    Ok(Trend {
        project: project.to_owned(),
        scenario: scenario.to_owned(),
        metric: known.name,
        unit: known.unit,
        better: known.better,
        runs: runs.iter().map(shown).collect(),
        environment_changes: changed(Restart::is_of_environment),
        load_changes: changed(|restart| !restart.load.is_empty()),
        change_points: searched.change_points,
    })
}

/// Figures that cannot be trusted change no level, and neither does the place where
/// they were measured.
fn searched(runs: &[&Run], metric: usize) -> History {
    let places: Vec<usize> =
        (0..runs.len()).filter(|place| runs[*place].verdict != Verdict::Invalid).collect();
    let point = |place: &usize| HistoryPoint {
        value: runs[*place].values.get(metric).copied().flatten(),
        conditions: conditions(runs[*place]),
    };
    let points: Vec<HistoryPoint> = places.iter().map(point).collect();
    let mut found = history(&points, Search::default());
    found.change_points.iter_mut().for_each(|point| point.index = places[point.index]);
    found.restarts.iter_mut().for_each(|place| *place = places[*place]);
    found
}

fn conditions(run: &Run) -> String {
    let load = run.load.iter().map(|(field, value)| format!(" {field}={value}"));
    std::iter::once(run.environment.fingerprint.clone()).chain(load).collect()
}

fn level_change(run: &Run, metric: &str, point: &ChangePoint) -> LevelChange {
    LevelChange {
        time: run.time,
        job_id: run.job_id,
        project: run.project.clone(),
        scenario: run.scenario.clone(),
        branch: run.branch.clone(),
        commit: run.commit.clone(),
        metric: metric.to_owned(),
        before: point.before,
        after: point.after,
        change_pct: point.change_pct,
        p_value: point.p_value,
        strength: point.strength,
        environment: run.environment.fingerprint.clone(),
    }
}

/// `place` is that of a run that counts, and one that counts came before it.
fn restart(runs: &[&Run], place: usize) -> Restart {
    let run = runs[place];
    let valid = |run: &&&Run| run.verdict != Verdict::Invalid;
    let before = runs[..place].iter().rfind(valid).unwrap_or(&run);
    Restart {
        time: run.time,
        project: run.project.clone(),
        scenario: run.scenario.clone(),
        branch: run.branch.clone(),
        fingerprints: [before.environment.fingerprint.clone(), run.environment.fingerprint.clone()],
        environment: run.environment.unlike(&before.environment),
        load: differing(&[&before.load, &run.load]).into_iter().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
#[path = "trend_tests.rs"]
mod tests;
