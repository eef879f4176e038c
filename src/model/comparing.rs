//! What `POST /comparisons` and `benchd compare` take: two loads to be measured
//! in one job, or jobs that were measured already.

use crate::spec::fields::{Errors, Fields, shown};
use crate::{FieldError, JobId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// What the loads of a comparison have when the candidate does not say how long
/// it lasts.
struct Profile {
    blocks: u32,
    warmup: &'static str,
    duration: &'static str,
}

const USUAL: Profile = Profile { blocks: 10, warmup: "5s", duration: "20s" };
/// Under three minutes.
const QUICK: Profile = Profile { blocks: 6, warmup: "2s", duration: "10s" };

/// Jobs on one side: each is read whole.
const MAX_JOBS: usize = 50;

/// Fields of the request that go into the job as they are.
const OF_THE_JOB: [&str; 5] = ["project", "scenario", "criteria", "on_inconclusive", "labels"];
const OF_THE_QUESTION: [&str; 4] = ["metric", "margin_pct", "blocks", "seed"];

/// A request to compare. Each side is a load (a URL, the name of a registered
/// target, or a job document) or finished jobs (an id, or a list of them).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSpec {
    /// What the candidate is compared with. Of a job document `target`, `request`
    /// and `load` count; what they leave out is the candidate's own. With a
    /// candidate that is a job it may be left out: then it is the stored baseline
    /// `default` of the job's project, scenario and environment.
    #[schema(value_type = Option<Value>, example = "http://127.0.0.1:8088/")]
    pub baseline: Option<Value>,
    /// What is judged.
    #[schema(value_type = Value, example = "http://127.0.0.1:8089/")]
    pub candidate: Value,
    /// The metric that decides; `rps` for closed loops and `latency_p99_ms` for
    /// open ones when not given.
    #[schema(example = "latency_p99_ms")]
    pub metric: Option<String>,
    /// By how much the candidate may be worse, in percent of the baseline.
    #[schema(default = 5.0, minimum = 0.0, maximum = 1000.0)]
    pub margin_pct: Option<f64>,
    /// Blocks, each with a trial of either side; only with loads.
    #[schema(default = 10, minimum = 6, maximum = 50)]
    pub blocks: Option<u32>,
    /// Six blocks of shorter trials, under three minutes in all; only with loads.
    #[schema(default = false)]
    pub quick: Option<bool>,
    /// What order and interval are drawn from.
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    pub seed: Option<u64>,
    /// Compare jobs even though their environments differ.
    #[schema(default = false)]
    pub force: Option<bool>,
    /// Which project the job belongs to; only with loads, as the next four.
    pub project: Option<String>,
    /// Which scenario of the project.
    pub scenario: Option<String>,
    /// Conditions on the candidate's metrics.
    pub criteria: Option<Vec<String>>,
    /// What the gate answers when nothing can be decided.
    pub on_inconclusive: Option<crate::spec::OnInconclusive>,
    /// Free labels to find the job by.
    pub labels: Option<std::collections::BTreeMap<String, String>>,
}

/// A request to compare, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparing {
    /// Two loads: the document of the job that measures both.
    Loads(Value),
    /// Jobs that were measured already.
    Jobs(ComparedJobs),
}

/// Jobs to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedJobs {
    /// What the candidate is compared with; the stored baseline when empty.
    pub baseline: Vec<JobId>,
    /// What is judged; at least one.
    pub candidate: Vec<JobId>,
    /// The metric that decides, when one is asked for.
    pub metric: Option<String>,
    /// By how much the candidate may be worse, in percent of the baseline.
    pub margin_pct: f64,
    /// What the interval is drawn from.
    pub seed: u64,
    /// Compare even though the environments differ.
    pub force: bool,
}

/// One side as it was written.
enum Side {
    Load(Map<String, Value>),
    Jobs(Vec<JobId>),
}

