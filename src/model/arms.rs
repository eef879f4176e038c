//! From the recordings of jobs to a comparison. A paired comparison is one job
//! whose trials belong to two arms; a historical one takes the trials of several
//! jobs. Every figure is made from the recorded trials, so any metric can be
//! compared afterwards.

use crate::assemble::{Evidence, assemble, total};
use crate::metrics::{self, Figures, Known, Reading};
use crate::recording::EndReason;
use crate::result::RunResult;
use crate::seconds::merged;
use crate::statistics::{
    Arm, ComparedTrial, Comparison, ComparisonValidity, Design, Measured, Question, compare,
    noise_floor_pct, steadiness,
};
use crate::verdict::{LimitedBy, Verdict};
use crate::{JobId, JobSpec, TrialRecording};
use std::collections::{BTreeMap, BTreeSet};

/// A second of which less was covered is not a full one.
const FULL_SECOND_US: u64 = 950_000;

/// What a comparison is to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The metric that decides.
    pub metric: String,
    /// By how much the candidate may be worse, in percent of the baseline.
    pub margin_pct: f64,
    /// What the bootstrap draws from.
    pub seed: u64,
    /// What A against A showed for this metric, target and environment.
    pub noise_floor_pct: Option<f64>,
}

impl Ask {
    /// What the job itself asks; nothing when it compares nothing.
    #[must_use]
    pub fn of(evidence: &Evidence<'_>) -> Option<Self> {
        let compare = evidence.spec.compare.as_ref()?;
        Some(Self {
            metric: compare.metric.clone(),
            margin_pct: compare.margin_pct,
            seed: evidence.spec.seed(evidence.job_id),
            noise_floor_pct: evidence.noise_floor_pct,
        })
    }
}

/// One arm of a comparison, or one job of a historical one.
struct Trials {
    job: JobId,
    arm: Arm,
    /// The arm as a job of its own.
    whole: RunResult,
    /// Each trial as a job of its own.
    each: Vec<Trial>,
}

struct Trial {
    /// From 0, among all trials of the job.
    index: u32,
    value: Option<f64>,
    /// What the value is made from.
    samples: u64,
    result: RunResult,
    full_seconds: Vec<f64>,
}

/// The comparison that a job of two arms measured; nothing when it compares
/// nothing.
#[must_use]
pub fn paired(evidence: &Evidence<'_>, ask: &Ask) -> Option<Comparison> {
    let compare = evidence.spec.compare.as_ref()?;
    let arms = [Arm::A, Arm::B].map(|arm| Trials::of(evidence, arm, arm, &ask.metric));
    let [a, b] = &arms;
    let placed = |trial: &Trial| (Some(trial.index / 2 + 1), Some(trial.index % 2 + 1));
    let mut told = Told::default();
    let software = |arm: &Trials| arm.whole.server.software.clone();
    if let (Some(a), Some(b)) = (software(a), software(b))
        && a != b
    {
        told.notes.push(format!("the baseline is {a}, the candidate {b}"));
    }
    let mut found = compared(evidence, ask, Design::Paired, &arms, Some(true), placed, told);
    if compare.of_itself() {
        found.noise_floor_pct = noise_floor_pct(&found).ok();
    }
    Some(found)
}

/// The metrics whose noise floor A against A tells, beside the one that decides.
const FLOORS: [&str; 5] =
    ["rps", "goodput_rps", "latency_p50_ms", "latency_p90_ms", "latency_p99_ms"];

