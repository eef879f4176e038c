//! `GET /grafana/series`.

use super::downsample;
use crate::aside::aside;
use crate::config::App;
use crate::extract::RawQuery;
use crate::params::Params;
use crate::problem::{ApiResult, Code, Problem};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::spec::LoadSpec;
use benchd_model::{Job, JobId, TimelineRow, Timestamp, TrialRecording, arms};
use serde::Serialize;
use utoipa::ToSchema;

/// The day that elapsed time is told on: midnight is the start of the run.
const ELAPSED_ORIGIN: Timestamp = Timestamp::from_micros(946_684_800_000_000);

/// Most runs in one answer.
const MAX_RUNS: usize = 20;

const DEFAULT_POINTS: u32 = 1000;
const MAX_POINTS: u32 = 100_000;

/// The figures of a row.
const METRICS: [&str; 29] = [
    "elapsed_s",
    "trial",
    "issued",
    "ok",
    "errors",
    "rps",
    "goodput_rps",
    "error_ratio",
    "connections",
    "latency_p50_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "latency_max_ms",
    "received_bytes",
    "generator_cpu_ratio",
    "generator_wait_ratio",
    "generator_busy_ratio",
    "connections_idle_ratio",
    "tcp_retransmits",
    "listen_overflows",
    "nginx_active",
    "nginx_reading",
    "nginx_writing",
    "nginx_waiting",
    "nginx_accepts_per_s",
    "nginx_requests_per_s",
    "nginx_dropped",
    "dropped",
    "lateness_p99_ms",
];

/// One figure of one run at one time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LongRow {
    /// End of the stretch.
    pub(crate) time: Timestamp,
    /// The run: branch and commit, or scenario; with the id when runs share it.
    #[schema(example = "main@4f2c9e1")]
    pub(crate) series: String,
    /// The figure; null where there is none.
    pub(crate) value: Option<f64>,
}

/// Rows: wide ones are those of the timeline.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SeriesRows {
    /// One run, every figure a column.
    Wide(Vec<TimelineRow>),
    /// Several runs, one figure.
    Long(Vec<LongRow>),
}

#[derive(Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Shape {
    Wide,
    Long,
}

#[derive(Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Axis {
    Wall,
    Elapsed,
}

/// A run over time
///
/// Timeline rows as a bare array, ascending. `shape=long` tells one `metric` of
/// several `runs`. `time=elapsed` sets every run to start at
/// 2000-01-01T00:00:00Z, so that runs lie over each other; `from` and `to` are
/// ignored then. More than `max_points` seconds are merged (histograms, not
/// percentiles). No run, or nothing measured yet: `[]`.
#[utoipa::path(
    get,
    path = "/grafana/series",
    tag = "grafana",
    operation_id = "grafana_series",
    params(
        ("run_id" = Option<uuid::Uuid>, Query, description = "The job."),
        ("runs" = Option<String>, Query, description = "Several jobs, separated by commas; at most 20, for `shape=long`."),
        ("project" = Option<String>, Query, description = "Show only runs of this project."),
        ("scenario" = Option<String>, Query, description = "Show only runs of this scenario."),
        ("branch" = Option<String>, Query, description = "Show only runs with this label `branch`."),
        ("shape" = Option<Shape>, Query, description = "`wide` (default) or `long`."),
        ("metric" = Option<String>, Query, description = "The column that `shape=long` tells; `latency_p99_ms` when not given."),
        ("time" = Option<Axis>, Query, description = "`wall` (default) or `elapsed`."),
        ("from" = Option<String>, Query, description = "First time shown: RFC 3339 or epoch milliseconds."),
        ("to" = Option<String>, Query, description = "Last time shown."),
        ("max_points" = Option<u32>, Query, minimum = 1, maximum = 100000, description = "Most rows of a run; 1000 when not given."),
    ),
    responses(
        (status = 200, description = "The rows.", body = SeriesRows),
        (status = 400, description = "`invalid_query`"),
        (status = 404, description = "`job_not_found`"),
    ),
)]
pub(crate) async fn series(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> ApiResult<Response> {
    let asked = Asked::read(query.as_deref())?;
    let mut runs = Vec::with_capacity(asked.runs.len());
    for id in &asked.runs {
        let job =
            app.store.job(*id).await?.ok_or_else(|| {
                Problem::new(Code::JobNotFound, format!("no job has the id {id}"))
            })?;
        if !asked.shows(&job) {
            continue;
        }
        let rows = rows_of(&app, &job, &asked).await?;
        runs.push((job, rows));
    }
    if asked.shape == Shape::Long {
        return Ok(Json(SeriesRows::Long(long(&runs, &asked.metric))).into_response());
    }
    let rows = runs.pop().map(|(_, rows)| rows).unwrap_or_default();
    Ok(Json(SeriesRows::Wide(rows)).into_response())
}

/// What was asked for.
struct Asked {
    runs: Vec<JobId>,
    project: Option<String>,
    scenario: Option<String>,
    branch: Option<String>,
    shape: Shape,
    metric: String,
    axis: Axis,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    max_points: u32,
}

impl Asked {
    fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut params = Params::lenient(query);
        let one = params.parsed::<JobId>("run_id");
        let runs = read_runs(&mut params, one);
        let project = params.text("project");
        let scenario = params.text("scenario");
        let branch = params.text("branch");
        let shape = params.one_of("shape", &[("wide", Shape::Wide), ("long", Shape::Long)]);
        let shape = shape.unwrap_or(Shape::Wide);
        let metrics = METRICS.map(|name| (name, name));
        let metric = params.one_of("metric", &metrics).unwrap_or("latency_p99_ms").to_owned();
        let axis = params.one_of("time", &[("wall", Axis::Wall), ("elapsed", Axis::Elapsed)]);
        let from = params.parsed("from");
        let to = params.parsed("to");
        let max_points = params.whole("max_points", 1..=MAX_POINTS).unwrap_or(DEFAULT_POINTS);
        if shape == Shape::Wide && runs.len() > 1 {
            params.error("runs", "wide rows show one run: ask for shape=long, or for one run_id");
        }
        params.finish()?;
        let axis = axis.unwrap_or(Axis::Wall);
        Ok(Self { runs, project, scenario, branch, shape, metric, axis, from, to, max_points })
    }

    /// Dashboards send their filters with every query.
    fn shows(&self, job: &Job) -> bool {
        let asks = |asked: &Option<String>, found: Option<&str>| {
            asked.as_deref().is_none_or(|asked| found == Some(asked))
        };
        asks(&self.project, Some(&job.spec.project))
            && asks(&self.scenario, Some(&job.spec.scenario))
            && asks(&self.branch, job.spec.labels.get("branch").map(String::as_str))
    }
}

