//! Criteria: `metric op number[unit]`, such as `latency_p99_ms < 500`.

use crate::metrics::{self, Figures, Reading};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A condition on a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// As it was written.
    pub expression: String,
    /// A metric of the catalogue.
    pub metric: String,
    op: Op,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

/// Longest first, so that `<=` is not read as `<`.
const OPS: [(&str, Op); 5] = [
    ("<=", Op::LessOrEqual),
    (">=", Op::GreaterOrEqual),
    ("==", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
];

/// A unit a number may carry.
struct Unit {
    suffix: &'static str,
    fits: fn(&str) -> bool,
    /// To the metric's own unit.
    factor: f64,
}

const UNITS: [Unit; 5] = [
    Unit { suffix: "%", fits: metrics::is_ratio, factor: 0.01 },
    Unit { suffix: "us", fits: is_milliseconds, factor: 0.001 },
    Unit { suffix: "ms", fits: is_milliseconds, factor: 1.0 },
    Unit { suffix: "k", fits: is_count, factor: 1000.0 },
    Unit { suffix: "s", fits: is_milliseconds, factor: 1000.0 },
];

impl Criterion {
    /// Reads an expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what would be right.
    pub fn parse(expression: &str) -> Result<Self, String> {
        let shape = || {
            format!(
                "{expression:?} is no criterion: write \"metric op number\", such as \"latency_p99_ms < 500\"; op is one of < <= > >= =="
            )
        };
        let at = expression.find(['<', '>', '=']).ok_or_else(shape)?;
        let (metric, rest) = (expression[..at].trim(), &expression[at..]);
        let (symbol, op) =
            OPS.iter().find(|(symbol, _)| rest.starts_with(symbol)).ok_or_else(shape)?;
        let number = rest[symbol.len()..].trim();
        if metric.is_empty() || number.is_empty() {
            return Err(shape());
        }
        if !metrics::is_known(metric) {
            let hint = metrics::nearest(metric).map_or_else(
                || "GET /metrics-catalogue and `benchd metrics` list the known ones".to_owned(),
                |near| format!("did you mean {near:?}?"),
            );
            return Err(format!("unknown metric {metric:?} in {expression:?}; {hint}"));
        }
        let limit = limit(metric, number).map_err(|why| format!("{why} in {expression:?}"))?;
        Ok(Self {
            expression: expression.trim().to_owned(),
            metric: metric.to_owned(),
            op: *op,
            limit,
        })
    }

    /// Judges it by the figures.
    pub(crate) fn evaluate(&self, figures: &Figures<'_>) -> CriterionOutcome {
        let observed = match metrics::read(&self.metric, figures) {
            Some(Reading::Value(value)) => Some(value),
            Some(Reading::NoData) | None => None,
        };
        let status = match observed {
            None => CriterionStatus::NoData,
            Some(value) if self.holds(value) => CriterionStatus::Pass,
            Some(_) => CriterionStatus::Fail,
        };
        CriterionOutcome {
            expression: self.expression.clone(),
            metric: self.metric.clone(),
            observed,
            status,
        }
    }

    /// What an expression comes to that cannot be read here, such as one that
    /// another version of benchd took: it is never left out.
    pub(crate) fn unreadable(expression: &str) -> CriterionOutcome {
        let metric = expression.split(['<', '>', '=']).next().unwrap_or_default().trim();
        CriterionOutcome {
            expression: expression.to_owned(),
            metric: metric.to_owned(),
            observed: None,
            status: CriterionStatus::NoData,
        }
    }

    fn holds(&self, value: f64) -> bool {
        match self.op {
            Op::Less => value < self.limit,
            Op::LessOrEqual => value <= self.limit,
            Op::Greater => value > self.limit,
            Op::GreaterOrEqual => value >= self.limit,
            Op::Equal => (value - self.limit).abs() <= f64::EPSILON * self.limit.abs().max(1.0),
        }
    }
}

fn limit(metric: &str, text: &str) -> Result<f64, String> {
    let unit = UNITS.iter().find(|unit| text.ends_with(unit.suffix));
    let (digits, factor) = match unit {
        Some(unit) if (unit.fits)(metric) => {
            (text[..text.len() - unit.suffix.len()].trim_end(), unit.factor)
        }
        Some(unit) => {
            return Err(format!("unit {:?} does not fit metric {metric:?}", unit.suffix));
        }
        None => (text, 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| format!("{text:?} is no number"))?;
    if !number.is_finite() {
        return Err(format!("{text:?} is no finite number"));
    }
    let limit = number * factor;
    if metrics::is_ratio(metric) && metric != "generator_cpu_ratio" && !(0.0..=1.0).contains(&limit)
    {
        return Err(format!("{text:?} is no ratio: {metric} runs from 0 to 1 (or 0% to 100%)"));
    }
    Ok(limit)
}

fn is_milliseconds(metric: &str) -> bool {
    metric.ends_with("_ms")
}

fn is_count(metric: &str) -> bool {
    !is_milliseconds(metric) && !metrics::is_ratio(metric)
}

/// A criterion with what was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CriterionOutcome {
    /// The criterion as it was written.
    #[schema(example = "latency_p99_ms < 500")]
    pub expression: String,
    /// Its metric.
    #[schema(example = "latency_p99_ms")]
    pub metric: String,
    /// The observed value in the metric's unit; null when there is none.
    pub observed: Option<f64>,
    /// Whether it holds.
    pub status: CriterionStatus,
}

/// Whether a criterion holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriterionStatus {
    /// It holds.
    Pass,
    /// It is violated.
    Fail,
    /// There is nothing, or too little, to decide it by.
    NoData,
}

