//! What sets the pace of a load: the answers, or a rate.

use super::fields::{Choices, Errors, Fields};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use utoipa::ToSchema;

const RATES: RangeInclusive<f64> = 0.001..=1e6;
const MAX_QUEUED: u64 = 10_000_000;

/// Closed or open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// Each connection sends its next request when it has its answer.
    #[default]
    Closed,
    /// Requests start at `rate`, whatever the answers do; they take whichever
    /// connection is free and wait while there is none.
    Open,
}

impl LoadModel {
    /// The model as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

/// How the intended starts of an open loop lie in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances: the i-th at `i / rate`.
    #[default]
    Constant,
    /// As independent users arrive: a Poisson process of that mean rate, from a
    /// fixed seed, so that every trial of the same load has the same starts.
    Poisson,
}

impl Arrivals {
    /// The word as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        }
    }
}

const MODELS: Choices<LoadModel> = &[("closed", LoadModel::Closed), ("open", LoadModel::Open)];
const ARRIVALS: Choices<Arrivals> =
    &[("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)];

/// The fields of `load` that say what sets the pace.
#[derive(Default)]
pub(super) struct Pace {
    pub(super) model: LoadModel,
    pub(super) rate: Option<f64>,
    pub(super) arrivals: Option<Arrivals>,
    pub(super) max_queued: Option<u64>,
}

impl Pace {
    /// A rate makes an open loop, an open loop takes a rate, and what belongs
    /// to it stands in no closed one.
    pub(super) fn read(fields: &mut Fields<'_>, errors: &mut Errors) -> Self {
        let chosen = fields.choice("model", MODELS, errors);
        let mut pace = Self {
            model: LoadModel::Closed,
            rate: fields.number("rate", RATES, errors),
            arrivals: fields.choice("arrivals", ARRIVALS, errors),
            max_queued: fields.optional_whole("max_queued", 0, MAX_QUEUED, errors),
        };
        let rated = fields.had("rate");
        if fields.had("model") && chosen.is_none() {
            return pace;
        }
        pace.model = chosen.unwrap_or(if rated { LoadModel::Open } else { LoadModel::Closed });
        match pace.model {
            LoadModel::Open if !rated => errors.add(
                "/load/rate",
                "is missing: an open loop takes the requests per second, such as 1000",
            ),
            LoadModel::Open => pace.arrivals = Some(pace.arrivals.unwrap_or_default()),
            LoadModel::Closed => refuse_in_closed(fields, errors),
        }
        pace
    }
}

fn refuse_in_closed(fields: &Fields<'_>, errors: &mut Errors) {
    let right = if fields.had("rate") {
        "leave it out, or let load.model be \"open\""
    } else {
        "leave it out, or give load.rate, too"
    };
    for key in ["rate", "arrivals", "max_queued"] {
        if fields.had(key) {
            let pointer = format!("/load/{key}");
            let why = format!("means nothing where the answers set the pace: {right}");
            errors.add(&pointer, &why);
        }
    }
}
