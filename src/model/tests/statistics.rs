//! The promises of the statistics, measured on simulated comparisons. Every
//! figure is printed: `cargo test -p benchd-model --test statistics -- --nocapture`.

#[path = "statistics/noise.rs"]
mod noise;

use benchd_model::metrics::Better;
use benchd_model::spec::LoadModel;
use benchd_model::statistics::{
    ComparedTrial, Comparison, ComparisonValidity, DEFAULT_MARGIN_PCT, Decision, Design, Measured,
    Question, compare,
};
use noise::{Kind, paired_trials, unpaired_trials};

const COMPARISONS: u64 = 1_000;

fn question(seed: u64, margin_pct: f64) -> Question {
    Question {
        metric: "latency_p99_ms".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Lower,
        margin_pct,
        noise_floor_pct: None,
        requests_needed: 0,
        seed,
        load_model: LoadModel::Closed,
    }
}

fn compared(design: Design, trials: Vec<ComparedTrial>, seed: u64, margin_pct: f64) -> Comparison {
    let measured = Measured {
        design,
        baseline_runs: Vec::new(),
        candidate_runs: Vec::new(),
        trials,
        validity: ComparisonValidity::default(),
        objections: Vec::new(),
    };
    compare(&question(seed, margin_pct), measured)
}

/// Percent of the comparisons that something is true of.
fn share(count: usize) -> f64 {
    100.0 * count as f64 / COMPARISONS as f64
}

fn paired(kind: Kind, blocks: u32, slowdown: f64, margin_pct: f64) -> Vec<Comparison> {
    let one = |seed| {
        let trials = paired_trials(kind, blocks, slowdown, seed);
        compared(Design::Paired, trials, seed, margin_pct)
    };
    (0..COMPARISONS).map(one).collect()
}

/// How often the interval holds the true effect, in percent.
fn coverage(comparisons: &[Comparison], true_pct: f64) -> f64 {
    let holds = |c: &&Comparison| {
        let (low, high) = c.ci_low_pct.zip(c.ci_high_pct).expect("an interval");
        low <= true_pct && true_pct <= high
    };
    share(comparisons.iter().filter(holds).count())
}

/// Decisions that are false when the arms are the same.
fn alarms(comparisons: &[Comparison]) -> f64 {
    let alarm =
        |c: &&Comparison| matches!(c.decision, Decision::Regression | Decision::Improvement);
    share(comparisons.iter().filter(alarm).count())
}

fn decided(comparisons: &[Comparison], decision: Decision) -> f64 {
    share(comparisons.iter().filter(|c| c.decision == decision).count())
}

/// With no margin at all every interval beside zero alarms: the hardest case.
#[test]
fn a_against_a_rarely_alarms_whatever_the_noise() {
    for kind in [Kind::Independent, Kind::HeavyTailed, Kind::Drifting, Kind::Autocorrelated] {
        let comparisons = paired(kind, 10, 1.0, 0.0);
        let (alarms, covered) = (alarms(&comparisons), coverage(&comparisons, 0.0));
        println!(
            "A/A, {kind:?}, 10 blocks, margin 0 %: {alarms:.1} % alarms, coverage {covered:.1} %"
        );
        assert!(alarms <= 5.0 && (92.0..=98.0).contains(&covered));
    }
}

#[test]
fn the_quick_profile_does_not_alarm_at_the_usual_margin() {
    for kind in [Kind::Independent, Kind::HeavyTailed, Kind::Drifting, Kind::Autocorrelated] {
        let alarms = alarms(&paired(kind, 6, 1.0, DEFAULT_MARGIN_PCT));
        println!("A/A, {kind:?}, 6 blocks, margin {DEFAULT_MARGIN_PCT} %: {alarms:.1} % alarms");
        assert!(alarms <= 1.0);
    }
}

/// Found to be slower, and never passed over; that it is slower by more than a
/// margin of half its size takes more blocks.
#[test]
fn a_slowdown_of_ten_percent_is_found() {
    for (blocks, margin_pct, least) in [(10, 0.0, 90.0), (10, 2.0, 70.0), (30, 5.0, 90.0)] {
        let comparisons = paired(Kind::Independent, blocks, 1.1, margin_pct);
        let found = decided(&comparisons, Decision::Regression);
        let passed = decided(&comparisons, Decision::NoRegression);
        println!(
            "10 % slower, 5 % noise, {blocks} blocks, margin {margin_pct} %: {found:.1} % regression, {passed:.1} % no_regression"
        );
        assert!(found >= least && passed <= 0.5);
    }
}

#[test]
fn intervals_of_pairs_hold_the_true_effect() {
    for (kind, blocks) in [
        (Kind::Independent, 6),
        (Kind::HeavyTailed, 6),
        (Kind::Independent, 15),
        (Kind::Independent, 30),
    ] {
        let covered = coverage(&paired(kind, blocks, 1.1, DEFAULT_MARGIN_PCT), 10.0);
        println!("{kind:?}, {blocks} blocks: coverage {covered:.1} %");
        assert!((92.0..=98.0).contains(&covered));
    }
}

#[test]
fn intervals_of_sets_hold_the_true_effect() {
    for (baseline, candidate) in [(6, 6), (10, 10), (6, 20)] {
        let one = |seed| {
            let trials = unpaired_trials(baseline, candidate, 1.1, seed);
            compared(Design::Historical, trials, seed, DEFAULT_MARGIN_PCT)
        };
        let covered = coverage(&(0..COMPARISONS).map(one).collect::<Vec<_>>(), 10.0);
        println!("historical, {baseline} trials against {candidate}: coverage {covered:.1} %");
        assert!((92.0..=98.0).contains(&covered));
    }
}

/// The blocks go on where they ended: the order and the noise of the first ten
/// stay.
#[test]
fn the_proposed_blocks_decide() {
    let (mut proposed, mut decided) = (0, 0);
    for seed in 0..150 {
        let run = |blocks| {
            let trials = paired_trials(Kind::Independent, blocks, 1.1, seed);
            compared(Design::Paired, trials, seed, DEFAULT_MARGIN_PCT)
        };
        let Some(further) = run(10).further_blocks.filter(|further| *further <= 60) else {
            continue;
        };
        proposed += 1;
        decided += u32::from(run(10 + further).decision != Decision::Inconclusive);
    }
    println!("{proposed} proposals of 60 further blocks at most, {decided} decide");
    assert!(proposed >= 50 && decided * 3 >= proposed * 2);
}
