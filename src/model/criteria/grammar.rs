//! Reading a criterion, and what it refuses.

use super::units::{is_bounded, is_whole, limit};
use super::{Criterion, Op, Severity, Test};
use crate::Span;
use crate::baseline::{DEFAULT_BASELINE, check_name};
use crate::metrics::{Better, Known};

/// Longest first, so that `<=` is not read as `<`.
const OPS: [(&str, Op); 5] = [
    ("<=", Op::LessOrEqual),
    (">=", Op::GreaterOrEqual),
    ("==", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
];

/// The longest `for`, in seconds.
const LONGEST_WINDOW_S: u64 = 3600;
/// A value ten times as bad as the baseline's is the most that may be tolerated.
const MOST_TOLERATED: f64 = 10.0;

impl Criterion {
    /// Reads an expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what would be right.
    pub fn parse(expression: &str) -> Result<Self, String> {
        let expression = expression.trim();
        let in_it = |why: String| format!("{expression:?}: {why}");
        let (severity, condition) = severity(expression).map_err(in_it)?;
        let words: Vec<&str> = condition.split_whitespace().collect();
        let within = words.get(1) == Some(&"within");
        let (metric, known, test) = if within {
            let known = Known::find(words[0]).map_err(in_it)?;
            let test = baseline(known, severity, &words[2..]).map_err(in_it)?;
            (words[0], known, test)
        } else {
            let (metric, op, rest) = around_op(condition).ok_or_else(|| shape(expression))?;
            let known = Known::find(metric).map_err(in_it)?;
            (metric, known, fixed(known, op, rest).map_err(in_it)?)
        };
        Ok(Self {
            expression: expression.to_owned(),
            metric: metric.to_owned(),
            severity,
            known,
            test,
        })
    }
}

fn shape(expression: &str) -> String {
    format!(
        "{expression:?} is no criterion: write \"metric op number\", such as \"latency_p99_ms < 500\", or \
         \"metric within 5% of baseline\"; op is one of < <= > >= =="
    )
}

/// The severity before the condition, if one is there.
fn severity(expression: &str) -> Result<(Severity, &str), String> {
    for severity in [Severity::Warn, Severity::Abort] {
        if let Some(condition) = expression.strip_prefix(severity.prefix()) {
            let condition = condition.trim_start();
            if ["warn:", "abort:"].iter().any(|prefix| condition.starts_with(prefix)) {
                return Err("write one of \"warn:\" and \"abort:\"".to_owned());
            }
            return Ok((severity, condition));
        }
    }
    match expression.split_once(':') {
        Some((word, _)) if word.chars().all(|c| c.is_ascii_alphabetic()) => {
            Err(format!("unknown severity \"{word}:\"; known are \"warn:\" and \"abort:\""))
        }
        _ => Ok((Severity::Fail, expression)),
    }
}

/// The metric, the operator, and what follows it.
fn around_op(condition: &str) -> Option<(&str, Op, &str)> {
    let at = condition.find(['<', '>', '='])?;
    let (metric, rest) = (condition[..at].trim(), &condition[at..]);
    let (symbol, op) = OPS.iter().find(|(symbol, _)| rest.starts_with(symbol))?;
    let rest = rest[symbol.len()..].trim();
    (!metric.is_empty() && !rest.is_empty()).then_some((metric, *op, rest))
}

/// `NUMBER[unit] [for DURATION]`.
fn fixed(metric: Known, op: Op, rest: &str) -> Result<Test, String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number_ends = words.iter().position(|word| *word == "for").unwrap_or(words.len());
    let limit = limit(metric, &words[..number_ends].join(""))?;
    refuse_impossible(metric, op, limit)?;
    let window_s = match &words[number_ends..] {
        [] => None,
        [_, duration @ ..] => Some(window(metric, &duration.join(""))?),
    };
    Ok(Test::Limit { op, limit, window_s })
}

