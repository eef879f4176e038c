//! The arithmetic behind ab's "Connection Times": integer microseconds, ab's
//! own mean, deviation and median, from raw rows or from histograms.

use benchd_model::{Histogram, Tally};

/// The four times of one complete response as ab takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbRow {
    /// Start of the attempt, in microseconds from the start of the run.
    pub start_us: u64,
    /// Start to connected, TLS included; 0 on a reused connection.
    pub connect_us: u64,
    /// Request written to first byte.
    pub wait_us: u64,
    /// Start to done.
    pub total_us: u64,
}

impl AbRow {
    /// Total − connect.
    #[must_use]
    pub const fn processing_us(&self) -> u64 {
        self.total_us.saturating_sub(self.connect_us)
    }
}

/// One line of the table, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Column {
    pub(crate) min: u64,
    pub(crate) mean: u64,
    pub(crate) deviation: f64,
    pub(crate) median: u64,
    pub(crate) max: u64,
}

/// The whole table and the sorted totals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub(crate) connect: Column,
    pub(crate) processing: Column,
    pub(crate) waiting: Column,
    pub(crate) total: Column,
    totals: Sorted,
}

impl Times {
    /// ab's exact figures.
    pub(crate) fn of_rows(rows: &[AbRow]) -> Self {
        let sorted = |figure: fn(&AbRow) -> u64| {
            let mut values: Vec<u64> = rows.iter().map(figure).collect();
            values.sort_unstable();
            Sorted::exact(values)
        };
        let totals = sorted(|row| row.total_us);
        Self {
            connect: sorted(|row| row.connect_us).column(),
            processing: sorted(AbRow::processing_us).column(),
            waiting: sorted(|row| row.wait_us).column(),
            total: totals.column(),
            totals,
        }
    }

    /// The same figures within the histograms' three significant digits. A
    /// request on a reused connection connects in no time.
    pub(crate) fn of_tally(tally: &Tally) -> Self {
        let responses = tally.latency.len();
        let connects = tally.connect.len().max(responses);
        let tcp = Sorted::of_histogram(&tally.connect, connects - tally.connect.len());
        let tls = Sorted::of_histogram(&tally.tls, connects.saturating_sub(tally.tls.len()));
        let totals = Sorted::of_histogram(&tally.latency, 0);
        Self {
            connect: tcp.column().plus(tls.column()),
            processing: Sorted::of_histogram(&tally.service, 0).column(),
            waiting: Sorted::of_histogram(&tally.ttfb, 0).column(),
            total: totals.column(),
            totals,
        }
    }

    /// How many responses stand behind the figures.
    pub(crate) fn len(&self) -> u64 {
        self.totals.len
    }

    /// The total at `index` of the ascending order, in microseconds.
    pub(crate) fn total_at(&self, index: u64) -> u64 {
        self.totals.at(index)
    }
}

/// Values in ascending order, each standing for one or many.
#[derive(Clone, Debug, Default)]
struct Sorted {
    /// (value, how many values stand up to and including it).
    steps: Vec<(u64, u64)>,
    len: u64,
    sum: u128,
    /// Σ(x − mean)² for the rounded-down mean that ab uses.
    squares: f64,
    min: u64,
    max: u64,
}

impl Sorted {
    fn exact(values: Vec<u64>) -> Self {
        let len = values.len() as u64;
        let sum: u128 = values.iter().copied().map(u128::from).sum();
        let mean = mean(sum, len) as f64;
        let squares = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
        let (min, max) = (values.first().copied(), values.last().copied());
        let steps = values.into_iter().zip(1..).collect();
        Self { steps, len, sum, squares, min: min.unwrap_or(0), max: max.unwrap_or(0) }
    }

    fn of_histogram(histogram: &Histogram, zeros: u64) -> Self {
        let recorded = histogram.len();
        let len = recorded + zeros;
        let sum = u128::from(histogram.sum_us());
        let mut steps = Vec::new();
        if zeros > 0 {
            steps.push((0, zeros));
        }
        let mut upto = zeros;
        for (value, count) in histogram.buckets() {
            upto += count;
            steps.push((value, upto));
        }
        let min = if zeros > 0 { 0 } else { histogram.min_us().unwrap_or(0) };
        let max = histogram.max_us().unwrap_or(0);
        Self { steps, len, sum, squares: squares_about(histogram, zeros), min, max }
    }

