use super::{ComparedTrial, Comparison, Design, Measured, Question, compare, noise_floor_pct};
use crate::metrics::Better;
use crate::spec::LoadModel;
use crate::statistics::{Arm, ComparisonValidity, Decision, balanced_order};

#[path = "comparison_properties.rs"]
mod properties;

fn question() -> Question {
    Question {
        metric: "latency_p99_ms".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Lower,
        margin_pct: 5.0,
        noise_floor_pct: None,
        requests_needed: 10_000,
        seed: 7,
        load_model: LoadModel::Closed,
    }
}

/// The trials of pairs (baseline, candidate), in balanced order.
fn pairs(values: &[(f64, f64)]) -> Vec<ComparedTrial> {
    let order = balanced_order(values.len() as u32, 7);
    let blocks = (1..).zip(order).zip(values);
    let trials = blocks.flat_map(|((block, order), (a, b))| {
        (1..).zip(order.arms()).map(move |(position, arm)| ComparedTrial {
            block: Some(block),
            position: Some(position),
            arm,
            value: Some(if arm == Arm::A { *a } else { *b }),
            requests: 20_000,
        })
    });
    trials.collect()
}

/// Ten pairs about `ratio` apart, scattered by about 2 %.
fn apart(ratio: f64) -> Vec<ComparedTrial> {
    let wave = |i: i32| 1.0 + 0.02 * f64::from(i * 7 % 10 - 5) / 5.0;
    pairs(&(0..10).map(|i| (20.0, 20.0 * ratio * wave(i))).collect::<Vec<_>>())
}

fn measured(design: Design, trials: Vec<ComparedTrial>) -> Measured {
    Measured {
        design,
        baseline_runs: Vec::new(),
        candidate_runs: Vec::new(),
        trials,
        validity: ComparisonValidity::default(),
        objections: Vec::new(),
    }
}

fn paired(question: &Question, trials: Vec<ComparedTrial>) -> Comparison {
    compare(question, measured(Design::Paired, trials))
}

/// The same trials as if measured at different times.
fn historical(trials: Vec<ComparedTrial>) -> Comparison {
    let trials = trials
        .into_iter()
        .map(|trial| ComparedTrial { block: None, position: None, ..trial })
        .collect();
    compare(&question(), measured(Design::Historical, trials))
}

#[test]
fn decides_by_the_interval_and_says_so_in_one_sentence() {
    for (better, ratio, decision, words) in [
        (
            Better::Lower,
            1.124,
            Decision::Regression,
            "p99 +12.2 % (95 % interval 11.1 to 13.3), worse in 10 of 10 pairs: regression, worse by 11.1 % at least, the margin is 5 %",
        ),
        (
            Better::Lower,
            0.8,
            Decision::Improvement,
            "better in 10 of 10 pairs: improvement, better by",
        ),
        (
            Better::Lower,
            1.03,
            Decision::NoRegression,
            "worse in 10 of 10 pairs: no regression, a small but real change for the worse",
        ),
        (
            Better::Lower,
            0.97,
            Decision::NoRegression,
            "no regression, a real change for the better",
        ),
        (Better::Lower, 1.0, Decision::NoRegression, "no regression, worse by"),
        (Better::Lower, 1.05, Decision::Inconclusive, "inconclusive, worse by 3.7 to 5.8 %"),
        (
            Better::Lower,
            1.06,
            Decision::Regression,
            "worse by 5.8 %, by 4.7 % at least, the margin",
        ),
        (Better::Lower, 0.945, Decision::Improvement, "improvement, better by 5."),
        (
            Better::Higher,
            0.8,
            Decision::Regression,
            "worse in 10 of 10 pairs: regression, worse by 19",
        ),
        (Better::Higher, 1.2, Decision::Improvement, "better in 10 of 10 pairs: improvement"),
        (
            Better::Higher,
            0.98,
            Decision::NoRegression,
            "worse in 10 of 10 pairs: no regression, a small but real",
        ),
        (
            Better::Neither,
            1.2,
            Decision::Inconclusive,
            "larger in 10 of 10 pairs: inconclusive, neither",
        ),
    ] {
        let found = paired(&Question { better, ..question() }, apart(ratio));
        assert_eq!(found.decision, decision, "{ratio}: {}", found.summary);
        assert!(found.summary.contains(words), "{}", found.summary);
        assert!(found.comparable && !found.advisory && found.n_pairs == Some(10));
        assert_eq!(found.pairs_worse.is_none(), better == Better::Neither);
    }
}