/// What no run could ever fulfil, and what every run does.
fn refuse_impossible(metric: Known, op: Op, limit: f64) -> Result<(), String> {
    let name = metric.name();
    if op == Op::Less && limit == 0.0 {
        return Err(format!("{name} is never below 0: write \"== 0\""));
    }
    if op == Op::GreaterOrEqual && limit == 0.0 {
        return Err(format!("{name} is never below 0, so that every run holds it: write \"> 0\""));
    }
    if op == Op::Greater && limit >= 1.0 && metric.is_ratio() && is_bounded(&name) {
        return Err(format!("{name} is never above 1: write \"== 100%\""));
    }
    if op == Op::Equal && limit.fract() != 0.0 && is_whole(metric) {
        return Err(format!("{name} is always a whole number"));
    }
    Ok(())
}

fn window(metric: Known, text: &str) -> Result<u32, String> {
    if let Known::Scalar(scalar) = metric
        && !scalar.source.has_seconds()
    {
        let name = scalar.name;
        return Err(format!("{name} is a figure of the whole run: leave \"for\" out"));
    }
    let span: Span = text.parse()?;
    let seconds = span.duration().as_secs();
    if span.duration().subsec_nanos() > 0 || !(1..=LONGEST_WINDOW_S).contains(&seconds) {
        return Err(format!(
            "\"for {text}\" is no window: write whole seconds from 1s to {LONGEST_WINDOW_S}s"
        ));
    }
    Ok(seconds as u32)
}

