//! The verdict, and whether there can be one.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// What a job comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every criterion holds.
    Pass,
    /// A criterion is violated.
    Fail,
    /// A criterion cannot be decided.
    Inconclusive,
    /// The figures cannot be trusted.
    Invalid,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Fail, Self::Inconclusive, Self::Invalid];

    /// The verdict as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|v| v.name() == text).ok_or_else(|| {
            format!("{text:?} is no verdict: one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// What held the figures back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// This generator: the figures say nothing about the server.
    Generator,
    /// The server.
    Server,
    /// The network between them.
    Network,
    /// The asked rate, which was met.
    Rate,
    /// Nothing points anywhere.
    #[default]
    Unknown,
}

impl LimitedBy {
    /// The word as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Server => "server",
            Self::Network => "network",
            Self::Rate => "rate",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether the figures mean what they seem to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Validity {
    /// False makes the verdict `invalid`.
    pub valid: bool,
    /// Why not, one sentence each.
    pub reasons: Vec<String>,
    /// What held the figures back.
    pub limited_by: LimitedBy,
    /// CPU time of the generator's threads per thread and second, 0 to 1; the
    /// highest of the trials.
    pub generator_cpu_ratio: Option<f64>,
    /// Time the generator's threads waited for a processor, per thread and
    /// second, 0 to 1; the highest of the trials. In seconds with 0.5 or more the
    /// generator was the limit.
    pub generator_wait_ratio: Option<f64>,
    /// Share of the time in which the busiest generator thread worked or waited
    /// for a processor, averaged over the requests, 0 to 1; the highest of the
    /// trials. From 0.95 on it had nothing left to give.
    #[serde(default)]
    pub generator_busy_ratio: Option<f64>,
    /// Share of the connections' time in which no request was in flight,
    /// averaged over the requests, 0 to 1; the highest of the trials.
    #[serde(default)]
    pub connections_idle_ratio: Option<f64>,
    /// Whether nginx's own request counter, our polls left out, agrees with what
    /// was sent: at least every answered request, at most every one that may
    /// have reached it. Null when it was not read around the whole load.
    pub reconciled: Option<bool>,
}
