//! The metric catalogue: what criteria may speak of, and how each is read off
//! a result. A name that is not here is refused when a job is posted.

mod scalars;
mod times;

use crate::Tally;
use crate::result::RunResult;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use scalars::{SCALARS, Scalar, Source};
pub(crate) use times::{DISTRIBUTIONS, Distribution, Of, Statistic};

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
    /// It describes; neither is better.
    Neither,
}

/// A metric of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Metric {
    /// Its name in criteria. `pN` stands for any percentile: `p50`, `p99`, `p99.95`.
    #[schema(example = "latency_p99_ms")]
    pub name: String,
    /// Its unit.
    #[schema(example = "ms")]
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// How many samples it takes at least: attempts, responses or connections for
    /// what the load measures, readings for nginx and the host. With fewer,
    /// a criterion on it has no data and does not pass. Null for `pN`, which takes
    /// `1000 / min(N, 100 - N)`, ten samples on either side: p50 20, p99 1,000,
    /// p99.9 10,000.
    #[schema(example = 1000)]
    pub min_samples: Option<u64>,
    /// What it means.
    pub meaning: String,
}

/// What a metric is read from.
pub(crate) struct Figures<'a> {
    pub(crate) result: &'a RunResult,
    pub(crate) tally: &'a Tally,
}

/// A figure, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    Value(f64),
    /// Nothing, or too little, was measured; in words.
    NoData(String),
}

impl Reading {
    fn nothing() -> Self {
        Self::NoData("there is no figure".to_owned())
    }
}

/// A metric that criteria may name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    Scalar(&'static Scalar),
    Time(&'static Distribution, Statistic),
}

impl Known {
    /// The metric of that name, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let scalar = SCALARS.iter().find(|scalar| scalar.name == name).map(Self::Scalar);
        scalar.or_else(|| {
            DISTRIBUTIONS.iter().find_map(|distribution| {
                let rest = name.strip_prefix(distribution.prefix)?.strip_prefix('_')?;
                let statistic = Statistic::parse(rest.strip_suffix("_ms")?)?;
                Some(Self::Time(distribution, statistic))
            })
        })
    }

    /// Finds it by name.
    ///
    /// # Errors
    /// A sentence that names the nearest known one.
    pub(crate) fn find(name: &str) -> Result<Self, String> {
        Self::named(name).ok_or_else(|| {
            if is_far_percentile(name) {
                return format!("unknown metric {name:?}: percentiles lie between 0 and 100");
            }
            let hint = nearest(name).map_or_else(
                || "GET /metrics-catalogue and `benchd metrics` list the known ones".to_owned(),
                |near| format!("did you mean {near:?}?"),
            );
            format!("unknown metric {name:?}; {hint}")
        })
    }

    /// Its one name, however it was written.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.name.to_owned(),
            Self::Time(distribution, statistic) => {
                format!("{}_{}_ms", distribution.prefix, statistic.name())
            }
        }
    }

    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Scalar(scalar) => scalar.unit,
            Self::Time(..) => "ms",
        }
    }

    pub(crate) const fn better(self) -> Better {
        match self {
            Self::Scalar(scalar) => scalar.better,
            Self::Time(..) => Better::Lower,
        }
    }

    /// True when the metric is a share, so that percent makes sense.
    pub(crate) fn is_ratio(self) -> bool {
        self.unit() == "ratio"
    }

    /// True when it counts something per second.
    pub(crate) fn is_rate(self) -> bool {
        self.unit().ends_with("/s")
    }

    fn min_samples(self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.source.min_samples(),
            Self::Time(_, statistic) => statistic.min_samples(),
        }
    }

    fn meaning(self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.meaning.to_owned(),
            Self::Time(distribution, statistic) => {
                format!("{} of: {}", statistic.name(), distribution.meaning)
            }
        }
    }

    fn entry(self) -> Metric {
        Metric {
            name: self.name(),
            unit: self.unit().to_owned(),
            better: self.better(),
            min_samples: Some(self.min_samples()),
            meaning: self.meaning(),
        }
    }

    /// Reads it off the figures.
    pub(crate) fn read(self, figures: &Figures<'_>) -> Reading {
        match self {
            Self::Scalar(scalar) => (scalar.read)(figures.result).map_or_else(
                || Reading::NoData(scalar.source.missing(figures.result).to_owned()),
                Reading::Value,
            ),
            Self::Time(distribution, statistic) => {
                statistic.of(&(distribution.histogram)(figures.tally))
            }
        }
    }

    /// What its figure is made from.
    pub(crate) fn samples(self, figures: &Figures<'_>) -> u64 {
        match self {
            Self::Scalar(_) => figures.result.counts.ok,
            Self::Time(distribution, _) => (distribution.histogram)(figures.tally).len(),
        }
    }

    /// Reads it off a stored result, which shows only some percentiles.
    pub(crate) fn read_stored(self, result: &RunResult) -> Reading {
        match self {
            Self::Scalar(scalar) => (scalar.read)(result).map_or_else(
                || Reading::NoData(scalar.source.missing(result).to_owned()),
                Reading::Value,
            ),
            Self::Time(distribution, statistic) => {
                let summary = (distribution.summary)(result);
                match statistic.too_few(summary.count) {
                    Some(too_few) => Reading::NoData(too_few),
                    None => {
                        statistic.of_summary(summary).map_or_else(Reading::nothing, Reading::Value)
                    }
                }
            }
        }
    }
}