#[test]
fn a_historical_comparison_is_labelled_and_advisory() {
    let found = historical(apart(1.2));
    assert_eq!((found.decision, found.design), (Decision::Regression, Design::Historical));
    assert!(found.advisory && found.n_pairs.is_none() && found.order.is_empty());
    let words = "10 trials against 10 of another time: regression (advisory)";
    assert!(found.summary.contains(words), "{}", found.summary);
    let near = historical(apart(1.05));
    assert!(near.reasons[0].contains("a paired comparison can decide it"), "{:?}", near.reasons);
    let few = historical(pairs(&[(20.0, 30.0); 3]));
    assert_eq!((few.decision, few.further_blocks), (Decision::Inconclusive, None));
}

/// An estimate beyond the margin is no regression while it may be nothing.
#[test]
fn what_may_be_chance_is_inconclusive_however_large_it_looks() {
    let noisy =
        [(20.0, 30.0), (20.0, 15.0), (20.0, 28.0), (20.0, 17.0), (20.0, 29.0), (20.0, 21.0)];
    for better in [Better::Lower, Better::Higher] {
        let found = paired(&Question { better, ..question() }, pairs(&noisy));
        assert!(found.effect_pct.unwrap() > 5.0 && found.ci_low_pct.unwrap() < 0.0, "{found:?}");
        assert_eq!(found.decision, Decision::Inconclusive, "{found:?}");
        let proposed = found.further_blocks.map_or("even 50 blocks", |_| "further blocks");
        assert!(found.reasons[0].contains(proposed), "{found:?}");
    }
}

#[test]
fn an_open_question_names_the_blocks_that_would_close_it() {
    let found = paired(&question(), apart(1.045));
    assert!(found.reasons[0].contains("worse by 3.2 to 5.3 %, the margin is 5 %"), "{found:?}");
    let further = found.further_blocks.unwrap();
    assert!(found.reasons[0].contains(&format!("about {further} further blocks")), "{found:?}");
    let in_all = format!("{} in all", found.n_pairs.unwrap() + further);
    assert!(found.reasons[0].contains(&in_all), "{found:?}");
    let hopeless = paired(&question(), apart(1.05));
    assert_eq!(hopeless.further_blocks, None);
    assert!(
        hopeless.reasons[0].contains("even 50 blocks, the most there may be"),
        "{:?}",
        hopeless.reasons
    );
    let few = paired(&question(), pairs(&[(20.0, 30.0), (21.0, 31.0), (20.0, 32.0), (20.0, 31.0)]));
    assert_eq!((few.decision, few.further_blocks), (Decision::Inconclusive, Some(2)));
    assert!(few.reasons[0].contains("4 pairs"), "{:?}", few.reasons);
    let one = paired(&question(), pairs(&[(20.0, 30.0)]));
    assert_eq!((one.ci_low_pct, one.effect_pct.map(f64::round)), (None, Some(50.0)));
}

#[test]
fn a_margin_below_the_noise_floor_decides_nothing() {
    let with_floor =
        |floor| paired(&Question { noise_floor_pct: Some(floor), ..question() }, apart(1.5));
    assert_eq!(with_floor(4.9).decision, Decision::Regression);
    assert_eq!(with_floor(5.0).decision, Decision::Regression);
    let below = with_floor(6.25);
    assert_eq!((below.decision, below.comparable), (Decision::Inconclusive, false));
    assert!(below.reasons[0].contains("below the noise floor of 6.25 %"), "{:?}", below.reasons);
}

