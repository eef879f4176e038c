//! How long the arithmetic of a comparison takes:
//! `cargo bench -p benchd-model --bench comparison`.

#[expect(dead_code, reason = "the simulations use the other kinds of noise")]
#[path = "../tests/statistics/noise.rs"]
mod noise;

use benchd_model::metrics::Better;
use benchd_model::spec::LoadModel;
use benchd_model::statistics::{
    ComparedTrial, ComparisonValidity, Design, Measured, Question, compare,
};
use noise::{Kind, paired_trials, unpaired_trials};
use std::time::Instant;

const ROUNDS: u64 = 21;

fn main() {
    for blocks in [6, 10, 30, 50, 100] {
        let trials = |seed| paired_trials(Kind::Independent, blocks, 1.1, seed);
        report(Design::Paired, 2 * blocks, trials);
    }
    for side in [10, 50, 100] {
        let trials = |seed| unpaired_trials(side, side, 1.1, seed);
        report(Design::Historical, 2 * side, trials);
    }
}

fn report(design: Design, n: u32, trials: impl Fn(u64) -> Vec<ComparedTrial>) {
    let mut took_ms: Vec<f64> = (0..ROUNDS)
        .map(|seed| {
            let question = Question {
                metric: "latency_p99_ms".to_owned(),
                unit: "ms".to_owned(),
                better: Better::Lower,
                margin_pct: 5.0,
                noise_floor_pct: None,
                requests_needed: 0,
                seed,
                load_model: LoadModel::Closed,
            };
            let measured = Measured {
                design,
                baseline_runs: Vec::new(),
                candidate_runs: Vec::new(),
                trials: trials(seed),
                validity: ComparisonValidity::default(),
                objections: Vec::new(),
            };
            let start = Instant::now();
            std::hint::black_box(compare(&question, measured));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    took_ms.sort_by(f64::total_cmp);
    let median = took_ms[took_ms.len() / 2];
    println!("{design:?}, {n} trials: median {median:.1} ms, shortest {:.1} ms", took_ms[0]);
}