impl Comparing {
    /// Reads a request.
    ///
    /// # Errors
    /// Everything that is wrong, in document order; what is wrong with a job is
    /// found when the document of [`Comparing::Loads`] is parsed, see [`place`].
    pub fn parse(document: &Value) -> Result<Self, Vec<FieldError>> {
        let mut errors = Errors::default();
        let Some(mut fields) = Fields::of(document, "", &mut errors) else {
            return Err(errors.0);
        };
        let baseline = fields.take("baseline").map(|v| side(v, "/baseline", &mut errors));
        let candidate = fields.take("candidate");
        if candidate.is_none() {
            let why = "is missing: give a URL, a registered target's name, a job document, or finished jobs";
            errors.add("/candidate", why);
        }
        let candidate = candidate.map(|v| side(v, "/candidate", &mut errors));
        let quick = fields.flag("quick", false, &mut errors);
        let force = fields.flag("force", false, &mut errors);
        let asked: Map<String, Value> = OF_THE_QUESTION
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), fields.take(key)?.clone())))
            .collect();
        let of_the_job: Map<String, Value> = OF_THE_JOB
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), fields.take(key)?.clone())))
            .collect();
        fields.refuse_rest(&mut errors);
        if let (Some(Some(Side::Jobs(a))), Some(Some(Side::Jobs(b)))) = (&baseline, &candidate)
            && let Some(both) = a.iter().find(|job| b.contains(job))
        {
            errors.add(
                "/baseline",
                &format!(
                    "holds job {both}, and so does candidate: a job says nothing about itself"
                ),
            );
        }
        if let Some(Some(Side::Load(load))) = &candidate {
            let stated = |key: &str| load.get("load").and_then(|load| load.get(key)).is_some();
            if load.contains_key("compare") {
                errors.add(
                    "/candidate/compare",
                    "stands beside baseline: leave it out, or post it as a job",
                );
            }
            if quick && (stated("requests") || stated("duration")) {
                errors.add(
                    "/quick",
                    "stands beside a candidate that says how long it lasts: give one of the two",
                );
            }
            if force {
                errors.add(
                    "/force",
                    "goes with finished jobs: loads are measured in one environment",
                );
            }
        }
        let comparing = match (baseline.flatten(), candidate.flatten()) {
            (Some(Side::Load(baseline)), Some(Side::Load(candidate))) => {
                let profile = if quick { QUICK } else { USUAL };
                Some(Self::Loads(job(
                    baseline,
                    candidate,
                    asked.clone(),
                    of_the_job.clone(),
                    &profile,
                )))
            }
            (Some(Side::Jobs(baseline)), Some(Side::Jobs(candidate))) => {
                Some((baseline, candidate)).map(|sides| jobs(sides, &asked, force, &mut errors))
            }
            (None, Some(Side::Jobs(candidate))) if !document_has(document, "baseline") => {
                Some(jobs((Vec::new(), candidate), &asked, force, &mut errors))
            }
            (None, Some(Side::Load(_))) if !document_has(document, "baseline") => {
                errors.add("/baseline", "is missing: give what the load is compared with");
                None
            }
            (Some(baseline), Some(_)) => {
                let sides = match baseline {
                    Side::Load(_) => "a load beside a finished job",
                    Side::Jobs(_) => "a finished job beside a load",
                };
                errors.add("/baseline", &format!("is {sides}: compare two loads, or two jobs"));
                None
            }
            _ => None,
        };
        if let Some(Self::Jobs(_)) = comparing {
            let stray = of_the_job.keys().map(String::as_str).chain(quick.then_some("quick"));
            let stray = stray.chain(asked.contains_key("blocks").then_some("blocks"));
            for key in stray {
                let why = "goes with loads to measure, and these jobs are finished: leave it out";
                errors.add(&format!("/{key}"), why);
            }
        }
        match comparing {
            Some(comparing) if errors.0.is_empty() => Ok(comparing),
            _ => Err(errors.0),
        }
    }
}

fn document_has(document: &Value, key: &str) -> bool {
    document.get(key).is_some_and(|value| !value.is_null())
}