#[test]
fn the_noise_floor_is_the_largest_effect_that_a_against_a_admits() {
    let of_itself = paired(&question(), apart(0.99));
    let floor = noise_floor_pct(&of_itself).unwrap();
    assert_eq!(floor, -of_itself.ci_low_pct.unwrap());
    assert!(floor > of_itself.effect_pct.unwrap().abs());
    assert!(noise_floor_pct(&historical(apart(1.0))).is_err());
    let few = noise_floor_pct(&paired(&question(), pairs(&[(20.0, 20.0)])));
    assert!(few.unwrap_err().contains("1 pairs"));
    let mut disturbed = measured(Design::Paired, apart(1.0));
    disturbed.objections.push("nginx was restarted".to_owned());
    let refusal = noise_floor_pct(&compare(&question(), disturbed));
    assert_eq!(refusal, Err("nginx was restarted".to_owned()));
}

#[test]
fn conditions_that_differ_forbid_a_decision() {
    let fine = ComparisonValidity {
        generator_cpu_ok: Some(true),
        rate_achieved_ratio: Some(0.98),
        steady: Some(true),
        drift_pct: Some(1.0),
        error_ratio_a: Some(0.0),
        error_ratio_b: Some(0.001),
        same_environment: Some(true),
    };
    let judged = |validity: ComparisonValidity| {
        compare(&question(), Measured { validity, ..measured(Design::Paired, apart(1.5)) })
    };
    assert_eq!(judged(fine.clone()).decision, Decision::Regression);
    assert_eq!(judged(ComparisonValidity::default()).decision, Decision::Regression);
    for (validity, words) in [
        (
            ComparisonValidity { generator_cpu_ok: Some(false), ..fine.clone() },
            "the generator was the limit",
        ),
        (
            ComparisonValidity { rate_achieved_ratio: Some(0.97), ..fine.clone() },
            "only 97.0 % of the asked rate",
        ),
        (
            ComparisonValidity { rate_achieved_ratio: Some(f64::NAN), ..fine.clone() },
            "of the asked rate",
        ),
        (
            ComparisonValidity { steady: Some(false), drift_pct: Some(-8.0), ..fine.clone() },
            "not steady (drift -8.0 %)",
        ),
        (
            ComparisonValidity { error_ratio_b: Some(0.3), ..fine.clone() },
            "baseline 0.00 % and candidate 30.00 %",
        ),
        (
            ComparisonValidity { error_ratio_a: Some(f64::NAN), ..fine.clone() },
            "the error ratios differ",
        ),
        (ComparisonValidity { same_environment: Some(false), ..fine }, "the environments differ"),
    ] {
        let found = judged(validity);
        assert_eq!((found.decision, found.comparable), (Decision::Inconclusive, false));
        assert!(found.reasons[0].contains(words), "{:?}", found.reasons);
        assert!(found.summary.contains(words) && found.effect_pct.is_some());
    }
}

/// One bad request among few is no difference between servers.
#[test]
fn one_bad_request_does_not_forbid_a_decision() {
    let mut trials = apart(1.5);
    trials.iter_mut().for_each(|trial| trial.requests = 40);
    let validity = ComparisonValidity {
        error_ratio_a: Some(0.0),
        error_ratio_b: Some(1.0 / 400.0),
        ..ComparisonValidity::default()
    };
    let question = Question { requests_needed: 0, ..question() };
    let found = compare(&question, Measured { validity, ..measured(Design::Paired, trials) });
    assert_eq!(found.decision, Decision::Regression, "{:?}", found.reasons);
}

