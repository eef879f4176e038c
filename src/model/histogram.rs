//! A latency distribution: HDR, three significant digits, 1 µs to 1 h, with
//! exact minimum, maximum, sum and sum of squares beside the buckets.

mod buckets;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use buckets::Buckets;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;
use utoipa::ToSchema;

/// The largest value kept, in microseconds (one hour); larger ones count as it.
pub const HIGHEST_US: u64 = 3_600_000_000;

/// A distribution of durations in microseconds. Distributions are merged;
/// percentiles never are.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Buckets,
    min_us: u64,
    max_us: u64,
    sum_us: u64,
    sum_squares: u128,
}

impl Default for Histogram {
    /// An empty distribution that takes no room until something is recorded.
    fn default() -> Self {
        Self { buckets: Buckets::default(), min_us: u64::MAX, max_us: 0, sum_us: 0, sum_squares: 0 }
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.sum_us == other.sum_us
            && self.sum_squares == other.sum_squares
            && self.buckets.in_use().eq(other.buckets.in_use())
    }
}

impl Histogram {
    /// An empty distribution with its whole range allocated (about 190 KiB),
    /// so that recording never allocates.
    #[must_use]
    pub fn new() -> Self {
        Self { buckets: Buckets::dense(), ..Self::default() }
    }

    /// Records one value in microseconds.
    #[inline]
    pub fn record_us(&mut self, micros: u64) {
        let micros = micros.min(HIGHEST_US);
        self.buckets.record(micros);
        self.min_us = self.min_us.min(micros);
        self.max_us = self.max_us.max(micros);
        self.sum_us = self.sum_us.saturating_add(micros);
        self.sum_squares += u128::from(micros) * u128::from(micros);
    }

    /// Records one duration, rounded to the nearest microsecond.
    #[inline]
    pub fn record(&mut self, duration: Duration) {
        let micros = (duration.as_nanos() + 500) / 1000;
        self.record_us(u64::try_from(micros).unwrap_or(HIGHEST_US));
    }

    /// Adds every value of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.buckets.add(&other.buckets);
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }

    /// Forgets every value and keeps the memory.
    pub fn reset(&mut self) {
        self.buckets.reset();
        self.min_us = u64::MAX;
        self.max_us = 0;
        self.sum_us = 0;
        self.sum_squares = 0;
    }

    /// Gives up the room that recording needs, once nothing more is recorded.
    pub fn compact(&mut self) {
        self.buckets.compact();
    }

    /// How many values were recorded.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.buckets.len()
    }

    /// True when nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The smallest value in microseconds, exact.
    #[must_use]
    pub fn min_us(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_us)
    }

    /// The largest value in microseconds, exact.
    #[must_use]
    pub fn max_us(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_us)
    }

    /// The exact mean in microseconds.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_us as f64 / self.len() as f64)
    }

    /// The sum of all values in microseconds.
    #[must_use]
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// The sample standard deviation (n − 1) in microseconds; 0 for one value.
    #[must_use]
    pub fn stddev_us(&self) -> Option<f64> {
        let n = self.len();
        if n < 2 {
            return (n == 1).then_some(0.0);
        }
        // n·Σx² − (Σx)² in integers, so that nothing cancels before the division.
        let square = u128::from(self.sum_us) * u128::from(self.sum_us);
        let numerator = match u128::from(n).checked_mul(self.sum_squares) {
            Some(scaled) => scaled.saturating_sub(square) as f64,
            // Billions of hour-long values do not fit; floats do.
            None => (n as f64 * self.sum_squares as f64 - square as f64).max(0.0),
        };
        Some((numerator / (n as f64 * (n - 1) as f64)).sqrt())
    }

    /// The value of nearest rank ⌈p·n/100⌉ in microseconds, clamped to the
    /// exact minimum and maximum. `percent` is 0 to 100.
    #[must_use]
    pub fn percentile_us(&self, percent: f64) -> Option<u64> {
        self.value_of_rank(Self::rank(percent, self.len()))
    }

    /// The nearest rank, from 1, of a percentile among so many values.
    pub(crate) fn rank(percent: f64, total: u64) -> u64 {
        // A product such as 99.9 · 1000 may come out a hair above its rank.
        let exact = percent * total as f64 / 100.0;
        ((exact * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, total.max(1))
    }

    /// The value at a rank from 1, ascending, in microseconds.
    pub(crate) fn value_of_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        let reaches = |(value, count): (u64, u64)| {
            below += count;
            (below >= rank).then_some(value)
        };
        let value = self.buckets.in_use().find_map(reaches)?;
        Some(value.clamp(self.min_us, self.max_us))
    }

    /// Buckets with their counts, ascending: (highest value in µs, count).
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.in_use().map(|(value, count)| (value.clamp(self.min_us, self.max_us), count))
    }

    /// The summary that results show, in milliseconds.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let percentile = |p| self.percentile_us(p).map(|us| us as f64 / 1000.0);
        LatencySummary {
            count: self.len(),
            min: self.min_us().map(|us| us as f64 / 1000.0),
            mean: self.mean_us().map(round_us_to_ms),
            stddev: self.stddev_us().map(round_us_to_ms),
            p50: percentile(50.0),
            p66: percentile(66.0),
            p75: percentile(75.0),
            p80: percentile(80.0),
            p90: percentile(90.0),
            p95: percentile(95.0),
            p98: percentile(98.0),
            p99: percentile(99.0),
            p99_9: percentile(99.9),
            max: self.max_us().map(|us| us as f64 / 1000.0),
        }
    }

    /// The HDR V2 encoding of the buckets (uncompressed).
    #[must_use]
    pub fn to_v2(&self) -> Vec<u8> {
        self.buckets.to_v2()
    }
}

fn round_us_to_ms(micros: f64) -> f64 {
    micros.round() / 1000.0
}

/// The stored form: exact sums beside the V2 buckets in base64.
#[derive(Serialize, Deserialize)]
struct Stored {
    min: u64,
    max: u64,
    sum: u64,
    /// A decimal string: JSON numbers do not carry 128 bits.
    squares: String,
    v2: String,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() {
            return serializer.serialize_none();
        }
        let stored = Stored {
            min: self.min_us,
            max: self.max_us,
            sum: self.sum_us,
            squares: self.sum_squares.to_string(),
            v2: STANDARD.encode(self.to_v2()),
        };
        serializer.serialize_some(&stored)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let Some(stored) = Option::<Stored>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let bytes = STANDARD.decode(&stored.v2).map_err(D::Error::custom)?;
        let buckets = Buckets::from_v2(&bytes).map_err(D::Error::custom)?;
        if buckets.is_empty() || stored.min > stored.max || stored.max > HIGHEST_US {
            return Err(D::Error::custom("a histogram whose extremes cannot be its own"));
        }
        Ok(Self {
            buckets,
            min_us: stored.min,
            max_us: stored.max,
            sum_us: stored.sum,
            sum_squares: stored.squares.parse().map_err(D::Error::custom)?,
        })
    }
}

/// A distribution in figures, in milliseconds; null where nothing was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LatencySummary {
    /// How many values stand behind the figures.
    pub count: u64,
    /// Smallest value.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Sample standard deviation.
    pub stddev: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 66th percentile.
    pub p66: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 80th percentile.
    pub p80: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 98th percentile.
    pub p98: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

#[cfg(test)]
mod tests;
