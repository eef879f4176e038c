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
use std::ops::Range;

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
fn share(comparisons: &[Comparison], is_so: impl Fn(&Comparison) -> bool) -> f64 {
    let count = comparisons.iter().filter(|comparison| is_so(comparison)).count();
    100.0 * count as f64 / comparisons.len() as f64
}

/// As many simulated comparisons as `seeds`.
fn paired(
    seeds: Range<u64>,
    kind: Kind,
    blocks: u32,
    slowdown: f64,
    margin_pct: f64,
) -> Vec<Comparison> {
    let one = |seed| {
        let trials = paired_trials(kind, blocks, slowdown, seed);
        compared(Design::Paired, trials, seed, margin_pct)
    };
    seeds.map(one).collect()
}

/// How often the interval holds the true effect, in percent.
fn coverage(comparisons: &[Comparison], true_pct: f64) -> f64 {
    share(comparisons, |c| {
        let (low, high) = c.ci_low_pct.zip(c.ci_high_pct).expect("an interval");
        low <= true_pct && true_pct <= high
    })
}

/// Decisions that are false when the arms are the same.
fn alarms(comparisons: &[Comparison]) -> f64 {
    share(comparisons, |c| matches!(c.decision, Decision::Regression | Decision::Improvement))
}

/// With no margin at all every interval beside zero alarms: the hardest case.
#[test]
fn a_against_a_rarely_alarms_whatever_the_noise() {
    for kind in [Kind::Independent, Kind::Drifting, Kind::Autocorrelated] {
        let comparisons = paired(0..1_000, kind, 10, 1.0, 0.0);
        let (alarms, covered) = (alarms(&comparisons), coverage(&comparisons, 0.0));
        println!(
            "A/A, {kind:?}, 10 blocks, margin 0 %: {alarms:.1} % alarms, coverage {covered:.1} %"
        );
        assert!(alarms <= 5.0 && (92.0..=98.0).contains(&covered));
    }
}

/// Half of all comparisons estimate a slowdown of the margin's size beyond it,
/// and some of those are sure that it is one.
#[test]
fn a_slowdown_at_the_margin_is_called_a_regression_in_less_than_half() {
    let comparisons = paired(0..500, Kind::Independent, 10, 1.05, DEFAULT_MARGIN_PCT);
    let found = share(&comparisons, |c| c.decision == Decision::Regression);
    println!("5 % slower, 5 % noise, 10 blocks, margin 5 %: {found:.1} % regression");
    assert!(found < 50.0);
    let half = paired(0..500, Kind::Independent, 10, 1.025, DEFAULT_MARGIN_PCT);
    let found = share(&half, |c| c.decision == Decision::Regression);
    println!("2.5 % slower, the same: {found:.1} % regression");
    assert!(found <= 12.0);
}

#[test]
fn the_quick_profile_does_not_alarm_at_the_usual_margin() {
    for kind in [Kind::HeavyTailed, Kind::Drifting] {
        let alarms = alarms(&paired(0..1_000, kind, 6, 1.0, DEFAULT_MARGIN_PCT));
        println!("A/A, {kind:?}, 6 blocks, margin {DEFAULT_MARGIN_PCT} %: {alarms:.1} % alarms");
        assert!(alarms <= 4.0);
    }
}

/// At the usual margin of half its size, and at none; it is never passed over.
#[test]
fn a_slowdown_of_ten_percent_is_found() {
    for margin_pct in [0.0, DEFAULT_MARGIN_PCT] {
        let comparisons = paired(0..1_000, Kind::Independent, 10, 1.1, margin_pct);
        let found = share(&comparisons, |c| c.decision == Decision::Regression);
        let passed = share(&comparisons, |c| c.decision == Decision::NoRegression);
        println!(
            "10 % slower, 5 % noise, 10 blocks, margin {margin_pct} %: {found:.1} % regression, {passed:.1} % no_regression"
        );
        assert!(found >= 90.0 && passed <= 0.5);
    }
}

#[test]
fn intervals_of_pairs_hold_the_true_effect() {
    for (seeds, kind, blocks) in [
        (0..1_000, Kind::Independent, 6),
        (0..1_000, Kind::HeavyTailed, 6),
        (0..500, Kind::Independent, 15),
        (0..300, Kind::Independent, 30),
    ] {
        let covered = coverage(&paired(seeds, kind, blocks, 1.1, DEFAULT_MARGIN_PCT), 10.0);
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
        let covered = coverage(&(0..1_000).map(one).collect::<Vec<_>>(), 10.0);
        println!("historical, {baseline} trials against {candidate}: coverage {covered:.1} %");
        assert!((92.0..=98.0).contains(&covered));
    }
}

/// The blocks go on where they ended: the order and the noise of the first ten
/// stay.
#[test]
fn the_proposed_blocks_decide() {
    let (mut proposed, mut decided) = (0, 0);
    for (slowdown, seed) in [1.0, 1.08].into_iter().flat_map(|s| (0..90).map(move |seed| (s, seed)))
    {
        let run = |blocks| {
            let trials = paired_trials(Kind::Independent, blocks, slowdown, seed);
            compared(Design::Paired, trials, seed, DEFAULT_MARGIN_PCT)
        };
        let Some(further) = run(10).further_blocks else {
            continue;
        };
        proposed += 1;
        decided += u32::from(run(10 + further).decision != Decision::Inconclusive);
    }
    println!("{proposed} proposals of 40 further blocks at most, {decided} decide");
    assert!(proposed >= 40 && decided * 4 >= proposed * 3);
}
