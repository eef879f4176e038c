use super::{ChangePoint, HistoryPoint, Search, Strength, change_points, history};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Noise of about 2 % around 1, the sum of twelve uniform numbers.
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut stream = Xoshiro256PlusPlus::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let uniform = |_| (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        1.0 + 0.02 * ((0..12).map(uniform).sum::<f64>() - 6.0)
    })
}

/// A series of the given levels, each for as many runs.
fn series(levels: &[(f64, usize)], seed: u64) -> Vec<Option<f64>> {
    let level = levels.iter().flat_map(|(level, runs)| std::iter::repeat_n(*level, *runs));
    level.zip(noise(seed)).map(|(level, noise)| Some(level * noise)).collect()
}

fn strong(series: &[Option<f64>]) -> Vec<ChangePoint> {
    let mut points = change_points(series, Search::default());
    points.retain(|point| point.strength == Strength::Strong);
    points
}

#[test]
fn finds_where_the_level_changed_and_says_by_how_much() {
    let points = strong(&series(&[(100.0, 40), (110.0, 35), (90.0, 60)], 1));
    let places: Vec<usize> = points.iter().map(|point| point.index).collect();
    assert_eq!(places, [40, 75], "{points:?}");
    let change = points[0].change_pct.unwrap();
    assert!((change - 10.0).abs() < 1.0 && points[0].p_value < 1e-6, "{points:?}");
    assert!((points[1].change_pct.unwrap() + 18.2).abs() < 1.0, "{points:?}");
    assert!((points[1].before - points[0].after).abs() < 1e-9);
}

#[test]
fn a_change_is_found_within_three_runs_and_stays_where_it_was() {
    for runs in [3, 4, 10, 30, 200] {
        let points = strong(&series(&[(100.0, 40), (110.0, runs)], 1));
        assert!(points.iter().any(|point| point.index == 40), "{runs}: {points:?}");
    }
}

#[test]
fn quiet_series_rarely_show_anything() {
    let alarms =
        (0..200).filter(|seed| !strong(&series(&[(100.0, 100)], *seed)).is_empty()).count();
    println!("change points in {alarms} of 200 quiet series of 100 runs");
    assert!(alarms <= 16, "{alarms}");
}

#[test]
fn one_bad_run_is_no_level() {
    for at in [0, 20, 39] {
        let mut values = series(&[(100.0, 40)], 3);
        values[at] = Some(150.0);
        assert_eq!(strong(&values), [], "{at}");
    }
}

#[test]
fn a_small_change_is_weak_or_nothing_when_only_large_ones_are_asked_for() {
    let values = series(&[(100.0, 40), (103.0, 40)], 5);
    assert_eq!(strong(&values).len(), 1);
    let search = Search { smallest_pct: 10.0, ..Search::default() };
    let points = change_points(&values, search);
    assert!(points.iter().all(|point| point.strength == Strength::Weak), "{points:?}");
    assert_eq!(points.len(), 1);
}

#[test]
fn starts_anew_where_the_conditions_change() {
    let run = |conditions: &str| {
        let conditions = conditions.to_owned();
        move |value| HistoryPoint { value, conditions: conditions.clone() }
    };
    let mut runs: Vec<HistoryPoint> =
        series(&[(100.0, 30)], 1).into_iter().map(run("old")).collect();
    runs.extend(series(&[(150.0, 30), (165.0, 30)], 2).into_iter().map(run("new")));
    runs.extend(series(&[(100.0, 30)], 3).into_iter().map(run("old")));
    let found = history(&runs, Search::default());
    assert_eq!(found.restarts, [30, 90]);
    let strong = found.change_points.iter().filter(|p| p.strength == Strength::Strong);
    assert_eq!(strong.map(|point| point.index).collect::<Vec<_>>(), [60]);
    assert_eq!(history(&runs, Search::default()), found);
}

#[test]
fn strange_series_have_no_change_and_do_no_harm() {
    let absurd = [None, Some(f64::NAN), Some(f64::INFINITY), None];
    for values in [&[][..], &absurd, &[Some(1.0)], &[Some(0.0); 80], &[Some(-5.0); 7]] {
        assert_eq!(change_points(values, Search::default()), [], "{values:?}");
    }
    let huge: Vec<_> = (0..60).map(|i| Some(if i < 30 { 1e300 } else { -1e300 })).collect();
    assert!(change_points(&huge, Search::default()).iter().all(|point| point.p_value <= 1.0));
    let narrow = Search { window: 0, ..Search::default() };
    assert_eq!(change_points(&[Some(1.0); 20], narrow), []);
}

#[test]
fn runs_without_a_figure_keep_the_places_of_the_others() {
    let mut values = series(&[(100.0, 40), (110.0, 40)], 1);
    values.insert(10, None);
    values.insert(20, Some(f64::NAN));
    assert_eq!(strong(&values).iter().map(|point| point.index).collect::<Vec<_>>(), [42]);
}

#[test]
fn a_step_from_zero_has_no_percentage() {
    let values: Vec<_> = (0..40).map(|i| Some(if i < 20 { 0.0 } else { 3.0 })).collect();
    let points = strong(&values);
    assert_eq!(points.len(), 1);
    assert_eq!((points[0].index, points[0].change_pct, points[0].p_value), (20, None, 0.0));
}

/// scipy's `ttest_ind`.
#[test]
fn the_t_test_agrees_with_a_known_figure() {
    let p = super::divisive::student_p(&[1.0, 2.0, 3.0, 4.0], &[3.0, 5.0, 4.0, 6.0, 7.0]);
    assert!((p - 0.038_333_728_836_030_92).abs() < 1e-12, "{p}");
}
