use super::{HIGHEST_US, Histogram, STANDARD};
use base64::Engine as _;
use proptest::prelude::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|v| histogram.record_us(*v));
    histogram
}

#[test]
fn percentiles_are_nearest_rank_and_never_leave_min_and_max() {
    let histogram = of(&[10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    assert_eq!(histogram.percentile_us(0.0), Some(10));
    assert_eq!(histogram.percentile_us(50.0), Some(50));
    assert_eq!(histogram.percentile_us(51.0), Some(60));
    assert_eq!(histogram.percentile_us(100.0), Some(100));
    let large = of(&[1_234_567]);
    assert_eq!(large.percentile_us(50.0), Some(1_234_567));
}

#[test]
fn mean_and_deviation_are_exact() {
    let histogram = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
    assert_eq!(histogram.mean_us(), Some(5.0));
    let deviation = histogram.stddev_us().unwrap();
    assert!((deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    assert_eq!(of(&[7]).stddev_us(), Some(0.0));
}

#[test]
fn empty_has_no_figures_and_outliers_count_as_the_highest() {
    let summary = Histogram::new().summary();
    assert_eq!((summary.count, summary.p50, summary.mean), (0, None, None));
    assert_eq!(of(&[u64::MAX]).max_us(), Some(HIGHEST_US));
}

#[test]
fn merging_equals_recording_everything_in_one() {
    let (mut left, right) = (of(&[1, 500, 20_000]), of(&[3, 9_999_999]));
    left.merge(&right);
    assert_eq!(left, of(&[1, 500, 20_000, 3, 9_999_999]));
    assert_eq!((left.min_us(), left.max_us()), (Some(1), Some(9_999_999)));
}

#[test]
fn ranks_are_exact_where_products_are_not() {
    let histogram = of(&(1..=1000).collect::<Vec<u64>>());
    for (percent, value) in [(99.9, 999), (99.0, 990), (0.1, 1), (50.0, 500), (99.95, 1000)] {
        assert_eq!(histogram.percentile_us(percent), Some(value), "{percent}");
    }
}

#[test]
fn a_compact_one_says_the_same_and_takes_more() {
    let mut compact = of(&[1, 500, 500, 20_000, 9_999_999]);
    let dense = compact.clone();
    compact.compact();
    assert_eq!(compact, dense);
    assert_eq!(compact.summary(), dense.summary());
    assert_eq!(compact.to_v2(), dense.to_v2());
    compact.record_us(7);
    compact.merge(&dense);
    assert_eq!(compact.len(), 11);
    assert_eq!(compact.percentile_us(1.0), Some(1));
    let mut nothing = Histogram::default();
    nothing.merge(&compact);
    assert_eq!(nothing, compact);
}

#[test]
fn a_stored_form_that_cannot_be_one_is_refused() {
    let good = serde_json::to_value(of(&[5, 9])).unwrap();
    let empty = STANDARD.encode(Histogram::new().to_v2());
    for (key, value) in
        [("min", 10.into()), ("max", 4.into()), ("v2", serde_json::Value::from(empty))]
    {
        let mut damaged: serde_json::Value = good.clone();
        damaged[key] = value;
        assert!(serde_json::from_value::<Histogram>(damaged).is_err(), "{key}");
    }
    let mut damaged = good.clone();
    damaged["squares"] = u128::MAX.to_string().into();
    let mut huge: Histogram = serde_json::from_value(damaged).unwrap();
    huge.merge(&huge.clone());
    assert!(huge.stddev_us().is_some_and(f64::is_finite));
}

#[test]
fn stored_form_returns_unchanged() {
    for histogram in [Histogram::new(), of(&[0, 1, 250, 1_000_003, HIGHEST_US])] {
        let text = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(back, histogram);
        assert_eq!(back.summary(), histogram.summary());
    }
}

#[test]
fn five_billion_values_are_counted_and_keep_their_percentiles() {
    let mut histogram = of(&[1, 1500, HIGHEST_US]);
    // Each merge doubles it.
    (0..31).for_each(|_| histogram.merge(&histogram.clone()));
    assert_eq!(histogram.len(), 3 << 31);
    histogram.compact();
    let summary = histogram.summary();
    assert_eq!((summary.count, summary.p50, summary.max), (3 << 31, Some(1.5), Some(3_600_000.0)));
    assert!(summary.mean.is_some_and(f64::is_finite) && summary.stddev.is_some_and(f64::is_finite));
    let text = serde_json::to_string(&histogram).unwrap();
    let back: Histogram = serde_json::from_str(&text).unwrap();
    assert_eq!(back.summary(), summary);
}

#[test]
fn compact_ones_merge_beyond_32_bits() {
    let mut histogram = of(&[1, 1500]);
    histogram.compact();
    (0..34).for_each(|_| histogram.merge(&histogram.clone()));
    assert_eq!(histogram.len(), 2 << 34);
    assert_eq!(histogram.percentile_us(50.0), Some(1));
    assert_eq!(histogram.percentile_us(51.0), Some(1500));
}

/// Values of every magnitude, and beyond the range.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        0u64..3000,
        2000u64..3_000_000,
        1_000_000u64..HIGHEST_US,
        Just(0),
        Just(HIGHEST_US),
        HIGHEST_US..u64::MAX,
    ];
    prop::collection::vec(value, 1..120)
}

/// The value of nearest rank ⌈p·n/100⌉; `per_mille` is 10·p.
fn nearest_rank(sorted: &[u64], per_mille: usize) -> u64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted[rank - 1]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn percentiles_are_the_raw_values_within_three_digits(
        mut raw in values(),
        per_mille in 0usize..=1000,
    ) {
        let histogram = of(&raw);
        raw.iter_mut().for_each(|value| *value = (*value).min(HIGHEST_US));
        raw.sort_unstable();
        let (min, max) = (raw[0], raw[raw.len() - 1]);
        prop_assert_eq!((histogram.min_us(), histogram.max_us()), (Some(min), Some(max)));
        prop_assert_eq!(histogram.sum_us(), raw.iter().sum::<u64>());
        for per_mille in [per_mille, 0, 500, 660, 750, 800, 900, 950, 980, 990, 999, 1000] {
            let exact = nearest_rank(&raw, per_mille);
            let reported = histogram.percentile_us(per_mille as f64 / 10.0).unwrap();
            prop_assert!((min..=max).contains(&reported), "{} leaves {}..{}", reported, min, max);
            prop_assert!(reported.abs_diff(exact) * 1000 <= exact, "{} for {}", reported, exact);
        }
    }

    #[test]
    fn a_merge_of_parts_is_the_whole_in_any_form(
        parts in prop::collection::vec(values(), 1..4),
        compacted in any::<u8>(),
    ) {
        let whole = of(&parts.concat());
        let mut merged = Histogram::default();
        for (turn, part) in parts.iter().enumerate() {
            let mut part = of(part);
            if compacted >> turn & 1 == 1 {
                part.compact();
            }
            merged.merge(&part);
        }
        prop_assert_eq!(merged.summary(), whole.summary());
        prop_assert_eq!(merged.to_v2(), whole.to_v2());
        prop_assert_eq!(&merged, &whole);
        let stored = serde_json::to_string(&merged).unwrap();
        let back: Histogram = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(back, whole);
    }
}
