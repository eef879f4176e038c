//! Points in time as the API writes them: RFC 3339, UTC, milliseconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// A point in time with microsecond precision. It reads any RFC 3339 offset
/// and always writes UTC with milliseconds (`2026-11-30T14:00:01.000Z`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-30T14:00:01.000Z")]
pub struct Timestamp(i64);

impl Timestamp {
    /// Builds a timestamp from microseconds since the Unix epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Reads the wall clock.
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_microsecond())
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This time moved by `micros` (negative moves it back).
    #[must_use]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Seconds from `earlier` to this time; negative when this is before it.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> f64 {
        (self.0 - earlier.0) as f64 / 1e6
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = String;

    /// Accepts RFC 3339 or epoch milliseconds (what Grafana sends).
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(millis) = text.parse::<i64>() {
            return millis
                .checked_mul(1000)
                .filter(|micros| jiff::Timestamp::from_microsecond(*micros).is_ok())
                .map(Self)
                .ok_or_else(|| format!("{text} is no time: epoch milliseconds out of range"));
        }
        text.parse::<jiff::Timestamp>().map(|time| Self(time.as_microsecond())).map_err(|_| {
            format!(
                "{text:?} is no time: write RFC 3339 (2026-11-30T14:00:01Z) or epoch milliseconds"
            )
        })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn writes_utc_with_milliseconds() {
        let time: Timestamp = "2026-11-30T16:00:01.5+02:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-11-30T14:00:01.500Z");
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn reads_epoch_milliseconds_and_refuses_nonsense() {
        assert_eq!("1500".parse::<Timestamp>().unwrap().as_micros(), 1_500_000);
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert!("9223372036854775807".parse::<Timestamp>().is_err());
    }
}
