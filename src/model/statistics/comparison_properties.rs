//! What holds for every comparison, whatever was measured.

use super::{measured, paired, pairs, question};
use crate::statistics::{Arm, Decision, Design, Question, compare};
use proptest::prelude::*;

fn close(x: Option<f64>, y: Option<f64>) -> bool {
    x.zip(y).is_some_and(|(x, y)| (x - y).abs() <= 1e-6 * (1.0 + x.abs()))
}

/// The percentage of the inverse ratio.
fn inverse(pct: Option<f64>) -> Option<f64> {
    pct.map(|pct| (1.0 / (1.0 + pct / 100.0) - 1.0) * 100.0)
}

fn sound_pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((1.0..100.0_f64, 1.0..100.0_f64), 2..20)
}

proptest! {
    // A file of failed cases would lie where the workspace looks for crates.
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_unit_does_not_matter(values in sound_pairs(), factor in 1e-6..1e6_f64) {
        let scaled: Vec<_> = values.iter().map(|(a, b)| (a * factor, b * factor)).collect();
        let (plain, scaled) = (paired(&question(), pairs(&values)), paired(&question(), pairs(&scaled)));
        prop_assert!(close(plain.effect_pct, scaled.effect_pct));
        prop_assert!(close(plain.ci_low_pct, scaled.ci_low_pct));
        prop_assert!(close(plain.ci_high_pct, scaled.ci_high_pct));
        prop_assert!(close(plain.p_value, scaled.p_value));
    }

    #[test]
    fn swapped_arms_mirror_the_effect(values in sound_pairs(), design in prop_oneof![Just(Design::Paired), Just(Design::Historical)]) {
        let mut trials = pairs(&values);
        let plain = compare(&question(), measured(design, trials.clone()));
        for trial in &mut trials {
            trial.arm = if trial.arm == Arm::A { Arm::B } else { Arm::A };
        }
        let swapped = compare(&question(), measured(design, trials));
        prop_assert!(close(plain.effect_pct, inverse(swapped.effect_pct)));
        prop_assert!(close(plain.p_value, swapped.p_value));
        if design == Design::Paired {
            prop_assert!(close(plain.ci_low_pct, inverse(swapped.ci_high_pct)));
            prop_assert!(close(plain.ci_high_pct, inverse(swapped.ci_low_pct)));
        }
    }

    #[test]
    fn the_same_trials_and_seed_give_the_same_document(values in sound_pairs()) {
        let trials = pairs(&values);
        let found = paired(&question(), trials.clone());
        prop_assert_eq!(&found, &paired(&question(), trials.clone()));
        let backwards = paired(&question(), trials.into_iter().rev().collect());
        prop_assert_eq!(found.ci_low_pct, backwards.ci_low_pct);
        prop_assert_eq!(found.summary, backwards.summary);
    }

    #[test]
    fn no_figures_bring_it_down(
        values in prop::collection::vec((any::<f64>(), any::<f64>()), 0..12),
        margin_pct in any::<f64>(),
        design in prop_oneof![Just(Design::Paired), Just(Design::Historical)],
    ) {
        let question = Question { margin_pct, ..question() };
        let found = compare(&question, measured(design, pairs(&values)));
        let unusable = |v: &f64| !(v.is_finite() && *v > 0.0);
        if values.iter().any(|(a, b)| unusable(a) || unusable(b)) {
            prop_assert_eq!(found.decision, Decision::Inconclusive);
        }
        prop_assert!(!found.reasons.is_empty() && !found.summary.is_empty());
        prop_assert!([found.effect_pct, found.ci_low_pct, found.ci_high_pct].into_iter().flatten().all(f64::is_finite));
        if let (Some(low), Some(effect), Some(high)) = (found.ci_low_pct, found.effect_pct, found.ci_high_pct) {
            prop_assert!(low <= effect && effect <= high);
        }
    }
}
