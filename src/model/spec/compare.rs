//! A job that compares: its own load is the candidate, `compare.baseline` says
//! in what the baseline differs from it.

use super::fields::{Errors, Fields};
use super::{JobSpec, LoadSpec, MAX_TRIALS, RequestSpec, TargetSpec};
use crate::criteria::never_measured;
use crate::metrics::{self, Better};
use crate::spec::LoadModel;
use crate::statistics::{
    Arm, BlockOrder, DEFAULT_BLOCKS, DEFAULT_MARGIN_PCT, MAX_BLOCKS, MIN_BLOCKS, balanced_order,
};
use crate::{FieldError, JobId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use utoipa::ToSchema;

/// The largest seed that every reader of JSON keeps: 2^53 − 1.
const MAX_SEED: u64 = (1 << 53) - 1;
const MARGINS: RangeInclusive<f64> = 0.0..=1000.0;
/// Each block has a trial of either arm.
const _: () = assert!(MAX_BLOCKS == MAX_TRIALS / 2);

/// How the job's load is compared with another one, in one job: blocks of one
/// trial each, in balanced order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareSpec {
    /// In what the baseline differs from the job's own load, the candidate.
    pub baseline: BaselineSpec,
    /// Blocks, each with a trial of the baseline and one of the candidate.
    #[serde(default = "blocks")]
    #[schema(default = 10, minimum = 6, maximum = 50)]
    pub blocks: u32,
    /// The metric that decides; when not given, `rps` for a closed loop and
    /// `latency_p99_ms` for an open one.
    #[schema(required = false, example = "latency_p99_ms")]
    pub metric: String,
    /// By how much the candidate may be worse, in percent of the baseline.
    #[serde(default = "margin")]
    #[schema(default = 5.0, minimum = 0.0, maximum = 1000.0)]
    pub margin_pct: f64,
    /// What order and interval are drawn from; made from the job's id when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    pub seed: Option<u64>,
}

/// In what a baseline differs from the candidate; an empty one is the candidate
/// itself, which measures the noise floor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineSpec {
    /// Another target, in place of the job's; a registered one's name is
    /// accepted, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetSpec>,
    /// Another request; fields that are not given are those of the job's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestSpec>,
    /// Another load; fields that are not given are those of the job's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSpec>,
}

impl CompareSpec {
    /// True when A is compared with A.
    #[must_use]
    pub fn of_itself(&self) -> bool {
        self.baseline == BaselineSpec::default()
    }
}

impl JobSpec {
    /// The job that measures one arm alone; the job itself when it compares
    /// nothing.
    #[must_use]
    pub fn arm(&self, arm: Arm) -> Self {
        let Some(compare) = &self.compare else { return self.clone() };
        let mut alone = Self { compare: None, trials: compare.blocks, ..self.clone() };
        if arm == Arm::A {
            let BaselineSpec { target, request, load } = compare.baseline.clone();
            alone.target = target.unwrap_or(alone.target);
            alone.request = request.unwrap_or(alone.request);
            alone.load = load.unwrap_or(alone.load);
        }
        alone
    }

