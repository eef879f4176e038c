//! Simulated trials: what a job measures when every noise is known.

use benchd_model::statistics::{Arm, ComparedTrial, balanced_order};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// How trials scatter, about 5 % each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Each by itself, normally.
    Independent,
    /// Each by itself, one now and then far off (Student's t, 3 degrees).
    HeavyTailed,
    /// The machine grows slower or faster by up to 40 % over the job.
    Drifting,
    /// Good and bad minutes: each trial keeps 80 % of the one before.
    Autocorrelated,
}

const NOISE: f64 = 0.05;

struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed))
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// The logarithms of what `n` trials, one after another, are off by.
    fn trials(&mut self, kind: Kind, n: usize) -> Vec<f64> {
        let slope = 0.8 * (self.uniform() - 0.5);
        let mut last = self.normal();
        let one = |position: usize| match kind {
            Kind::Independent => NOISE * self.normal(),
            Kind::HeavyTailed => {
                let chi: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
                NOISE * self.normal() / chi.sqrt()
            }
            Kind::Drifting => NOISE * self.normal() + slope * position as f64 / n as f64,
            Kind::Autocorrelated => {
                last = 0.8 * last + 0.6 * self.normal();
                NOISE * last
            }
        };
        (0..n).map(one).collect()
    }
}

fn trial(arm: Arm, place: Option<(u32, u32)>, noise: f64, slowdown: f64) -> ComparedTrial {
    let level = if arm == Arm::A { 20.0 } else { 20.0 * slowdown };
    ComparedTrial {
        block: place.map(|(block, _)| block),
        position: place.map(|(_, position)| position),
        arm,
        value: Some(level * libm::exp(noise)),
        requests: 100_000,
    }
}

/// A paired job in its balanced order; the candidate is `slowdown` times as slow.
pub(crate) fn paired_trials(
    kind: Kind,
    blocks: u32,
    slowdown: f64,
    seed: u64,
) -> Vec<ComparedTrial> {
    let mut noise = Noise::new(seed).trials(kind, 2 * blocks as usize).into_iter();
    let mut trials = Vec::new();
    for (block, order) in (1..).zip(balanced_order(blocks, seed)) {
        for (position, arm) in (1..).zip(order.arms()) {
            let noise = noise.next().expect("noise for every trial");
            trials.push(trial(arm, Some((block, position)), noise, slowdown));
        }
    }
    trials
}

/// Two sets of independent trials.
pub(crate) fn unpaired_trials(
    baseline: u32,
    candidate: u32,
    slowdown: f64,
    seed: u64,
) -> Vec<ComparedTrial> {
    let arms = (0..baseline).map(|_| Arm::A).chain((0..candidate).map(|_| Arm::B));
    let noise = Noise::new(seed).trials(Kind::Independent, (baseline + candidate) as usize);
    arms.zip(noise).map(|(arm, noise)| trial(arm, None, noise, slowdown)).collect()
}
