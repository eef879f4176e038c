//! A comparison for a terminal.

use super::layout::Page;
use crate::figures::{counted, observed};
use benchd_model::Verdict;
use benchd_model::statistics::{Comparison, Decision, Side};

/// Renders a comparison that no job measured. `colour` adds ANSI colours.
#[must_use]
pub fn render_comparison(comparison: &Comparison, colour: bool) -> String {
    let mut page = Page::new(colour);
    let verdict = match comparison.decision {
        Decision::NoRegression | Decision::Improvement => Verdict::Pass,
        Decision::Regression => Verdict::Fail,
        Decision::Inconclusive => Verdict::Inconclusive,
    };
    page.verdict(verdict, &comparison.summary);
    write_comparison(&mut page, comparison);
    page.finish()
}

pub(super) fn write_comparison(page: &mut Page, comparison: &Comparison) {
    page.heading(&format!("Comparison of {}", comparison.metric));
    let percent = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:+.1} %"));
    let (low, high) = (percent(comparison.ci_low_pct), percent(comparison.ci_high_pct));
    let interval = match (comparison.ci_low_pct, comparison.ci_high_pct) {
        (Some(_), Some(_)) => {
            format!(" ({:.0} % interval {low} to {high})", comparison.confidence * 100.0)
        }
        _ => String::new(),
    };
    let effect = percent(comparison.effect_pct);
    page.field("effect", &format!("{effect}{interval}, margin {} %", comparison.margin_pct));
    let floor = comparison.noise_floor_pct;
    let floor = floor.map_or_else(
        || "not measured; `benchd compare --self` of the candidate does".to_owned(),
        |floor| format!("{floor:.1} %"),
    );
    page.field("noise floor", &floor);
    let side = |side: &Side| {
        let [median, min, max] = [side.median, side.min, side.max].map(observed);
        let unit = &comparison.unit;
        let trials = counted(side.n.into(), "trial");
        format!("median {median} {unit} ({min} to {max}) in {trials}")
    };
    page.field("baseline", &side(&comparison.baseline));
    page.field("candidate", &side(&comparison.candidate));
    page.field("design", comparison.design.name());
    page.heading("Why");
    comparison.reasons.iter().for_each(|reason| page.item(reason));
}