/// What was observed as people read it: six significant digits at most.
#[must_use]
pub fn six_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::{Criterion, six_digits};

    #[test]
    fn what_was_observed_is_shown_in_six_digits() {
        for (value, shown) in [
            (2.0 / 17.0, 0.117_647),
            (1_234_567.8, 1_234_570.0),
            (-12.345_678_9, -12.3457),
            (0.0, 0.0),
            (5e-324, 5e-324),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(six_digits(value), shown);
        }
    }

    fn limit_of(text: &str) -> f64 {
        Criterion::parse(text).unwrap().limit
    }

    #[test]
    fn reads_operators_and_units() {
        assert_eq!(limit_of("latency_p99_ms < 500"), 500.0);
        assert_eq!(limit_of("latency_p99_ms<=20ms"), 20.0);
        assert_eq!(limit_of("latency_p99_ms < 1.5s"), 1500.0);
        assert_eq!(limit_of("latency_p50_ms < 500us"), 0.5);
        assert_eq!(limit_of("error_ratio < 0.1%"), 0.001);
        assert_eq!(limit_of("rps >= 15k"), 15_000.0);
        assert_eq!(limit_of(" nginx_dropped == 0 "), 0.0);
    }

    #[test]
    fn operators_decide_at_the_limit_itself() {
        for (op, below, at, above) in [
            ("<", true, false, false),
            ("<=", true, true, false),
            (">", false, false, true),
            (">=", false, true, true),
            ("==", false, true, false),
        ] {
            let criterion = Criterion::parse(&format!("rps {op} 10")).unwrap();
            let holds = [9.0, 10.0, 11.0].map(|value| criterion.holds(value));
            assert_eq!(holds, [below, at, above], "{op}");
        }
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        for (text, part) in [
            ("latency_p99 < 5", "did you mean \"latency_p99_ms\""),
            ("nonsense_here_of_no_kin < 5", "metrics-catalogue"),
            ("rps", "metric op number"),
            ("", "metric op number"),
            ("< 5", "metric op number"),
            ("rps <", "metric op number"),
            ("rps < many", "no number"),
            ("rps < NaN", "no finite number"),
            ("rps < 5%", "does not fit"),
            ("error_ratio < 5ms", "does not fit"),
            ("error_ratio < 5", "0 to 1"),
            ("error_ratio < -1%", "0 to 1"),
            ("rps = 5", "metric op number"),
        ] {
            let refusal = Criterion::parse(text).unwrap_err();
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}
