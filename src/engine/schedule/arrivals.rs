//! The points in time of a constant or a Poisson process.

use crate::clock::Nanos;
use crate::plan::Rate;
use benchd_model::spec;

const SECOND: f64 = 1e9;

/// The intended starts of an open loop, one after the other, without end.
#[derive(Debug)]
pub(super) struct Arrivals {
    origin: Nanos,
    /// Between two, on average, in nanoseconds.
    gap: f64,
    process: Process,
}

#[derive(Debug)]
enum Process {
    /// The number of the next one.
    Constant(u64),
    /// How long after the origin the last one was, in nanoseconds. A double
    /// keeps a day to a hundredth of one.
    Poisson(f64, Random),
}

impl Arrivals {
    pub(super) fn new(rate: &Rate, origin: Nanos) -> Self {
        let process = match rate.arrivals {
            spec::Arrivals::Constant => Process::Constant(0),
            spec::Arrivals::Poisson => Process::Poisson(0.0, Random(rate.seed)),
        };
        Self { origin, gap: SECOND / rate.per_second, process }
    }

    /// The next one; never before the one before it.
    pub(super) fn next(&mut self) -> Nanos {
        let offset = match &mut self.process {
            // Multiplied, not added up, so that no error adds up either.
            Process::Constant(number) => {
                let offset = *number as f64 * self.gap;
                *number += 1;
                offset
            }
            Process::Poisson(last, random) => {
                *last += random.exponential() * self.gap;
                *last
            }
        };
        self.origin.saturating_add(offset as Nanos)
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same numbers everywhere and
/// for ever, which no library's default generator promises.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An exponentially distributed number of mean 1.
    fn exponential(&mut self) -> f64 {
        // 53 bits, from (0, 1]: the logarithm of zero is none.
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -uniform.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Random};
    use crate::plan::Rate;
    use benchd_model::spec;
    use proptest::prelude::*;

    fn points(per_second: f64, arrivals: spec::Arrivals, seed: u64, count: usize) -> Vec<u64> {
        let rate = Rate { per_second, arrivals, max_queued: 0, seed };
        let mut arrivals = Arrivals::new(&rate, 5);
        (0..count).map(|_| arrivals.next()).collect()
    }

    #[test]
    fn constant_arrivals_keep_their_distance_for_days() {
        assert_eq!(
            points(3.0, spec::Arrivals::Constant, 0, 4),
            [5, 333_333_338, 666_666_671, 1_000_000_005]
        );
        let rate =
            Rate { per_second: 1e6, arrivals: spec::Arrivals::Constant, max_queued: 0, seed: 0 };
        let mut late = Arrivals::new(&rate, 0);
        late.process = super::Process::Constant(86_400_000_000);
        assert_eq!([late.next(), late.next()], [86_400_000_000_000, 86_400_000_001_000]);
    }

    #[test]
    fn poisson_arrivals_follow_from_their_seed() {
        let starts = |seed| points(1000.0, spec::Arrivals::Poisson, seed, 1000);
        assert_eq!(starts(7), starts(7));
        assert_ne!(starts(7), starts(8));
    }

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut random = Random(1_234_567);
        assert_eq!(
            [random.next(), random.next(), random.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_deviation_of_their_rate() {
        for seed in 0..20 {
            let points = points(1000.0, spec::Arrivals::Poisson, seed, 100_001);
            let gaps: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = |gap: &f64| (gap - mean).powi(2);
            let deviation = (gaps.iter().map(square).sum::<f64>() / gaps.len() as f64).sqrt();
            // Both are 1 ms but for an error of 0.3 and 0.45 % (one sigma).
            assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean {mean}");
            assert!((deviation / 1e6 - 1.0).abs() < 0.03, "deviation {deviation}");
            // And a share of 1/e lies beyond the mean.
            let beyond = gaps.iter().filter(|gap| **gap > 1e6).count() as f64 / gaps.len() as f64;
            assert!((beyond - (-1f64).exp()).abs() < 0.01, "{beyond}");
        }
    }

    proptest! {
        #[test]
        fn no_arrival_is_before_the_one_before_it(
            per_second in 0.001..1e6, seed: u64, poisson: bool
        ) {
            let arrivals =
                if poisson { spec::Arrivals::Poisson } else { spec::Arrivals::Constant };
            let points = points(per_second, arrivals, seed, 200);
            prop_assert!(points.is_sorted());
        }
    }
}
