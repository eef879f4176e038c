//! A comparison in one sentence, as a reviewer reads it in a log.

use super::CONFIDENCE;
use super::comparison::{Comparison, Design};
use super::decision::Decision;
use crate::metrics::Better;

/// Percentages with as many decimals as it takes to tell them from a margin.
pub(crate) struct Percent {
    decimals: usize,
}

impl Percent {
    /// One decimal, or up to four when a figure would else read like the margin
    /// it is beyond, or like nothing.
    pub(crate) fn beside(figures: &[f64], margin_pct: f64) -> Self {
        let tells = |decimals: &usize| {
            figures.iter().all(|figure| {
                let shown = rounded(figure.abs(), *decimals);
                (*figure == 0.0 || shown != 0.0)
                    && (figure.abs() == margin_pct || shown != rounded(margin_pct, *decimals))
            })
        };
        Self { decimals: (1..=4).find(tells).unwrap_or(1) }
    }

    /// With a sign only when it is below zero.
    pub(crate) fn plain(&self, figure: f64) -> String {
        let shown = rounded(figure, self.decimals);
        if shown.abs() >= 1e15 {
            return format!("{shown:e}");
        }
        if shown == 0.0 { "0".to_owned() } else { format!("{shown:.*}", self.decimals) }
    }

    pub(crate) fn signed(&self, figure: f64) -> String {
        let shown = self.plain(figure);
        if shown.starts_with('-') || shown == "0" { shown } else { format!("+{shown}") }
    }
}

fn rounded(figure: f64, decimals: usize) -> f64 {
    let scale = [1.0, 10.0, 100.0, 1_000.0, 10_000.0][decimals];
    let scaled = (figure * scale).round() / scale;
    if scaled.is_finite() { scaled } else { figure }
}

/// The sentence. `larger` and `smaller` count the pairs in which the
/// candidate's value is the larger or the smaller one.
pub(crate) fn sentence(comparison: &Comparison, larger: u32, smaller: u32) -> String {
    let metric = spoken(&comparison.metric);
    let reason = comparison.reasons.first().map_or("", String::as_str);
    let decision = match comparison.decision {
        Decision::NoRegression => "no regression",
        other => other.name(),
    };
    let advisory = if comparison.advisory { " (advisory)" } else { "" };
    let Some(effect) = comparison.effect_pct else {
        return format!("{metric}: {decision}{advisory}, {reason}");
    };
    let bounds: Vec<f64> =
        comparison.ci_low_pct.into_iter().chain(comparison.ci_high_pct).collect();
    let shown = Percent::beside(&bounds, comparison.margin_pct);
    let interval = match bounds[..] {
        [low, high] => format!(
            " ({:.0} % interval {} to {})",
            CONFIDENCE * 100.0,
            shown.plain(low),
            shown.plain(high)
        ),
        _ => String::new(),
    };
    let trials = match (comparison.design, comparison.n_pairs) {
        (Design::Paired, Some(pairs)) => {
            format!("{} of {pairs} pairs", agreeing(comparison.better, effect, larger, smaller))
        }
        _ => format!(
            "{} trial{} against {} of another time",
            comparison.candidate.n,
            if comparison.candidate.n == 1 { "" } else { "s" },
            comparison.baseline.n
        ),
    };
    format!(
        "{metric} {} %{interval}, {trials}: {decision}{advisory}, {reason}",
        shown.signed(effect)
    )
}

/// "worse in 10", counted in the direction of the effect.
fn agreeing(better: Better, effect: f64, larger: u32, smaller: u32) -> String {
    let grew = effect > 0.0 || (effect == 0.0 && better != Better::Higher);
    let count = if grew { larger } else { smaller };
    let word = match (better, grew) {
        (Better::Lower, true) | (Better::Higher, false) => "worse",
        (Better::Lower, false) | (Better::Higher, true) => "better",
        (Better::Neither, true) => "larger",
        (Better::Neither, false) => "smaller",
    };
    format!("{word} in {count}")
}

/// `latency_p99_ms` is p99, `ttfb_p50_ms` is ttfb p50, `error_ratio` error ratio.
fn spoken(metric: &str) -> String {
    let bare = metric.strip_suffix("_ms").unwrap_or(metric);
    let bare = bare.strip_suffix("_rps").unwrap_or(bare);
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_percentile = bare.strip_prefix("latency_p").is_some_and(digit);
    let bare = if is_percentile { &bare["latency_".len()..] } else { bare };
    let mut words = String::new();
    for (position, part) in bare.split('_').enumerate() {
        // The second half of p99_9 is its decimals.
        let joint = if digit(part) { "." } else { " " };
        words.push_str(if position == 0 { "" } else { joint });
        words.push_str(part);
    }
    words
}
