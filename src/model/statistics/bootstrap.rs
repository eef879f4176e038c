//! How sure an estimate is: the interval that a bootstrap over trials gives.
//!
//! Whole blocks (or, of two unpaired sets, whole trials) are drawn with
//! replacement, the estimate is made of each resample, and the interval is cut
//! from the estimates. A plain percentile interval is too narrow for few blocks
//! (88 instead of 95 % with six), so its tails are moved outwards as Hesterberg
//! does (2015, "What Teachers Should Know About the Bootstrap", The American
//! Statistician 69, section 5.3: the expanded percentile interval). The coverage
//! that remains is measured by `tests/statistics.rs`.

use super::distributions::{normal_cdf, student_upper};
use super::hodges_lehmann::{MeanWeights, Pairs};
use super::seeded::{Purpose, Seeded};
use super::{CONFIDENCE, DRAWS};

/// What the true value may well be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The interval of the centre of paired differences; `None` for fewer than two.
pub(crate) fn centre(differences: &[f64], seed: u64) -> Option<Interval> {
    let n = differences.len();
    if n < 2 {
        return None;
    }
    let pairs = Pairs::means(differences);
    let mut stream = Seeded::new(seed, Purpose::Bootstrap);
    let (mut drawn, mut weights) = (vec![0; n], MeanWeights::new(n));
    let estimates = (0..DRAWS).map(|_| {
        resample(&mut drawn, &mut stream);
        weights.set(&drawn);
        pairs.median(&weights.left, &weights.right, weights.total)
    });
    Some(cut(estimates.collect(), n as f64 / (n as f64 - 1.0), n as f64 - 1.0))
}

/// The interval of the shift between two unpaired sets; `None` when either has
/// fewer than two elements.
pub(crate) fn shift(baseline: &[f64], candidate: &[f64], seed: u64) -> Option<Interval> {
    let (n, m) = (baseline.len(), candidate.len());
    if n < 2 || m < 2 {
        return None;
    }
    let pairs = Pairs::differences(baseline, candidate);
    let mut stream = Seeded::new(seed, Purpose::Bootstrap);
    let (mut left, mut right) = (vec![0; n], vec![0; m]);
    let estimates = (0..DRAWS).map(|_| {
        resample(&mut left, &mut stream);
        resample(&mut right, &mut stream);
        pairs.median(&left, &right, (n * m) as u32)
    });
    let fewer = n.min(m) as f64;
    Some(cut(estimates.collect(), fewer / (fewer - 1.0), (n + m - 2) as f64))
}

/// How often each element is drawn when as many are drawn as there are.
fn resample(drawn: &mut [u32], stream: &mut Seeded) {
    drawn.fill(0);
    for _ in 0..drawn.len() {
        drawn[stream.below(drawn.len() as u32)] += 1;
    }
}

/// Cuts the expanded tails off. `inflation` is what the variance of a resample
/// is too small by, `df` the degrees of freedom that the spread is known with.
fn cut(mut estimates: Vec<f64>, inflation: f64, df: f64) -> Interval {
    let t = student_upper((1.0 - CONFIDENCE) / 2.0, df);
    let tail = normal_cdf(-inflation.sqrt() * t);
    let outside = (tail * estimates.len() as f64) as usize;
    let last = estimates.len() - 1;
    let mut at = |rank| *estimates.select_nth_unstable_by(rank, f64::total_cmp).1;
    Interval { low: at(outside), high: at(last - outside) }
}