/// What a job that compares a target with itself shows: the noise floor of each
/// metric that it can tell, in percent. Empty for every other job.
#[must_use]
pub fn noise_floors(evidence: &Evidence<'_>) -> Vec<(String, f64)> {
    let Some(compare) = evidence.spec.compare.as_ref().filter(|compare| compare.of_itself()) else {
        return Vec::new();
    };
    let mut metrics: Vec<&str> = FLOORS.to_vec();
    if !metrics.contains(&compare.metric.as_str()) {
        metrics.push(&compare.metric);
    }
    let ask = Ask {
        metric: String::new(),
        margin_pct: compare.margin_pct,
        seed: evidence.spec.seed(evidence.job_id),
        noise_floor_pct: None,
    };
    let floor = |metric: &str| {
        let comparison = paired(evidence, &Ask { metric: metric.to_owned(), ..ask.clone() })?;
        Some((metric.to_owned(), comparison.noise_floor_pct?))
    };
    metrics.into_iter().filter_map(floor).collect()
}

/// The comparison of finished jobs with others that were measured at another
/// time. Of a job that compares, its candidate counts. `forced` lets
/// environments differ, and the comparison says so.
///
/// # Errors
/// Why they cannot be compared: no job on a side, or environments that differ.
pub fn historical(
    baseline: &[Evidence<'_>],
    candidate: &[Evidence<'_>],
    ask: &Ask,
    forced: bool,
) -> Result<Comparison, Differing> {
    let of = |jobs: &[Evidence<'_>], arm| -> Vec<Trials> {
        jobs.iter().map(|job| Trials::of(job, Arm::B, arm, &ask.metric)).collect()
    };
    let mut arms = of(baseline, Arm::A);
    arms.extend(of(candidate, Arm::B));
    let mut environments: BTreeMap<String, JobId> = BTreeMap::new();
    for job in &arms {
        environments.entry(job.whole.environment.fingerprint.clone()).or_insert(job.job);
    }
    let same = environments.len() <= 1;
    if !same && !forced {
        return Err(Differing { environments });
    }
    let mut notes = Vec::new();
    if !same {
        notes.push(
            "the environments differ, and the comparison was forced: the difference may be theirs"
                .to_owned(),
        );
    }
    let unlike = unlike(baseline.iter().chain(candidate).map(|job| job.spec));
    let (unlike, forced_unlike) = if forced { (None, unlike) } else { (unlike, None) };
    notes.extend(forced_unlike.map(|unlike| format!("the comparison was forced: {unlike}")));
    let evidence = candidate.first().or(baseline.first());
    let evidence = evidence.ok_or_else(|| Differing { environments: BTreeMap::new() })?;
    let known = same.then_some(true);
    let unplaced = |_: &Trial| (None, None);
    let told = Told { objections: unlike.into_iter().collect(), notes };
    Ok(compared(evidence, ask, Design::Historical, &arms, known, unplaced, told))
}

/// What is said beside the figures.
#[derive(Default)]
struct Told {
    /// What forbids a decision.
    objections: Vec<String>,
    /// What the reader should know.
    notes: Vec<String>,
}

/// What a job asked for, field by field.
pub(crate) type Asked = BTreeMap<String, serde_json::Value>;

/// What a job asked for, but for how long and of which server.
pub(crate) fn asked(spec: &JobSpec) -> Asked {
    const LENGTH: [&str; 3] = ["requests", "duration", "warmup"];
    let spec = spec.arm(Arm::B);
    let parts = [
        ("load", serde_json::to_value(&spec.load)),
        ("request", serde_json::to_value(&spec.request)),
    ];
    let mut fields = BTreeMap::new();
    for (part, value) in parts {
        for (key, value) in value.ok().and_then(|v| v.as_object().cloned()).unwrap_or_default() {
            if !LENGTH.contains(&key.as_str()) {
                fields.insert(format!("{part}.{key}"), value);
            }
        }
    }
    fields
}

/// The fields in which not all are like the first.
pub(crate) fn differing<'a>(all: &[&'a Asked]) -> BTreeSet<&'a str> {
    let keys = all.iter().flat_map(|fields| fields.keys());
    keys.filter(|key| all.iter().any(|fields| fields.get(*key) != all[0].get(*key)))
        .map(String::as_str)
        .collect()
}

