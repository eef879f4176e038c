//! The search in a window: where to divide, and whether it is worth it.

use super::mean;
use crate::statistics::distributions::student_two_sided;

/// Fewest elements on each side of a change: fewer are a bad run, not a level.
const SHORTEST: usize = 3;

/// Every place that divides its window at the significance `p_value`,
/// ascending.
pub(super) fn candidates(values: &[f64], window: usize, p_value: f64) -> Vec<usize> {
    let window = window.max(2 * SHORTEST);
    let mut found: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = (start + window).min(values.len());
        let before = found.len();
        divide(values, start, end, p_value, &mut found);
        // The next window begins at the last point, or else half a window on.
        let last = found[before..].iter().copied().max().unwrap_or(0);
        start = last.max(start + window / 2);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Divides `start..end` where its parts differ most, then the parts.
fn divide(values: &[f64], start: usize, end: usize, p_value: f64, found: &mut Vec<usize>) {
    let Some(at) = most_divergent(&values[start..end]).map(|at| start + at) else { return };
    if student_p(&values[start..at], &values[at..end]) < p_value {
        divide(values, start, at, p_value, found);
        found.push(at);
        divide(values, at, end, p_value, found);
    }
}

/// The place τ for which, with the best end κ, the divergence between the
/// elements before τ and those from τ to κ is largest.
fn most_divergent(values: &[f64]) -> Option<usize> {
    let distances = Distances::of(values);
    let places = SHORTEST..(values.len() + 1).saturating_sub(SHORTEST);
    let divergence = |at: usize| {
        (at + SHORTEST..=values.len())
            .map(|end| distances.divergence(at, end))
            .fold(f64::NEG_INFINITY, f64::max)
    };
    // The first of equals: strictly larger ones only take over.
    let best = places
        .map(|at| (at, divergence(at)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(at, _)| at)
}

/// Sums of the distances between elements.
struct Distances {
    n: usize,
    /// Over all pairs (i, j) with i < a and j < b, at a·(n+1)+b.
    sums: Vec<f64>,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mut sums = vec![0.0; (n + 1) * (n + 1)];
        for a in 0..n {
            let mut row = 0.0;
            for b in 0..n {
                row += (values[a] - values[b]).abs();
                sums[(a + 1) * (n + 1) + b + 1] = sums[a * (n + 1) + b + 1] + row;
            }
        }
        Self { n, sums }
    }

    /// Over all i < a and j < b.
    fn sum(&self, a: usize, b: usize) -> f64 {
        self.sums[a * (self.n + 1) + b]
    }

    /// Q of Matteson and James, equation 6, with α = 1: what elements are apart
    /// across the division beyond what they are apart within its sides.
    fn divergence(&self, at: usize, end: usize) -> f64 {
        let (before, after) = (at as f64, (end - at) as f64);
        let within_before = self.sum(at, at) / 2.0;
        let across = self.sum(at, end) - self.sum(at, at);
        let within_after = (self.sum(end, end) - self.sum(at, at)) / 2.0 - across;
        let apart = 2.0 * across / (before * after)
            - within_before / (before * (before - 1.0) / 2.0)
            - within_after / (after * (after - 1.0) / 2.0);
        before * after / (before + after) * apart
    }
}

/// Two-sided p of Student's t-test with pooled variance. Without any spread,
/// equal means are certainly equal and others certainly are not.
pub(super) fn student_p(before: &[f64], after: &[f64]) -> f64 {
    let (n, m) = (before.len() as f64, after.len() as f64);
    let (left, right) = (mean(before), mean(after));
    if n + m < 3.0 || left == right {
        return 1.0;
    }
    let squares =
        |values: &[f64], mean: f64| values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    let variance = (squares(before, left) + squares(after, right)) / (n + m - 2.0);
    let t = (right - left).abs() / (variance * (1.0 / n + 1.0 / m)).sqrt();
    if t.is_nan() { 1.0 } else { student_two_sided(t, n + m - 2.0) }
}
