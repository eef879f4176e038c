//! The decision of a comparison: the interval of the effect against a margin.

use super::comparison::Design;
use super::distributions::student_upper;
use super::effect::{Effect, percent};
use super::summary::Percent;
use super::{CONFIDENCE, MAX_BLOCKS, MIN_BLOCKS};
use crate::criteria::six_digits;
use crate::metrics::Better;
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// Quantile of the normal distribution that makes the proposed number of blocks
/// decide in four of five cases: 0.8.
const POWER_Z: f64 = 0.841_621_233_572_914_3;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The candidate is worse: by more than the margin as estimated, and by
    /// something in any case (the interval does not reach zero).
    Regression,
    /// The candidate is not worse by more than the margin. A smaller change for
    /// the worse may be real; the summary says so.
    NoRegression,
    /// The candidate is better: by more than the margin as estimated, and by
    /// something in any case.
    Improvement,
    /// The trials do not decide it, or cannot be trusted to.
    Inconclusive,
}

impl Decision {
    /// The decision as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NoRegression => "no_regression",
            Self::Improvement => "improvement",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A decision with its reasons, the first one the weightiest.
pub(crate) struct Judgement {
    pub(crate) decision: Decision,
    pub(crate) reasons: Vec<String>,
    pub(crate) further_blocks: Option<u32>,
}

impl Judgement {
    pub(crate) fn inconclusive(reasons: Vec<String>, further_blocks: Option<u32>) -> Self {
        Self { decision: Decision::Inconclusive, reasons, further_blocks }
    }

    fn decided(decision: Decision, reason: String) -> Self {
        Self { decision, reasons: vec![reason], further_blocks: None }
    }
}

/// Judges an effect that nothing else speaks against.
pub(crate) fn judge(
    effect: Option<&Effect>,
    better: Better,
    margin_pct: f64,
    design: Design,
) -> Judgement {
    let n = effect.map_or(0, |effect| effect.n as u32);
    let interval = effect.and_then(|effect| effect.interval);
    let (Some(effect), Some(interval)) = (effect, interval.filter(|_| n >= MIN_BLOCKS)) else {
        return too_few(n, design);
    };
    let (low, middle, high) =
        (percent(interval.low), percent(effect.estimate), percent(interval.high));
    // From here on: percent by which the candidate is worse.
    let (low, middle, high) = match better {
        Better::Lower => (low, middle, high),
        Better::Higher => (-high, -middle, -low),
        Better::Neither => {
            let reason = "neither a larger nor a smaller value of this metric is better";
            return Judgement::inconclusive(vec![reason.to_owned()], None);
        }
    };
    let shown = Percent::beside(&[low, middle, high], margin_pct);
    let margin = six_digits(margin_pct).to_string();
    let beyond = |word: &str, middle: f64, least: f64| {
        let sure = least > margin_pct;
        let by = if sure { String::new() } else { format!("{} %, by ", shown.plain(middle)) };
        format!("{word} by {by}{} % at least, the margin is {margin} %", shown.plain(least))
    };
    if low > 0.0 && middle > margin_pct {
        return Judgement::decided(Decision::Regression, beyond("worse", middle, low));
    }
    if high < 0.0 && middle < -margin_pct {
        return Judgement::decided(Decision::Improvement, beyond("better", -middle, -high));
    }
    if high < margin_pct {
        return Judgement::decided(Decision::NoRegression, within(low, high, &shown, &margin));
    }
    let crossing = if low > 0.0 {
        format!("worse by {} to {} %", shown.plain(low), shown.plain(high))
    } else {
        format!("anything from {} % better to {} % worse", shown.plain(-low), shown.plain(high))
    };
    let crossing = format!("{crossing}, the margin is {margin} %");
    undecided(crossing, effect, better, margin_pct, design)
}

fn too_few(n: u32, design: Design) -> Judgement {
    let (what, further) = match design {
        Design::Paired => ("pairs that can be compared", Some(MIN_BLOCKS.saturating_sub(n))),
        Design::Historical if n == 1 => ("trial on the smaller side", None),
        Design::Historical => ("trials on the smaller side", None),
    };
    let reason = format!("{n} {what}: it takes {MIN_BLOCKS} to decide anything");
    Judgement::inconclusive(vec![reason], further)
}

/// No regression, and what the interval says besides.
fn within(low: f64, high: f64, shown: &Percent, margin: &str) -> String {
    let most = shown.plain(high.abs());
    if low > 0.0 {
        format!(
            "a small but real change for the worse, {most} % at most: within the margin of {margin} %"
        )
    } else if high < 0.0 {
        format!("a real change for the better, {most} % at least: within the margin of {margin} %")
    } else {
        format!("worse by {most} % at most, the margin is {margin} %")
    }
}

fn undecided(
    crossing: String,
    effect: &Effect,
    better: Better,
    margin_pct: f64,
    design: Design,
) -> Judgement {
    if design == Design::Historical {
        let reason = format!("{crossing}; a paired comparison can decide it");
        return Judgement::inconclusive(vec![reason], None);
    }
    let further = further_blocks(effect, better, margin_pct);
    let outlook = match further {
        Some(further) => format!(
            "about {further} further blocks would decide it, {} in all",
            effect.n as u32 + further
        ),
        None => format!(
            "even {MAX_BLOCKS} blocks, the most there may be, would not decide it: the effect is small \
             beside the noise, or lies at the margin; longer trials make less noise"
        ),
    };
    Judgement::inconclusive(vec![format!("{crossing}; {outlook}")], further)
}

/// How many blocks more decide it in four of five cases, when the effect is
/// what it seems: then the interval, which narrows as t/√n, stays clear of zero
/// when the effect is beyond the margin, and of the margin when it is within.
fn further_blocks(effect: &Effect, better: Better, margin_pct: f64) -> Option<u32> {
    let interval = effect.interval?;
    let (worse, margin) = match better {
        Better::Lower => (effect.estimate, libm::log1p(margin_pct / 100.0)),
        Better::Higher => (-effect.estimate, -libm::log1p(-margin_pct / 100.0)),
        Better::Neither => return None,
    };
    let beyond = worse > margin;
    let distance = if beyond { worse } else { margin - worse };
    let towards_smaller = beyond == (better == Better::Lower);
    let half = if towards_smaller {
        effect.estimate - interval.low
    } else {
        interval.high - effect.estimate
    };
    let t = |n: usize| student_upper((1.0 - CONFIDENCE) / 2.0, n as f64 - 1.0);
    let spread = half * (effect.n as f64).sqrt() / t(effect.n);
    let decides = |n: &usize| spread * (t(*n) + POWER_Z) / (*n as f64).sqrt() < distance;
    (effect.n + 1..=MAX_BLOCKS as usize).find(decides).map(|n| (n - effect.n) as u32)
}
