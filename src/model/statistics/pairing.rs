//! From the trials of a comparison to figures that can be compared, and words
//! for every trial that has none.

use super::comparison::{ComparedTrial, Design};
use super::effect::{Effect, log, log_ratio};
use super::order::{Arm, BlockOrder};
use super::{MAX_TRIALS, MIN_BLOCKS};
use std::collections::BTreeMap;

/// Troubles of one kind that are told one by one; the rest is counted.
const TOLD: usize = 3;

/// What the trials come to.
pub(crate) struct Figures {
    pub(crate) effect: Option<Effect>,
    pub(crate) order: Vec<BlockOrder>,
    /// Pairs in which the candidate's value is the larger, and the smaller one.
    pub(crate) larger: u32,
    pub(crate) smaller: u32,
    pub(crate) pairs: Option<u32>,
    /// Why the trials cannot be compared as they should.
    pub(crate) objections: Vec<String>,
}

impl Figures {
    pub(crate) fn of(design: Design, trials: &[ComparedTrial], seed: u64) -> Self {
        let more =
            [Arm::A, Arm::B].into_iter().find(|arm| values(trials, *arm).count() > MAX_TRIALS);
        if let Some(arm) = more {
            let figures = Self::nothing();
            let objection = format!(
                "the {} has more than {MAX_TRIALS} trials: compare the latest ones",
                arm.name()
            );
            return Self { objections: vec![objection], ..figures };
        }
        match design {
            Design::Paired => Self::of_pairs(trials, seed),
            Design::Historical => Self::of_sets(trials, seed),
        }
    }

    fn nothing() -> Self {
        Self {
            effect: None,
            order: Vec::new(),
            larger: 0,
            smaller: 0,
            pairs: None,
            objections: Vec::new(),
        }
    }

    fn of_pairs(trials: &[ComparedTrial], seed: u64) -> Self {
        let mut blocks: BTreeMap<Option<u32>, Vec<&ComparedTrial>> = BTreeMap::new();
        for trial in trials {
            blocks.entry(trial.block).or_default().push(trial);
        }
        let (mut order, mut ratios, mut troubles) = (Vec::new(), Vec::new(), Vec::new());
        for (block, trials) in blocks {
            match pair(block, &trials) {
                Ok((first, ratio)) => {
                    order.push(first);
                    ratios.push(ratio);
                }
                Err(trouble) => troubles.push(trouble),
            }
        }
        let mut objections = told(troubles);
        objections.extend(unbalanced(&order));
        Self {
            effect: Effect::of_pairs(&ratios, seed),
            larger: ratios.iter().filter(|ratio| **ratio > 0.0).count() as u32,
            smaller: ratios.iter().filter(|ratio| **ratio < 0.0).count() as u32,
            pairs: Some(ratios.len() as u32),
            order,
            objections,
        }
    }

    fn of_sets(trials: &[ComparedTrial], seed: u64) -> Self {
        let logs = |arm| values(trials, arm).flatten().filter_map(log).collect::<Vec<f64>>();
        let troubles = trials.iter().filter_map(|trial| {
            trouble(trial.value).map(|what| format!("a trial of the {} {what}", trial.arm.name()))
        });
        Self {
            effect: Effect::of_sets(&logs(Arm::A), &logs(Arm::B), seed),
            objections: told(troubles.collect()),
            ..Self::nothing()
        }
    }
}

/// The values of one arm in the order of its trials.
pub(crate) fn values(trials: &[ComparedTrial], arm: Arm) -> impl Iterator<Item = Option<f64>> {
    trials.iter().filter(move |trial| trial.arm == arm).map(|trial| trial.value)
}

/// The order and the log ratio of a block, or what is wrong with it.
fn pair(block: Option<u32>, trials: &[&ComparedTrial]) -> Result<(BlockOrder, f64), String> {
    let Some(block) = block else {
        return Err("a trial names no block: it cannot be paired".to_owned());
    };
    let only = |arm: Arm| {
        let mut of_arm = trials.iter().filter(|trial| trial.arm == arm);
        match (of_arm.next(), of_arm.next()) {
            (Some(trial), None) => Ok(*trial),
            (None, _) => Err(format!("block {block} has no trial of the {}", arm.name())),
            (Some(_), Some(_)) => {
                Err(format!("block {block} has more than one trial of the {}", arm.name()))
            }
        }
    };
    let (baseline, candidate) = (only(Arm::A)?, only(Arm::B)?);
    for trial in [baseline, candidate] {
        if let Some(what) = trouble(trial.value) {
            return Err(format!("in block {block} the {} {what}", trial.arm.name()));
        }
    }
    let first = match baseline.position.cmp(&candidate.position) {
        std::cmp::Ordering::Less => BlockOrder::AB,
        std::cmp::Ordering::Greater => BlockOrder::BA,
        std::cmp::Ordering::Equal => {
            return Err(format!("block {block} does not say which trial came first"));
        }
    };
    let ratio = baseline.value.zip(candidate.value).and_then(|(a, b)| log_ratio(a, b));
    ratio.map(|ratio| (first, ratio)).ok_or_else(|| format!("block {block} has no ratio"))
}

/// Why a value has no ratio to another; `None` when it has.
fn trouble(value: Option<f64>) -> Option<String> {
    match value {
        None => Some("has no figure".to_owned()),
        Some(value) if !value.is_finite() => Some("has a figure that is no number".to_owned()),
        Some(value) if value <= 0.0 => Some(format!(
            "reads {value}: only figures above zero can be compared by their ratio, judge this metric by a criterion"
        )),
        Some(_) => None,
    }
}

fn told(mut troubles: Vec<String>) -> Vec<String> {
    let more = troubles.len().saturating_sub(TOLD);
    troubles.truncate(TOLD);
    if more > 0 {
        troubles.push(format!("{more} more of this kind"));
    }
    troubles
}

/// Drift reads as an effect when one arm came first more often.
fn unbalanced(order: &[BlockOrder]) -> Option<String> {
    let first = order.iter().filter(|block| **block == BlockOrder::AB).count();
    let (ab, ba) = (first, order.len() - first);
    (order.len() >= MIN_BLOCKS as usize && ab.abs_diff(ba) > 1).then(|| {
        format!("the order is not balanced, {ab} AB and {ba} BA: a drift would read as an effect")
    })
}
