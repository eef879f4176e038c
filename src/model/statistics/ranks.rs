//! Rank tests: how often chance alone would bring so large a difference.
//!
//! Exact (over all signs, or all ways to divide the ranks, ties as they are)
//! for as many trials as a comparison has, else the normal approximation with
//! corrections for ties and continuity.

use super::distributions::normal_cdf;

/// Up to here the distributions are counted out.
const EXACT_PAIRS: usize = 100;
const EXACT_TRIALS: usize = 50;

/// Two-sided p of Wilcoxon's signed-rank test, zeros ranked but without a sign
/// (Pratt 1959); 1 when no difference has a sign.
pub(crate) fn signed_rank_p(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranks = doubled_ranks(&sizes);
    let signed = || differences.iter().zip(&ranks).filter(|(d, _)| **d != 0.0);
    let positive: u64 = signed().filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let ranks: Vec<u64> = signed().map(|(_, rank)| *rank).collect();
    let total: u64 = ranks.iter().sum();
    if ranks.is_empty() {
        return 1.0;
    }
    let extreme = positive.min(total - positive);
    if ranks.len() <= EXACT_PAIRS {
        let ways = ways_to_reach(&ranks, total);
        return (2.0 * share_up_to(&ways, extreme)).min(1.0);
    }
    let variance: f64 = ranks.iter().map(|rank| (*rank * *rank) as f64 / 4.0).sum();
    two_sided(total as f64 / 2.0 - extreme as f64, variance)
}

/// Two-sided p of the Mann–Whitney test; 1 when either set is empty.
pub(crate) fn mann_whitney_p(baseline: &[f64], candidate: &[f64]) -> f64 {
    let (n, m) = (baseline.len(), candidate.len());
    if n == 0 || m == 0 {
        return 1.0;
    }
    let all: Vec<f64> = baseline.iter().chain(candidate).copied().collect();
    let ranks = doubled_ranks(&all);
    let sum: u64 = ranks[..n].iter().sum();
    let total: u64 = ranks.iter().sum();
    if n + m <= EXACT_TRIALS {
        let ways = ways_to_choose(&ranks, n, total);
        let upper = 1.0 - sum.checked_sub(1).map_or(0.0, |below| share_up_to(&ways, below));
        return (2.0 * share_up_to(&ways, sum).min(upper)).min(1.0);
    }
    let (n, m) = (n as f64, m as f64);
    let mean_rank = total as f64 / (n + m);
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean_rank).powi(2)).sum();
    let variance = n * m * squares / ((n + m) * (n + m - 1.0));
    two_sided((sum as f64 - n * mean_rank).abs(), variance)
}

/// Twice the rank of each value, from 2; equal values share their mean rank,
/// which is why ranks are doubled: they stay whole.
fn doubled_ranks(values: &[f64]) -> Vec<u64> {
    let mut ascending: Vec<usize> = (0..values.len()).collect();
    ascending.sort_by(|i, j| values[*i].total_cmp(&values[*j]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    for equal in ascending.chunk_by(|i, j| values[*i] == values[*j]) {
        let last = first + equal.len();
        equal.iter().for_each(|i| ranks[*i] = (first + 1 + last) as u64);
        first = last;
    }
    ranks
}

/// How likely each sum of a random subset of the ranks is.
fn ways_to_reach(ranks: &[u64], total: u64) -> Vec<f64> {
    let mut ways = vec![0.0; total as usize + 1];
    ways[0] = 1.0;
    let mut reached = 0;
    for rank in ranks.iter().map(|rank| *rank as usize) {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { ways[sum - rank] } else { 0.0 };
            ways[sum] = 0.5 * ways[sum] + 0.5 * with;
        }
    }
    ways
}

/// How likely each sum of `n` ranks drawn at random is.
fn ways_to_choose(ranks: &[u64], n: usize, total: u64) -> Vec<f64> {
    let mut ways = vec![vec![0.0; total as usize + 1]; n + 1];
    ways[0][0] = 1.0;
    for rank in ranks.iter().map(|rank| *rank as usize) {
        for chosen in (1..=n).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            let with = &fewer[chosen - 1][..=total as usize - rank];
            for (way, added) in more[0][rank..].iter_mut().zip(with) {
                *way += added;
            }
        }
    }
    let mut ways = ways.pop().unwrap_or_default();
    let all: f64 = ways.iter().sum();
    ways.iter_mut().for_each(|way| *way /= all);
    ways
}

fn share_up_to(ways: &[f64], sum: u64) -> f64 {
    ways.iter().take(sum as usize + 1).sum()
}

/// Doubled ranks step by 2 and by 1 only at ties, so that half a step is 1.
fn two_sided(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance - 1.0).max(0.0) / variance.sqrt();
    (2.0 * normal_cdf(-z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{mann_whitney_p, signed_rank_p};

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }

    /// The expected figures are scipy's (`wilcoxon`), those with ties and zeros
    /// counted over all signs by hand.
    #[test]
    fn signed_ranks_agree_with_known_figures() {
        assert_close(
            signed_rank_p(&[1.2, -0.3, 2.5, 0.8, 1.1, -0.1, 3.0, 0.9, 1.7, 0.4]),
            0.009_765_625,
        );
        assert_close(
            signed_rank_p(&[1.0, 1.0, -1.0, 2.0, 3.0, 0.0, 2.0, -2.0, 4.0, 5.0]),
            0.085_937_5,
        );
        assert_close(signed_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.03125);
        assert_close(signed_rank_p(&[-1.0, -2.0, -3.0, -4.0, -5.0]), 0.0625);
        assert_close(signed_rank_p(&[0.0; 8]), 1.0);
        assert_close(signed_rank_p(&[]), 1.0);
    }

    /// scipy's `mannwhitneyu`, with ties counted over all divisions by hand.
    #[test]
    fn mann_whitney_agrees_with_known_figures() {
        let (a, b) = ([1.1, 2.2, 3.3, 4.4, 5.5], [2.0, 3.1, 6.6, 7.7, 8.8, 9.9]);
        assert_close(mann_whitney_p(&a, &b), 0.177_489_177_489_177_5);
        assert_close(mann_whitney_p(&b, &a), 0.177_489_177_489_177_5);
        let (a, b) = ([1.0, 2.0, 2.0, 3.0, 5.0, 5.0], [2.0, 4.0, 5.0, 6.0, 7.0, 7.0, 8.0]);
        assert_close(mann_whitney_p(&a, &b), 0.051_282_051_282_051_28);
        assert_close(mann_whitney_p(&[3.0; 6], &[3.0; 6]), 1.0);
        assert_close(mann_whitney_p(&[], &b), 1.0);
    }

    /// scipy's `wilcoxon(method="approx", zero_method="pratt", correction=True)`
    /// and `mannwhitneyu(method="asymptotic")`.
    #[test]
    fn many_trials_are_approximated() {
        let d: Vec<f64> = (0..120).map(|i| f64::from(i * 37 % 101) / 10.0 - 4.1).collect();
        let p = signed_rank_p(&d);
        assert!((p / 0.003_243_779_641_097_307_6 - 1.0).abs() < 0.01, "{p}");
        let a: Vec<f64> = (0..40).map(|i| f64::from(i * 37 % 101) / 10.0).collect();
        let b: Vec<f64> = (0..40).map(|i| f64::from(i * 53 % 97) / 10.0 + 1.5).collect();
        let p = mann_whitney_p(&a, &b);
        assert!((p / 0.182_593_965_436_048_67 - 1.0).abs() < 1e-6, "{p}");
    }
}