/// In what the jobs asked for other things.
fn unlike<'a>(specs: impl Iterator<Item = &'a JobSpec>) -> Option<String> {
    let all: Vec<Asked> = specs.map(asked).collect();
    let differing: Vec<&str> = differing(&all.iter().collect::<Vec<_>>()).into_iter().collect();
    (!differing.is_empty()).then(|| {
        format!(
            "the jobs asked for other things ({}): the difference may be theirs",
            differing.join(", ")
        )
    })
}

/// The jobs were measured in environments that differ: their fingerprints, each
/// with a job of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Fingerprint and one of its jobs.
    pub environments: BTreeMap<String, JobId>,
}

fn compared(
    evidence: &Evidence<'_>,
    ask: &Ask,
    design: Design,
    arms: &[Trials],
    same_environment: Option<bool>,
    placed: impl Fn(&Trial) -> (Option<u32>, Option<u32>),
    told: Told,
) -> Comparison {
    let metric = metrics::metric(&ask.metric).ok();
    let question = Question {
        metric: ask.metric.clone(),
        unit: metric.as_ref().map(|metric| metric.unit.clone()).unwrap_or_default(),
        better: metric.map_or(metrics::Better::Neither, |metric| metric.better),
        margin_pct: ask.margin_pct,
        noise_floor_pct: ask.noise_floor_pct,
        requests_needed: metrics::quantile(&ask.metric)
            .map_or(0, |q| (100.0 / (1.0 - q)).round() as u64),
        seed: ask.seed,
        load_model: evidence.spec.load.model,
    };
    let side = |arm: Arm| arms.iter().filter(move |trials| trials.arm == arm);
    let jobs = |arm| side(arm).map(|trials| trials.job).collect();
    let mut trials: Vec<ComparedTrial> = arms
        .iter()
        .flat_map(|arm| arm.each.iter().map(move |trial| (arm.arm, trial)))
        .map(|(arm, trial)| {
            let (block, position) = placed(trial);
            ComparedTrial { block, position, arm, value: trial.value, requests: trial.samples }
        })
        .collect();
    trials.sort_by_key(|trial| (trial.block, trial.position));
    let measured = Measured {
        design,
        baseline_runs: jobs(Arm::A),
        candidate_runs: jobs(Arm::B),
        trials,
        validity: validity(arms, same_environment),
        objections: told.objections.into_iter().chain(objections(arms)).collect(),
    };
    let mut comparison = compare(&question, measured);
    comparison.reasons.extend(told.notes);
    comparison.reasons.extend(failing(arms));
    comparison
}

fn validity(arms: &[Trials], same_environment: Option<bool>) -> ComparisonValidity {
    let each = || arms.iter().flat_map(|arm| &arm.each);
    let seconds: Vec<Vec<f64>> = each().map(|trial| trial.full_seconds.clone()).collect();
    let steadiness = steadiness(&seconds);
    let error_ratio = |arm: Arm| {
        let of_arm = arms.iter().filter(|trials| trials.arm == arm);
        let (bad, all) = of_arm.fold((0.0, 0.0), |(bad, all), trials| {
            let counts = &trials.whole.counts;
            let decided = counts.issued.saturating_sub(counts.aborted) as f64;
            (bad + trials.whole.error_ratio.unwrap_or(0.0) * decided, all + decided)
        });
        (all > 0.0).then(|| bad / all)
    };
    let generator = |arm: &Trials| arm.whole.validity.limited_by == LimitedBy::Generator;
    ComparisonValidity {
        generator_cpu_ok: Some(!arms.iter().any(generator)),
        rate_achieved_ratio: each()
            .filter_map(|trial| trial.result.rate_achieved_ratio)
            .reduce(f64::min),
        steady: steadiness.steady,
        drift_pct: steadiness.drift_pct,
        error_ratio_a: error_ratio(Arm::A),
        error_ratio_b: error_ratio(Arm::B),
        same_environment,
    }
}