/// `run_id` and `runs` together, each run once.
fn read_runs(params: &mut Params, one: Option<JobId>) -> Vec<JobId> {
    let mut runs: Vec<JobId> = one.into_iter().collect();
    let list = params.text("runs").unwrap_or_default();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.parse() {
            Ok(id) if !runs.contains(&id) => runs.push(id),
            Ok(_) => {}
            Err(detail) => {
                params.error("runs", detail);
                return runs;
            }
        }
    }
    if runs.len() > MAX_RUNS {
        params.error("runs", format!("{} runs are too many: at most {MAX_RUNS}", runs.len()));
    }
    runs
}

async fn rows_of(app: &App, job: &Job, asked: &Asked) -> ApiResult<Vec<TimelineRow>> {
    let mut recordings = app.store.recordings(job.id).await?;
    arms::keep_candidate(job.id, &job.spec, &mut recordings);
    let load = job.spec.load.clone();
    let points = asked.max_points as usize;
    let from = asked.from.map_or(i64::MIN, Timestamp::as_micros);
    let to = asked.to.map_or(i64::MAX, Timestamp::as_micros);
    let elapsed = asked.axis == Axis::Elapsed;
    Ok(aside(move || {
        if elapsed {
            elapsed_rows(recordings, &load, points)
        } else {
            wall_rows(recordings, &load, points, from, to)
        }
    })
    .await)
}

fn elapsed_rows(
    recordings: Vec<TrialRecording>,
    load: &LoadSpec,
    points: usize,
) -> Vec<TimelineRow> {
    let seconds = downsample::seconds_between(&recordings, i64::MIN, i64::MAX);
    let mut rows = downsample::rows(recordings, load, seconds, points);
    rebase(&mut rows);
    rows
}

fn wall_rows(
    recordings: Vec<TrialRecording>,
    load: &LoadSpec,
    points: usize,
    from: i64,
    to: i64,
) -> Vec<TimelineRow> {
    let seconds = downsample::seconds_between(&recordings, from, to);
    let mut rows = downsample::rows(recordings, load, seconds, points);
    rows.retain(|row| (from..=to).contains(&row.time.as_micros()));
    rows
}

/// Moves the start of the run to the origin; pauses between trials stay.
fn rebase(rows: &mut [TimelineRow]) {
    let Some(first) = rows.first() else { return };
    let start = first.time.plus_micros(-((first.elapsed_s * 1e6).round() as i64));
    for row in rows {
        let elapsed = row.time.as_micros() - start.as_micros();
        row.time = ELAPSED_ORIGIN.plus_micros(elapsed);
    }
}

/// One figure of every run, all rows ascending.
fn long(runs: &[(Job, Vec<TimelineRow>)], metric: &str) -> Vec<LongRow> {
    let names = series_names(runs.iter().map(|(job, _)| job));
    let mut rows: Vec<LongRow> = runs
        .iter()
        .zip(names)
        .flat_map(|((_, rows), series)| {
            rows.iter().map(move |row| {
                let (time, value) = (row.time, figure(row, metric));
                LongRow { time, series: series.clone(), value }
            })
        })
        .collect();
    rows.sort_by(|a, b| (a.time, &a.series).cmp(&(b.time, &b.series)));
    rows
}

fn figure(row: &TimelineRow, metric: &str) -> Option<f64> {
    serde_json::to_value(row).expect("a row is plain JSON").get(metric)?.as_f64()
}

/// A name for every run by which people know it, and no two the same.
fn series_names<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<String> {
    let named: Vec<(String, String)> = jobs
        .map(|job| {
            let id = job.id.to_string();
            (known_as(job), id[id.len() - 6..].to_owned())
        })
        .collect();
    let shared = |name: &str| named.iter().filter(|(other, _)| other == name).count() > 1;
    named
        .iter()
        .map(|(name, id)| if shared(name) { format!("{name} {id}") } else { name.clone() })
        .collect()
}

fn known_as(job: &Job) -> String {
    let labels = &job.spec.labels;
    let commit = labels.get("commit").map(|commit| commit.chars().take(7).collect::<String>());
    match (labels.get("branch"), commit) {
        (Some(branch), Some(commit)) => format!("{branch}@{commit}"),
        (Some(branch), None) => branch.clone(),
        (None, Some(commit)) => commit,
        (None, None) => job.spec.scenario.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::METRICS;
    use crate::examples;

    #[test]
    fn every_figure_of_a_row_can_be_asked_for() {
        let row = serde_json::to_value(examples::timeline_row()).unwrap();
        let mut keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        keys.retain(|key| !["time", "limited_by"].contains(key));
        let mut metrics = METRICS;
        metrics.sort_unstable();
        keys.sort_unstable();
        assert_eq!(keys, metrics);
    }
}