#[test]
fn figures_that_have_no_ratio_are_named_with_their_block() {
    let reasons = |change: fn(&mut Vec<ComparedTrial>)| {
        let mut trials = apart(1.5);
        change(&mut trials);
        let found = paired(&question(), trials);
        assert_eq!(found.decision, Decision::Inconclusive);
        assert!(found.effect_pct.is_none_or(f64::is_finite));
        found.reasons.join("; ")
    };
    for (found, words) in [
        (reasons(|t| t[0].value = None), "in block 1 the"),
        (reasons(|t| t[3].value = Some(f64::NAN)), "has a figure that is no number"),
        (reasons(|t| t[3].value = Some(0.0)), "reads 0: only figures above zero"),
        (reasons(|t| t[3].value = Some(-2.5)), "reads -2.5"),
        (reasons(|t| t.iter_mut().for_each(|t| t.value = Some(0.0))), "7 more of this kind"),
        (reasons(|t| t.truncate(19)), "block 10 has no trial of the"),
        (reasons(|t| t.push(t[0])), "block 1 has more than one trial of the"),
        (reasons(|t| t[5].block = None), "names no block"),
        (reasons(|t| t[4].position = t[5].position), "does not say which trial came first"),
        (reasons(|t| t[7].requests = 9_999), "1 of 20 trials have fewer than the 10000 requests"),
        (reasons(Vec::clear), "0 pairs"),
        (reasons(|t| (0..9_999).for_each(|_| t.push(t[0]))), "more than 500 trials"),
    ] {
        assert!(found.contains(words), "{found:?} does not say {words:?}");
    }
}

#[test]
fn an_unbalanced_order_forbids_a_decision() {
    let mut trials = apart(1.5);
    for trial in &mut trials {
        trial.position = Some(if trial.arm == Arm::A { 1 } else { 2 });
    }
    let found = paired(&question(), trials);
    assert!(found.reasons[0].contains("10 AB and 0 BA"), "{:?}", found.reasons);
}

#[test]
fn questions_that_cannot_be_asked_are_refused_in_words() {
    for (margin, floor, words) in [
        (f64::NAN, None, "the margin of NaN %"),
        (-1.0, None, "the margin of -1 %"),
        (f64::INFINITY, None, "the margin of inf %"),
        (5.0, Some(f64::NAN), "the noise floor of NaN %"),
    ] {
        let question = Question { margin_pct: margin, noise_floor_pct: floor, ..question() };
        let found = paired(&question, apart(1.5));
        assert_eq!(found.decision, Decision::Inconclusive);
        assert!(found.reasons[0].contains(words), "{:?}", found.reasons);
    }
}

/// A metric that never varies (a body's size) is decided, not divided by zero.
#[test]
fn constant_figures_are_decided() {
    let same = paired(&question(), pairs(&[(20.0, 20.0); 6]));
    assert_eq!(
        (same.decision, same.effect_pct, same.p_value),
        (Decision::NoRegression, Some(0.0), Some(1.0))
    );
    assert_eq!(
        (same.ci_low_pct, same.ci_high_pct, same.pairs_worse),
        (Some(0.0), Some(0.0), Some(0))
    );
    let worse = paired(&question(), pairs(&[(20.0, 22.0); 6]));
    assert_eq!((worse.decision, worse.p_value), (Decision::Regression, Some(0.03125)));
    let vast = paired(&question(), pairs(&[(1e-300, 1e300); 6]));
    assert_eq!((vast.decision, vast.effect_pct), (Decision::Regression, Some(f64::MAX)));
}

#[test]
fn a_stored_document_reads_back() {
    let found = paired(&question(), apart(1.124));
    let document = serde_json::to_value(&found).unwrap();
    for field in [
        "decision",
        "effect_pct",
        "ci_low_pct",
        "ci_high_pct",
        "metric",
        "n_pairs",
        "reasons",
        "design",
    ] {
        assert!(!document[field].is_null(), "{field}");
    }
    assert_eq!(document["decision"], "regression");
    assert_eq!(document["order"][0].as_str().map(str::len), Some(2));
    assert_eq!(document["trials"][0]["block"], 1);
    assert_eq!(serde_json::from_value::<Comparison>(document).unwrap(), found);
}

/// The last bit of a ratio makes no difference between differences.
#[test]
fn equal_ratios_tie_at_every_level() {
    let worse = [(2.0, 2.2), (3.0, 3.3), (7.0, 7.7), (0.1, 0.11)];
    let better = worse.map(|(a, b)| (b, a));
    let found = paired(&question(), pairs(&[worse, better].concat()));
    assert_eq!((found.effect_pct, found.p_value), (Some(0.0), Some(1.0)));
}