    fn at(&self, index: u64) -> u64 {
        let step = self.steps.partition_point(|(_, upto)| *upto <= index);
        self.steps.get(step).map_or(self.max, |(value, _)| *value)
    }

    fn column(&self) -> Column {
        let deviation =
            if self.len > 1 { (self.squares / (self.len - 1) as f64).sqrt() } else { 0.0 };
        Column {
            min: self.min,
            mean: mean(self.sum, self.len),
            deviation,
            median: self.median(),
            max: self.max,
        }
    }

    /// ab's median: for an odd number of values it stands one rank high.
    fn median(&self) -> u64 {
        let middle = self.len / 2;
        if self.len > 1 && !self.len.is_multiple_of(2) {
            return (self.at(middle) + self.at(middle + 1)) / 2;
        }
        self.at(middle)
    }
}

impl Column {
    /// Two parts of one time, recorded apart. Means add up exactly; the other
    /// figures do when the slow ones of both parts coincide, and are an upper
    /// bound (of the minimum: a lower one) otherwise.
    fn plus(self, other: Self) -> Self {
        Self {
            min: self.min + other.min,
            mean: self.mean + other.mean,
            deviation: self.deviation + other.deviation,
            median: self.median + other.median,
            max: self.max + other.max,
        }
    }
}

fn mean(sum: u128, len: u64) -> u64 {
    sum.checked_div(u128::from(len)).map_or(0, |mean| u64::try_from(mean).unwrap_or(u64::MAX))
}

/// Σ(x − m)² about ab's rounded-down mean over the recorded values and `zeros`
/// zeros: the recorded ones' squares about their own mean, moved.
fn squares_about(histogram: &Histogram, zeros: u64) -> f64 {
    let recorded = histogram.len();
    let (Some(own_mean), Some(deviation)) = (histogram.mean_us(), histogram.stddev_us()) else {
        return 0.0;
    };
    let about = mean(u128::from(histogram.sum_us()), recorded + zeros) as f64;
    let own = deviation.powi(2) * recorded.saturating_sub(1) as f64;
    own + recorded as f64 * (own_mean - about).powi(2) + zeros as f64 * about.powi(2)
}

#[cfg(test)]
mod tests {
    use super::{AbRow, Times};
    use benchd_model::{Histogram, Tally};

    fn rows(totals: &[u64]) -> Vec<AbRow> {
        totals.iter().map(|total| AbRow { total_us: *total, ..AbRow::default() }).collect()
    }

    #[test]
    fn an_odd_number_of_values_has_abs_median_one_rank_high() {
        assert_eq!(Times::of_rows(&rows(&[1, 2, 4])).total.median, 3);
        assert_eq!(Times::of_rows(&rows(&[1, 2, 4, 8])).total.median, 4);
        assert_eq!(Times::of_rows(&rows(&[7])).total.median, 7);
    }

    #[test]
    fn the_mean_is_an_integer_and_the_deviation_stands_about_it() {
        let total = Times::of_rows(&rows(&[1, 2])).total;
        assert_eq!(total.mean, 1);
        assert!((total.deviation - 1.0).abs() < 1e-12, "{}", total.deviation);
    }

    #[test]
    fn histograms_give_the_rows_figures_while_values_are_small() {
        let values = [100_u64, 250, 250, 400, 999];
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record_us(*value));
        let mut connect = Histogram::new();
        connect.record_us(50);
        let tally = Tally { latency: histogram, connect, ..Tally::default() };
        let exact: Vec<AbRow> = values
            .iter()
            .map(|total| {
                let connect_us = if *total == 100 { 50 } else { 0 };
                AbRow { total_us: *total, connect_us, ..AbRow::default() }
            })
            .collect();
        let (from_rows, from_tally) = (Times::of_rows(&exact), Times::of_tally(&tally));
        for (a, b) in [(from_rows.total, from_tally.total), (from_rows.connect, from_tally.connect)]
        {
            assert_eq!((a.min, a.mean, a.median, a.max), (b.min, b.mean, b.median, b.max));
            assert!((a.deviation - b.deviation).abs() < 1e-6, "{a:?} {b:?}");
        }
        assert_eq!(from_tally.connect.median, 0);
        assert_eq!((0..5).map(|i| from_tally.total_at(i)).collect::<Vec<_>>(), values);
    }
}