/// What makes the figures of an arm invalid, but for what the conditions tell
/// anyway.
fn objections(arms: &[Trials]) -> Vec<String> {
    let mut objections: Vec<String> = Vec::new();
    for arm in arms {
        let name = arm.arm.name();
        if arm.whole.ended == EndReason::Aborted {
            objections.push(format!("{name}: its run was ended early by a criterion"));
        }
        if arm.whole.goodput_rps == 0.0 {
            objections.push(format!("{name}: there was no good response"));
        }
        let validity = &arm.whole.validity;
        if validity.valid || validity.limited_by == LimitedBy::Generator {
            continue;
        }
        for reason in &validity.reasons {
            let objection = format!("{}: {reason}", arm.arm.name());
            if !objections.contains(&objection) {
                objections.push(objection);
            }
        }
    }
    objections
}

/// That an arm fails criteria of its own, whatever the comparison says.
fn failing(arms: &[Trials]) -> Vec<String> {
    let fails = arms.iter().filter(|arm| arm.whole.verdict == Verdict::Fail);
    fails.map(|arm| format!("{} for itself: {}", arm.arm.name(), arm.whole.summary)).collect()
}

impl Trials {
    /// The trials of `from` that belong to `arm`, to stand for `side`.
    fn of(from: &Evidence<'_>, arm: Arm, side: Arm, metric: &str) -> Self {
        let (spec, recordings) = (from.spec.arm(arm), of_arm(from, arm));
        let alone = Evidence { spec: &spec, recordings: &recordings, ..from.clone() };
        let mut by_trial: BTreeMap<u32, Vec<TrialRecording>> = BTreeMap::new();
        for recording in &recordings {
            by_trial.entry(recording.trial).or_default().push(recording.clone());
        }
        let one = JobSpec { trials: 1, ..spec.clone() };
        let trial = |(index, recordings): (u32, Vec<TrialRecording>)| {
            let result =
                assemble(&Evidence { spec: &one, recordings: &recordings, ..from.clone() });
            let tally = total(&recordings);
            let figures = Figures { result: &result, tally: &tally };
            let known = Known::named(metric);
            let samples = known.map_or(0, |known| known.samples(&figures));
            let value = match known.map(|known| known.read(&figures)) {
                Some(Reading::Value(value)) => Some(value),
                Some(Reading::NoData(_)) | None => None,
            };
            Trial { index, value, samples, full_seconds: full_seconds(&recordings), result }
        };
        Self {
            job: from.job_id,
            arm: side,
            whole: assemble(&alone),
            each: by_trial.into_iter().map(trial).collect(),
        }
    }
}

/// Leaves the recordings that a job's result is made of: the candidate's; all of
/// them when the job compares nothing.
pub fn keep_candidate(job: JobId, spec: &JobSpec, recordings: &mut Vec<TrialRecording>) {
    recordings.retain(|recording| is_of_arm(job, spec, recording, Arm::B));
}

/// The recordings of one arm; all of them when the job compares nothing.
pub(crate) fn of_arm(evidence: &Evidence<'_>, arm: Arm) -> Vec<TrialRecording> {
    let Evidence { job_id, spec, recordings, .. } = evidence;
    recordings.iter().filter(|r| is_of_arm(*job_id, spec, r, arm)).cloned().collect()
}

fn is_of_arm(job: JobId, spec: &JobSpec, recording: &TrialRecording, arm: Arm) -> bool {
    spec.compare.is_none() || spec.arm_of_trial(job, recording.trial) == arm
}

/// Responses of each full second of a trial.
fn full_seconds(recordings: &[TrialRecording]) -> Vec<f64> {
    let generators: Vec<&TrialRecording> = recordings.iter().collect();
    let seconds = merged(&generators);
    let full = seconds.iter().filter(|second| second.tally.span_us >= FULL_SECOND_US);
    full.map(|second| second.tally.counts.ok as f64 / second.tally.span_s()).collect()
}

#[cfg(test)]
#[path = "arms_tests.rs"]
mod tests;
