//! Durations going in: strings with a unit (`"30s"`, `"500ms"`).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use utoipa::ToSchema;

/// A length of time as a person writes it. Whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, example = "30s")]
pub struct Span(Duration);

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The same length as a standard duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// True for a span of no length.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(Duration::from_micros(duration.as_micros().min(u128::from(u64::MAX)) as u64))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        if micros.is_multiple_of(1_000_000) {
            write!(f, "{}s", micros / 1_000_000)
        } else if micros.is_multiple_of(1000) {
            write!(f, "{}ms", micros / 1000)
        } else {
            write!(f, "{micros}us")
        }
    }
}

impl FromStr for Span {
    type Err = String;

    /// What is too long for the clock comes out as the longest span there is, so
    /// that the limit of the field is told, and not that the text is no duration.
    fn from_str(text: &str) -> Result<Self, String> {
        let refusal = || {
            format!(
                "{text:?} is no duration: write a number and a unit, such as \"30s\", \"500ms\" or \"2m\""
            )
        };
        let signed: jiff::SignedDuration = match text.trim().parse() {
            Ok(signed) => signed,
            Err(_) if is_too_long(text.trim()) => return Ok(Duration::MAX.into()),
            Err(_) => return Err(refusal()),
        };
        let negative = |_| format!("{text:?} is negative: a duration is 0s or longer");
        Ok(Duration::try_from(signed).map_err(negative)?.into())
    }
}

/// True for a text that would be a duration if its numbers were small.
fn is_too_long(text: &str) -> bool {
    let mut small = String::new();
    for c in text.chars() {
        if !(c.is_ascii_digit() && small.ends_with(|c: char| c.is_ascii_digit())) {
            small.push(c);
        }
    }
    small.parse::<jiff::SignedDuration>().is_ok_and(|short| !short.is_negative())
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;
    use std::time::Duration;

    #[test]
    fn reads_and_writes_units() {
        for (text, micros, back) in [
            ("30s", 30_000_000, "30s"),
            ("500ms", 500_000, "500ms"),
            ("1m30s", 90_000_000, "90s"),
            ("1.5s", 1_500_000, "1500ms"),
            ("250us", 250, "250us"),
            ("0s", 0, "0s"),
            ("99999999999999999999s", u64::MAX, "18446744073709551615us"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.duration(), Duration::from_micros(micros), "{text}");
            assert_eq!(span.to_string(), back);
        }
    }

    #[test]
    fn refuses_what_has_no_unit_or_no_length() {
        for text in ["", "30", "-5s", "soon", "1e99s", "NaN"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
