//! Where a series changed its level.
//!
//! E-divisive (Matteson and James 2014, arXiv:1306.4933) as Hunter made it fit
//! for benchmarks (Fleming and others 2023, arXiv:2301.03034; today Apache
//! Otava): Student's t-test instead of permutations, so that the same series
//! always has the same points; overlapping windows, so that a point does not
//! vanish when the series grows; and first every point that may be one at ten
//! times the significance, of which those go again that do not hold against
//! their whole neighbourhood.

mod divisive;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Points looked at together. The default is Otava's 50.
    pub window: usize,
    /// Largest p of a strong point. The default is Otava's 0.001: then one in
    /// twenty quiet histories of 100 runs shows a point that is none (a test
    /// counts them), which is why change points advise and never fail anything.
    pub p_value: f64,
    /// Smallest change of a strong point, in percent of the level before or
    /// after, whichever makes it look larger. The default is 0.
    pub smallest_pct: f64,
}

impl Default for Search {
    fn default() -> Self {
        Self { window: 50, p_value: 0.001, smallest_pct: 0.0 }
    }
}

/// One run of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPoint {
    /// Its figure; runs without a finite one are passed over.
    pub value: Option<f64>,
    /// Under which conditions it was measured, in any words.
    pub conditions: String,
}

/// A place where the level of a series changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangePoint {
    /// The first element of the new level, counted from 0 in the series given.
    pub index: usize,
    /// Mean of the stretch before it, in the unit of the series.
    pub before: f64,
    /// Mean of the stretch from it on.
    pub after: f64,
    /// The change in percent of `before`; null when that is zero.
    #[schema(example = 12.4)]
    pub change_pct: Option<f64>,
    /// Two-sided p of Student's t-test between the two stretches.
    pub p_value: f64,
    /// Whether to show it.
    pub strength: Strength,
}

/// How well a change point stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// It holds against its whole neighbourhood.
    Strong,
    /// It looked like one in its window and did not hold, or not yet.
    Weak,
}

/// What a history shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// Where the level changed, ascending. None lies at a restart.
    pub change_points: Vec<ChangePoint>,
    /// The first run under each new conditions: levels on its two sides are not
    /// compared.
    pub restarts: Vec<usize>,
}

/// Searches a history; it starts anew where the conditions change.
#[must_use]
pub fn history(runs: &[HistoryPoint], search: Search) -> History {
    let mut found = History::default();
    let mut start = 0;
    for stretch in runs.chunk_by(|run, next| run.conditions == next.conditions) {
        if start > 0 {
            found.restarts.push(start);
        }
        let values: Vec<Option<f64>> = stretch.iter().map(|run| run.value).collect();
        let points = change_points(&values, search);
        found.change_points.extend(
            points.into_iter().map(|point| ChangePoint { index: start + point.index, ..point }),
        );
        start += stretch.len();
    }
    found
}

/// Searches a series, oldest first; elements without a finite figure are passed
/// over.
#[must_use]
pub fn change_points(series: &[Option<f64>], search: Search) -> Vec<ChangePoint> {
    let (places, values): (Vec<usize>, Vec<f64>) = series
        .iter()
        .enumerate()
        .filter_map(|(place, value)| Some((place, value.filter(|v| v.is_finite())?)))
        .unzip();
    let candidates = divisive::candidates(&values, search.window, 10.0 * search.p_value);
    let strong = strong(&values, candidates.clone(), search);
    let described = |at: usize, levels: Levels, strength| ChangePoint {
        index: places[at],
        before: levels.before,
        after: levels.after,
        change_pct: percent(levels.after - levels.before, levels.before),
        p_value: levels.p_value,
        strength,
    };
    let mut points: Vec<ChangePoint> =
        strong.iter().map(|(at, levels)| described(*at, *levels, Strength::Strong)).collect();
    for (position, at) in candidates.iter().enumerate() {
        if strong.iter().all(|(stands, _)| stands != at) {
            let levels = Levels::around(&values, &candidates, position);
            points.push(described(*at, levels, Strength::Weak));
        }
    }
    points.sort_by_key(|point| point.index);
    points
}

/// Takes the weakest candidate away until all that are left hold: each time the
/// stretches of its neighbours grow, and their figures are made anew.
fn strong(values: &[f64], mut candidates: Vec<usize>, search: Search) -> Vec<(usize, Levels)> {
    loop {
        let levels: Vec<Levels> = (0..candidates.len())
            .map(|position| Levels::around(values, &candidates, position))
            .collect();
        let positions = || levels.iter().enumerate();
        let doubtful = positions()
            .filter(|(_, levels)| levels.p_value >= search.p_value)
            .max_by(|(_, x), (_, y)| x.p_value.total_cmp(&y.p_value));
        let small = positions()
            .filter(|(_, levels)| levels.magnitude_pct() < search.smallest_pct)
            .min_by(|(_, x), (_, y)| x.magnitude_pct().total_cmp(&y.magnitude_pct()));
        match doubtful.or(small) {
            Some((weakest, _)) => candidates.remove(weakest),
            None => return candidates.into_iter().zip(levels).collect(),
        };
    }
}

/// The levels on both sides of a point, as far as the points next to it.
#[derive(Clone, Copy)]
struct Levels {
    before: f64,
    after: f64,
    p_value: f64,
}

impl Levels {
    fn around(values: &[f64], points: &[usize], position: usize) -> Self {
        let start = position.checked_sub(1).map_or(0, |previous| points[previous]);
        let end = points.get(position + 1).copied().unwrap_or(values.len());
        let (before, after) = values[start..end].split_at(points[position] - start);
        Self {
            before: mean(before),
            after: mean(after),
            p_value: divisive::student_p(before, after),
        }
    }

    fn magnitude_pct(&self) -> f64 {
        let change = self.after - self.before;
        let of = |level| percent(change, level).map_or(f64::INFINITY, f64::abs);
        if change == 0.0 { 0.0 } else { of(self.before).max(of(self.after)) }
    }
}

fn percent(change: f64, of: f64) -> Option<f64> {
    let pct = change / of.abs() * 100.0;
    pct.is_finite().then_some(pct)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

#[cfg(test)]
#[path = "change_points/tests.rs"]
mod tests;
