//! Numbers with units: `20ms`, `0.1%`, `15k`.

use crate::metrics::Known;

/// What a number on a metric may carry, with its factor to the metric's own unit.
type Units = &'static [(&'static str, f64)];

fn units(unit: &str) -> Units {
    const BYTES: Units = &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("k", 1e3),
        ("M", 1e6),
    ];
    match unit.trim_end_matches("/s") {
        "ms" => &[("us", 0.001), ("ms", 1.0), ("s", 1000.0)],
        "s" => &[("ms", 0.001), ("s", 1.0)],
        "ratio" => &[("%", 0.01)],
        "bytes" => BYTES,
        _ => &[("k", 1e3), ("M", 1e6)],
    }
}

/// The limit that `text` sets, in the metric's unit.
///
/// # Errors
/// A part of a sentence that says what is wrong and what would be right.
pub(super) fn limit(metric: Known, text: &str) -> Result<f64, String> {
    let (name, known) = (metric.name(), units(metric.unit()));
    let end = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(text.len(), |at| at + 1);
    let (digits, written) = (text[..end].trim_end(), text[end..].trim());
    let unit = if metric.is_rate() { written.trim_end_matches("/s") } else { written };
    let factor = if unit.is_empty() {
        1.0
    } else {
        let fitting = known.iter().find(|(suffix, _)| *suffix == unit);
        let names: Vec<&str> = known.iter().map(|(suffix, _)| *suffix).collect();
        let refusal = || {
            format!(
                "unit {written:?} does not fit metric {name:?}, which takes {}",
                names.join(", ")
            )
        };
        fitting.ok_or_else(refusal)?.1
    };
    let number: f64 = digits.parse().map_err(|_| format!("{text:?} is no number"))?;
    if !number.is_finite() {
        return Err(format!("{text:?} is no finite number"));
    }
    let limit = number * factor;
    if limit < 0.0 {
        return Err(match metric.is_ratio() {
            true => format!("{text:?} is no ratio: {name} runs from 0 to 1 (or 0% to 100%)"),
            false => format!("{text:?} is out of range: {name} is never below 0"),
        });
    }
    if metric.is_ratio() && limit > 1.0 && is_bounded(&name) {
        return Err(format!("{text:?} is no ratio: {name} runs from 0 to 1 (or 0% to 100%)"));
    }
    Ok(limit)
}

/// True for a ratio that is never above 1. CPU time per thread may come out a
/// hair above it.
pub(super) fn is_bounded(ratio: &str) -> bool {
    ratio != "generator_cpu_ratio"
}

/// True when the metric only takes whole numbers.
pub(super) fn is_whole(metric: Known) -> bool {
    !matches!(metric.unit(), "ms" | "s" | "ratio") && !metric.is_rate()
}