/// True when it is a percentile but for its number.
fn is_far_percentile(name: &str) -> bool {
    DISTRIBUTIONS.iter().any(|distribution| {
        let number =
            name.strip_prefix(distribution.prefix).and_then(|rest| rest.strip_prefix("_p"));
        number.and_then(|rest| rest.strip_suffix("_ms")?.parse::<f64>().ok()).is_some()
    })
}

/// Every metric that criteria may name.
#[must_use]
pub fn catalogue() -> Vec<Metric> {
    let scalars = SCALARS.iter().map(|scalar| Known::Scalar(scalar).entry());
    let distributions = DISTRIBUTIONS.iter().flat_map(|distribution| {
        let entry = |statistic| Known::Time(distribution, statistic).entry();
        let any_percentile = Metric {
            name: format!("{}_pN_ms", distribution.prefix),
            min_samples: None,
            meaning: format!("N-th percentile of: {}", distribution.meaning),
            ..entry(Statistic::Max)
        };
        [
            entry(Statistic::Min),
            entry(Statistic::Mean),
            entry(Statistic::Stddev),
            any_percentile,
            entry(Statistic::Max),
        ]
    });
    scalars.chain(distributions).collect()
}

/// The metric of this name, any percentile included.
///
/// # Errors
/// A sentence that names the nearest known one.
pub fn metric(name: &str) -> Result<Metric, String> {
    Known::find(name).map(Known::entry)
}

/// The share of requests below a percentile of this name, 0 to 1; `None` for
/// every other metric.
pub(crate) fn quantile(name: &str) -> Option<f64> {
    match Known::named(name)? {
        Known::Time(_, Statistic::Percentile(p)) => Some(p / 100.0),
        _ => None,
    }
}

/// True when criteria may name it.
#[must_use]
pub fn is_known(name: &str) -> bool {
    Known::named(name).is_some()
}

/// The known name that is most like `name`.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    const CONCRETE: [&str; 8] = ["min", "mean", "stddev", "p50", "p90", "p95", "p99", "max"];
    let concrete = DISTRIBUTIONS
        .iter()
        .flat_map(|d| CONCRETE.iter().map(move |s| format!("{}_{s}_ms", d.prefix)));
    SCALARS
        .iter()
        .map(|scalar| scalar.name.to_owned())
        .chain(concrete)
        .map(|known| (strsim::damerau_levenshtein(name, &known), known))
        .filter(|(distance, known)| *distance <= known.len() / 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Reads a metric off a stored result: every scalar, and of the distributions
/// what the result document shows. `None` where it has no such figure.
#[must_use]
pub fn of_result(name: &str, result: &RunResult) -> Option<f64> {
    match Known::named(name)? {
        Known::Scalar(scalar) => (scalar.read)(result),
        Known::Time(distribution, statistic) => {
            statistic.of_summary((distribution.summary)(result))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, catalogue, is_known, metric, nearest};

    #[test]
    fn every_percentile_is_known_and_nonsense_is_not() {
        for name in [
            "latency_p99_ms",
            "latency_p99.9_ms",
            "latency_p99_9_ms",
            "latency_p99.95_ms",
            "ttfb_p50_ms",
            "connect_max_ms",
        ] {
            assert!(is_known(name), "{name}");
        }
        for name in [
            "latency",
            "latency_p100_ms",
            "latency_p0_ms",
            "latency_pxx_ms",
            "latency_p99",
            "p99",
            "",
        ] {
            assert!(!is_known(name), "{name}");
        }
        let ratio = |name| Known::named(name).unwrap().is_ratio();
        assert!(ratio("error_ratio") && !ratio("rps"));
    }

    #[test]
    fn every_catalogued_name_is_known() {
        let catalogue = catalogue();
        for metric in &catalogue {
            assert!(is_known(&metric.name.replace("pN", "p99")), "{}", metric.name);
        }
        let names: std::collections::BTreeSet<_> = catalogue.iter().map(|m| &m.name).collect();
        assert_eq!(names.len(), catalogue.len(), "each name is there once");
    }

    #[test]
    fn the_catalogue_says_how_many_samples_a_metric_takes() {
        let needed = |name| metric(name).unwrap().min_samples;
        assert_eq!(needed("latency_p99.9_ms"), Some(10_000));
        assert_eq!(needed("nginx_dropped"), Some(2));
        assert_eq!(needed("error_ratio"), Some(1));
        for entry in catalogue() {
            assert_eq!(entry.min_samples.is_none(), entry.name.contains("_pN_"), "{}", entry.name);
        }
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(nearest("latency_p99").as_deref(), Some("latency_p99_ms"));
        assert_eq!(nearest("eror_ratio").as_deref(), Some("error_ratio"));
        assert_eq!(nearest("nginx_drop").as_deref(), Some("nginx_dropped"));
        assert_eq!(nearest("zzzzzzzzzzzzzzzzzzzzzz"), None);
    }
}