/// `N% of baseline [NAME]`.
fn baseline(metric: Known, severity: Severity, words: &[&str]) -> Result<Test, String> {
    let refusal = || "write \"metric within 5% of baseline\", or \"… of baseline NAME\"".to_owned();
    let of = words.iter().position(|word| *word == "of").ok_or_else(refusal)?;
    let share = words[..of].join("");
    let name = match &words[of + 1..] {
        ["baseline"] => DEFAULT_BASELINE,
        ["baseline", name] => name,
        _ => return Err(refusal()),
    };
    if severity == Severity::Abort {
        return Err(
            "a baseline is only known when the run is over: leave \"abort:\" out".to_owned()
        );
    }
    let called = metric.name();
    if metric.better() == Better::Neither {
        return Err(format!("{called} has no better direction to be worse in: give a limit"));
    }
    if let Known::Time(_, statistic) = metric
        && !statistic.is_in_summaries()
    {
        return Err(format!(
            "baselines keep p50, p66, p75, p80, p90, p95, p98, p99 and p99.9, and no {}",
            statistic.name()
        ));
    }
    let percent = share.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    // A rate that is worse by all of it is none.
    let most = if metric.better() == Better::Higher { 0.99 } else { MOST_TOLERATED };
    let tolerated = percent
        .map(|percent| percent / 100.0)
        .filter(|tolerated| (0.0..=most).contains(tolerated))
        .ok_or_else(|| {
            format!("{share:?} is no tolerance: {called} takes 0% to {:.0}%", most * 100.0)
        })?;
    check_name(name)?;
    Ok(Test::Baseline { tolerated, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::{Criterion, Op, Severity, Test};

    fn test_of(text: &str) -> Test {
        Criterion::parse(text).unwrap_or_else(|why| panic!("{why}")).test
    }

    fn limit_of(text: &str) -> f64 {
        match test_of(text) {
            Test::Limit { limit, .. } => limit,
            Test::Baseline { .. } => panic!("{text} has no limit of its own"),
        }
    }

    #[test]
    fn reads_operators_and_units() {
        for (text, limit) in [
            ("latency_p99_ms < 500", 500.0),
            ("latency_p99_ms<=20ms", 20.0),
            ("latency_p99.95_ms < 1.5s", 1500.0),
            ("latency_p50_ms < 500us", 0.5),
            ("latency_p50_ms < 5 ms", 5.0),
            ("error_ratio < 0.1%", 0.001),
            ("generator_cpu_ratio < 0.9", 0.9),
            ("rps >= 15k", 15_000.0),
            ("rps >= 15k/s", 15_000.0),
            ("rps >= 1.5e3", 1500.0),
            ("issued >= 2M", 2_000_000.0),
            ("duration_s > 1500ms", 1.5),
            ("received_bytes > 10MB", 1e7),
            ("received_bytes > 1MiB", 1_048_576.0),
            ("received_bytes_per_s > 10MB/s", 1e7),
            (" nginx_dropped == 0 ", 0.0),
            ("cpu_throttled_ms == 0s", 0.0),
        ] {
            assert_eq!(limit_of(text), limit, "{text}");
        }
    }

    #[test]
    fn reads_severities_windows_and_baselines() {
        let criterion = Criterion::parse("abort: failures <= 10 for 5s").unwrap();
        assert_eq!(criterion.severity, Severity::Abort);
        let window = |op, limit, window_s| Test::Limit { op, limit, window_s: Some(window_s) };
        assert_eq!(criterion.test, window(Op::LessOrEqual, 10.0, 5));
        assert_eq!(test_of("rps>10k for 1m"), window(Op::Greater, 10_000.0, 60));
        let warning = Criterion::parse("warn:rps within 5% of baseline").unwrap();
        assert_eq!((warning.severity, warning.baseline_name()), (Severity::Warn, Some("default")));
        assert_eq!((warning.metric.as_str(), warning.expression.len()), ("rps", 30));
        let named = test_of("latency_p99_ms within 12.5 % of baseline v1.2");
        assert_eq!(named, Test::Baseline { tolerated: 0.125, name: "v1.2".into() });
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
            let Test::Limit { op, limit, .. } = test_of(&format!("rps {op} 10")) else {
                panic!("a limit");
            };
            assert_eq!([9.0, 10.0, 11.0].map(|value| op.holds(value, limit)), [below, at, above]);
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
            ("rps = 5", "metric op number"),
            ("rps < many", "no number"),
            ("rps < 15,000", "no number"),
            ("rps < NaN", "no finite number"),
            ("rps < 5%", "\"rps\", which takes k, M"),
            ("rps < 5ms", "does not fit"),
            ("error_ratio < 5ms", "does not fit"),
            ("latency_p99_ms < 5MB", "which takes us, ms, s"),
            ("error_ratio < 5", "0 to 1"),
            ("error_ratio < -1%", "0 to 1"),
            ("rps > -1", "never below 0"),
            ("error_ratio < 0", "never below 0: write \"== 0\""),
            ("error_ratio >= 0%", "every run holds it: write \"> 0\""),
            ("warn: abort: rps > 5", "one of \"warn:\" and \"abort:\""),
            ("latency_p101_ms < 5", "percentiles lie between 0 and 100"),
            ("latency_p0_ms < 5", "percentiles lie between 0 and 100"),
            ("error_ratio > 100%", "never above 1"),
            ("failures == 0.5", "whole number"),
            ("rps > 5 for", "is no duration"),
            ("rps > 5 for 10", "is no duration"),
            ("rps > 5 for 500ms", "whole seconds"),
            ("rps > 5 for 0s", "whole seconds"),
            ("rps > 5 for 2h", "to 3600s"),
            ("for 10s", "metric op number"),
            ("duration_s < 5 for 1s", "whole run"),
            ("nginx_foreign_requests == 0 for 1s", "whole run"),
            ("wran: rps > 5", "\"warn:\" and \"abort:\""),
            ("abort: rps within 5% of baseline", "leave \"abort:\" out"),
            ("issued within 5% of baseline", "no better direction"),
            ("latency_p99.95_ms within 5% of baseline", "no p99.95"),
            ("latency_p9 within 5% of baseline", "did you mean"),
            ("rps within 5% of baselin", "of baseline"),
            ("rps within 5%", "of baseline"),
            ("rps within 5 of baseline", "0% to 99%"),
            ("rps within 100% of baseline", "0% to 99%"),
            ("rps within 5% of baseline a/b", "name of a baseline"),
        ] {
            let refusal = Criterion::parse(text).unwrap_err();
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}