fn side(value: &Value, pointer: &str, errors: &mut Errors) -> Option<Side> {
    match value {
        Value::String(text) => match text.parse::<JobId>() {
            Ok(job) => Some(Side::Jobs(vec![job])),
            Err(_) if text.contains("://") => {
                Some(Side::Load(Map::from_iter([("target".to_owned(), json!({"url": text}))])))
            }
            Err(_) => Some(Side::Load(Map::from_iter([("target".to_owned(), json!(text))]))),
        },
        Value::Object(document) => Some(Side::Load(document.clone())),
        Value::Array(ids) if ids.len() > MAX_JOBS => {
            errors.add(pointer, &format!("holds {} jobs: at most {MAX_JOBS}", ids.len()));
            None
        }
        Value::Array(ids) if !ids.is_empty() => {
            let mut jobs = Vec::new();
            for (index, id) in ids.iter().enumerate() {
                match id.as_str().map(str::parse::<JobId>) {
                    Some(Ok(job)) if jobs.contains(&job) => errors.add(
                        &format!("{pointer}/{index}"),
                        &format!("{job} is given twice: its trials count once"),
                    ),
                    Some(Ok(job)) => jobs.push(job),
                    _ => errors.add(
                        &format!("{pointer}/{index}"),
                        &format!("{} is no job id: job ids are UUIDs", shown(id)),
                    ),
                }
            }
            Some(Side::Jobs(jobs))
        }
        other => {
            let why = "is not right here: write a URL, a registered target's name, a job document, a job's id, or a list of ids";
            errors.add(pointer, &format!("{} {why}", shown(other)));
            None
        }
    }
}

/// The document of the job that measures both loads.
fn job(
    mut baseline: Map<String, Value>,
    candidate: Map<String, Value>,
    asked: Map<String, Value>,
    of_the_job: Map<String, Value>,
    profile: &Profile,
) -> Value {
    let mut job = candidate;
    job.extend(of_the_job);
    let load = job.entry("load").or_insert_with(|| json!({}));
    if let Some(load) = load.as_object_mut() {
        if !load.contains_key("requests") && !load.contains_key("duration") {
            load.insert("duration".to_owned(), json!(profile.duration));
        }
        load.entry("warmup").or_insert_with(|| json!(profile.warmup));
    }
    // Two documents of jobs may well say who they belong to; the candidate's counts.
    baseline.retain(|key, _| !OF_THE_JOB.contains(&key.as_str()));
    let mut compare = Map::from_iter([
        ("baseline".to_owned(), Value::Object(baseline)),
        ("blocks".to_owned(), json!(profile.blocks)),
    ]);
    compare.extend(asked);
    job.insert("compare".to_owned(), Value::Object(compare));
    Value::Object(job)
}

fn jobs(
    (baseline, candidate): (Vec<JobId>, Vec<JobId>),
    asked: &Map<String, Value>,
    force: bool,
    errors: &mut Errors,
) -> Comparing {
    let question = Value::Object(asked.clone());
    let read = crate::spec::Question::read(&question, errors);
    let seed = read.seed.unwrap_or_default();
    let (metric, margin_pct) = (read.metric, read.margin_pct);
    Comparing::Jobs(ComparedJobs { baseline, candidate, metric, margin_pct, seed, force })
}

/// Where a fault of the document of [`Comparing::Loads`] stands in the request.
#[must_use]
pub fn place(pointer: &str, request: &Value) -> String {
    let side = |side: &str, rest: &str| match request.get(side) {
        Some(Value::Object(_)) => format!("/{side}{rest}"),
        _ => format!("/{side}"),
    };
    if let Some(rest) = pointer.strip_prefix("/compare/baseline") {
        return side("baseline", rest);
    }
    if let Some(rest) = pointer.strip_prefix("/compare") {
        return rest.to_owned();
    }
    let top = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
    if OF_THE_JOB.contains(&top) && request.get(top).is_some() {
        return pointer.to_owned();
    }
    side("candidate", pointer)
}

#[cfg(test)]
#[path = "comparing_tests.rs"]
mod tests;