    /// In what the baseline asks for another load or request, such as
    /// `load.connections 40`; of a request only the fields' names, since what they
    /// hold may be long. Empty when the job compares nothing.
    #[must_use]
    pub fn baseline_differences(&self) -> Vec<String> {
        let fields = |spec: &Self, part: &str| {
            let value = match part {
                "load" => serde_json::to_value(&spec.load),
                _ => serde_json::to_value(&spec.request),
            };
            value.ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
        };
        let (baseline, candidate) = (self.arm(Arm::A), self.arm(Arm::B));
        let mut differences = Vec::new();
        for part in ["load", "request"] {
            let (ours, theirs) = (fields(&baseline, part), fields(&candidate, part));
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for key in keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key)) {
                let shown = match (part, ours.get(key)) {
                    (_, None) => " none".to_owned(),
                    ("load", Some(Value::String(text))) => format!(" {text}"),
                    ("load", Some(value)) => format!(" {value}"),
                    _ => String::new(),
                };
                differences.push(format!("{part}.{key}{shown}"));
            }
        }
        differences
    }

    /// What the job measures: both arms, or the candidate alone when it compares
    /// nothing.
    #[must_use]
    pub const fn arms(&self) -> &'static [Arm] {
        if self.compare.is_some() { &[Arm::A, Arm::B] } else { &[Arm::B] }
    }

    /// The baseline's host, when it is another one than [`JobSpec::target_host`]:
    /// the job has both for itself.
    #[must_use]
    pub fn baseline_host(&self) -> Option<String> {
        let host = self.compare.as_ref().map(|_| self.arm(Arm::A).target_host());
        host.filter(|host| *host != self.target_host())
    }

    /// What order and interval of a comparison are drawn from.
    #[must_use]
    pub fn seed(&self, job: JobId) -> u64 {
        let given = self.compare.as_ref().and_then(|compare| compare.seed);
        given.unwrap_or(job.0.as_u128() as u64 & MAX_SEED)
    }

    /// The order of the blocks; empty when the job compares nothing.
    #[must_use]
    pub fn block_order(&self, job: JobId) -> Vec<BlockOrder> {
        let blocks = self.compare.as_ref().map_or(0, |compare| compare.blocks);
        balanced_order(blocks, self.seed(job))
    }

    /// What trial `index`, from 0, measures; the candidate when the job compares
    /// nothing.
    #[must_use]
    pub fn arm_of_trial(&self, job: JobId, index: u32) -> Arm {
        let block = self.block_order(job).get(index as usize / 2).copied();
        block.map_or(Arm::B, |block| block.arms()[index as usize % 2])
    }
}

/// Reads `compare` of `document`, whose own load is read already.
pub(super) fn compare(
    document: &Value,
    fields: &mut Fields<'_>,
    named: &dyn Fn(&str) -> Option<TargetSpec>,
    load: &LoadSpec,
    errors: &mut Errors,
) -> Option<CompareSpec> {
    let value = fields.take("compare")?;
    let trials = document.get("trials").filter(|trials| !trials.is_null());
    let mut fields = Fields::of(value, "/compare", errors)?;
    if !fields.had("baseline") {
        let why = "is missing: say in what the baseline differs, such as {\"target\": {\"url\": …}}; \
                   {} compares the candidate with itself";
        errors.add("/compare/baseline", why);
    }
    let given = fields.take("baseline").and_then(|value| baseline(document, value, named, errors));
    let Question { metric, margin_pct, seed } = Question::of(&mut fields, errors);
    let least = u64::from(MIN_BLOCKS);
    let most = u64::from(MAX_BLOCKS);
    let compare = CompareSpec {
        baseline: given.unwrap_or_default(),
        blocks: fields.whole("blocks", least, most, u64::from(DEFAULT_BLOCKS), errors) as u32,
        metric: metric.unwrap_or_else(|| load.model.usual_metric().to_owned()),
        margin_pct,
        seed,
    };
    fields.refuse_rest(errors);
    if trials.is_some_and(|trials| trials.as_u64() != Some(2 * u64::from(compare.blocks))) {
        errors
            .add("/trials", "stands beside compare, which makes two trials a block: leave it out");
    }
    let higher = metrics::metric(&compare.metric).is_ok_and(|m| m.better == Better::Higher);
    if higher && compare.margin_pct >= 100.0 {
        let why = "is never exceeded: nothing falls by more than 100 %; ask for less, such as 5";
        errors.add("/compare/margin_pct", &format!("{} {why}", compare.margin_pct));
    }
    if compare.baseline.load.as_ref().is_some_and(|other| other.model != load.model) {
        let why = "is a closed loop beside an open one, and their figures are not of one kind: make both the same";
        errors.add("/compare/baseline/load", why);
    }
    Some(compare)
}

/// Refuses a metric of which one of the arms never has a figure.
pub(super) fn check_metric(spec: &JobSpec, errors: &mut Errors) {
    let Some(compare) = &spec.compare else { return };
    let Some(known) = metrics::Known::named(&compare.metric) else { return };
    let mut arms = spec.arms().iter();
    if let Some(why) = arms.find_map(|arm| never_measured(known, &spec.arm(*arm))) {
        errors.add("/compare/metric", &why);
    }
}

/// What is asked of two loads, or of finished jobs.
pub(crate) struct Question {
    /// One of the catalogue that has a direction.
    pub(crate) metric: Option<String>,
    pub(crate) margin_pct: f64,
    pub(crate) seed: Option<u64>,
}

