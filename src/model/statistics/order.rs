//! In which order the arms of each block are measured.

use super::seeded::{Purpose, Seeded};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One of the two things compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub enum Arm {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

impl Arm {
    /// The arm in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "baseline",
            Self::B => "candidate",
        }
    }
}

/// Which arm of a block comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub enum BlockOrder {
    /// The baseline first.
    AB,
    /// The candidate first.
    BA,
}

impl BlockOrder {
    /// The arms in the order they are measured in.
    #[must_use]
    pub const fn arms(self) -> [Arm; 2] {
        match self {
            Self::AB => [Arm::A, Arm::B],
            Self::BA => [Arm::B, Arm::A],
        }
    }
}

/// The order of `blocks` blocks. Blocks 1 and 2, 3 and 4, … are one AB and one
/// BA each, a coin says which comes first: however many blocks are run, AB and
/// BA differ by one at most, so that a drift over the job favours neither arm.
/// More blocks of the same seed go on where fewer ended.
#[must_use]
pub fn balanced_order(blocks: u32, seed: u64) -> Vec<BlockOrder> {
    let mut stream = Seeded::new(seed, Purpose::Order);
    let mut order = Vec::with_capacity(blocks as usize + 1);
    while order.len() < blocks as usize {
        order.extend(match stream.coin() {
            true => [BlockOrder::AB, BlockOrder::BA],
            false => [BlockOrder::BA, BlockOrder::AB],
        });
    }
    order.truncate(blocks as usize);
    order
}

#[cfg(test)]
mod tests {
    use super::{BlockOrder, balanced_order};

    #[test]
    fn every_beginning_is_balanced_and_the_same_whatever_follows() {
        for seed in 0..200 {
            let order = balanced_order(31, seed);
            assert_eq!(order.len(), 31);
            for blocks in 0..=31 {
                let beginning = balanced_order(blocks, seed);
                assert_eq!(beginning, order[..blocks as usize]);
                let ab = beginning.iter().filter(|block| **block == BlockOrder::AB).count();
                assert!(ab.abs_diff(beginning.len() - ab) <= 1, "{beginning:?}");
            }
        }
    }

    #[test]
    fn each_block_begins_with_either_arm_equally_often() {
        let mut ab = [0_u32; 10];
        for seed in 0..2_000 {
            for (count, block) in ab.iter_mut().zip(balanced_order(10, seed)) {
                *count += u32::from(block == BlockOrder::AB);
            }
        }
        assert!(ab.iter().all(|count| (900..1_100).contains(count)), "{ab:?}");
    }
}
