//! Randomness that a stored seed repeats.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What the numbers are for: each purpose has a stream of its own, so that
/// drawing the order never shifts the bootstrap.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Order,
    Bootstrap,
}

/// A stream of numbers that is the same for the same seed on every machine and
/// in every version: xoshiro256++ seeded through SplitMix64, both fixed
/// algorithms, and indices derived here instead of by a library's sampling,
/// which may change. A test holds the first numbers.
pub(crate) struct Seeded(Xoshiro256PlusPlus);

impl Seeded {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        let mut stream = Xoshiro256PlusPlus::seed_from_u64(seed);
        match purpose {
            Purpose::Order => {}
            // 2^128 numbers on: the streams never meet.
            Purpose::Bootstrap => stream.jump(),
        }
        Self(stream)
    }

    /// A whole number below `n`, each equally likely (to n in 2^32).
    pub(crate) fn below(&mut self, n: u32) -> usize {
        (((self.0.next_u64() >> 32) * u64::from(n)) >> 32) as usize
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Seeded};

    fn first(seed: u64, purpose: Purpose) -> Vec<usize> {
        let mut stream = Seeded::new(seed, purpose);
        (0..12).map(|_| stream.below(10)).collect()
    }

    /// Worked out from the published algorithms, not with this code.
    #[test]
    fn the_first_numbers_never_change() {
        assert_eq!(first(42, Purpose::Order), [8, 3, 9, 7, 7, 5, 1, 6, 2, 9, 5, 8]);
        assert_eq!(first(42, Purpose::Bootstrap), [7, 3, 0, 8, 0, 1, 7, 4, 7, 8, 9, 5]);
        assert_eq!(first(0, Purpose::Order), [3, 3, 3, 0, 4, 0, 8, 8, 2, 0, 3, 0]);
    }

    #[test]
    fn every_index_is_drawn_equally_often() {
        let mut stream = Seeded::new(7, Purpose::Bootstrap);
        let mut drawn = [0_u32; 7];
        (0..70_000).for_each(|_| drawn[stream.below(7)] += 1);
        assert!(drawn.iter().all(|count| (9_600..10_400).contains(count)), "{drawn:?}");
    }
}