impl Question {
    /// Reads an object that holds nothing else.
    pub(crate) fn read(value: &Value, errors: &mut Errors) -> Self {
        match Fields::of(value, "", errors) {
            Some(mut fields) => Self::of(&mut fields, errors),
            None => Self { metric: None, margin_pct: DEFAULT_MARGIN_PCT, seed: None },
        }
    }

    fn of(fields: &mut Fields<'_>, errors: &mut Errors) -> Self {
        let metric = fields.text("metric", errors);
        let pointer = fields.at("metric");
        match metric.as_deref().map(metrics::metric) {
            Some(Ok(known)) if known.better == Better::Neither => {
                let name = known.name;
                let why = format!("{name:?} describes; neither more nor less of it is better");
                errors.add(&pointer, &why);
            }
            Some(Err(why)) => errors.add(&pointer, &why),
            Some(Ok(_)) | None => {}
        }
        let margin_pct = fields.number("margin_pct", MARGINS, errors);
        Self {
            metric,
            margin_pct: margin_pct.unwrap_or(DEFAULT_MARGIN_PCT),
            seed: fields.optional_whole("seed", 0, MAX_SEED, errors),
        }
    }
}

impl LoadModel {
    /// The metric that decides when none is asked for.
    #[must_use]
    pub const fn usual_metric(self) -> &'static str {
        match self {
            Self::Closed => "rps",
            Self::Open => "latency_p99_ms",
        }
    }
}

/// The baseline is read as the job document that measures it alone, so that the
/// same is right and wrong there as everywhere.
fn baseline(
    document: &Value,
    value: &Value,
    named: &dyn Fn(&str) -> Option<TargetSpec>,
    errors: &mut Errors,
) -> Option<BaselineSpec> {
    const POINTER: &str = "/compare/baseline";
    let mut fields = Fields::of(value, POINTER, errors)?;
    let parts = ["target", "request", "load"].map(|key| (key, fields.take(key)));
    fields.refuse_rest(errors);
    let mut alone = Map::new();
    for (key, part) in parts {
        let own = document.get(key);
        let read = match (key, own, part) {
            ("request" | "load", Some(Value::Object(own)), Some(Value::Object(part))) => {
                Some(Value::Object(over(own, part)))
            }
            (_, own, part) => part.or(own).cloned(),
        };
        alone.extend(read.map(|read| (key.to_owned(), read)));
    }
    let is_part = |pointer: &str| {
        let told = |(key, part): &(&str, Option<&Value>)| {
            part.is_some() && pointer[1..].split('/').next() == Some(key)
        };
        pointer.len() > 1 && parts.iter().any(told)
    };
    match JobSpec::parse(&Value::Object(alone), named) {
        Ok(spec) => {
            let has = |at: usize| parts[at].1.is_some();
            Some(BaselineSpec {
                target: has(0).then_some(spec.target),
                request: has(1).then_some(spec.request),
                load: has(2).then_some(spec.load),
            })
        }
        // What is wrong with the job's own load is told of it, not of the baseline.
        Err(_) if JobSpec::parse(&Value::Object(own(document)), named).is_err() => None,
        Err(found) => {
            for FieldError { pointer, detail } in found {
                match is_part(&pointer) {
                    true => errors.add(&format!("{POINTER}{pointer}"), &detail),
                    false => errors
                        .add(POINTER, &format!("does not go with {}: {detail}", &pointer[1..])),
                }
            }
            None
        }
    }
}

/// The load of the job itself.
fn own(document: &Value) -> Map<String, Value> {
    let part = |key: &str| Some((key.to_owned(), document.get(key)?.clone()));
    ["target", "request", "load"].into_iter().filter_map(part).collect()
}

/// The fields of `own`, those of `part` before them. What says how long a load
/// lasts goes together.
fn over(own: &Map<String, Value>, part: &Map<String, Value>) -> Map<String, Value> {
    const LENGTH: [&str; 2] = ["requests", "duration"];
    let lasts = LENGTH.iter().any(|key| part.contains_key(*key));
    let kept = own.iter().filter(|(key, _)| !(lasts && LENGTH.contains(&key.as_str())));
    let mut all: Map<String, Value> = kept.map(|(k, v)| (k.clone(), v.clone())).collect();
    all.extend(part.iter().map(|(key, value)| (key.clone(), value.clone())));
    all
}

const fn blocks() -> u32 {
    DEFAULT_BLOCKS
}

const fn margin() -> f64 {
    DEFAULT_MARGIN_PCT
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
