//! Figures as people read them: thousands grouped, units beside, short.

use benchd_model::criteria::six_digits;
use benchd_model::result::LoadResult;
use benchd_model::statistics::Arm;
use benchd_model::{JobSpec, RunResult};

/// A count with its thousands grouped.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun, which takes an `s` unless there is exactly one.
pub(crate) fn counted(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(value))
}

/// The request, and by which way it went.
pub(crate) fn target(spec: &JobSpec) -> String {
    let request = format!("{} {}", spec.request.method, spec.target.url);
    match &spec.target.unix_socket {
        Some(path) => format!("{request} over unix:{path}"),
        None => request,
    }
}

/// In what the baseline of a job that compares differs; nothing for other jobs.
pub(crate) fn baseline_asked(spec: &JobSpec) -> Option<String> {
    let compare = spec.compare.as_ref()?;
    if compare.of_itself() {
        return Some("the candidate itself".to_owned());
    }
    let mut asked = target(&spec.arm(Arm::A));
    let differences = spec.baseline_differences();
    if !differences.is_empty() {
        asked.push_str(&format!(", differs in {}", differences.join(", ")));
    }
    Some(asked)
}

/// The protocol, with its streams on each connection when there were several.
pub(crate) fn protocol(load: &LoadResult) -> String {
    match load.streams_achieved {
        0 | 1 => load.protocol.clone(),
        streams => format!("{} with {}", load.protocol, counted(streams.into(), "stream")),
    }
}

/// A rate per second, with a decimal while it is small.
pub(crate) fn rate(value: f64) -> String {
    if value.abs() < 1000.0 { format!("{value:.1}") } else { count(value.round() as u64) }
}

/// How requests are offered: `closed loop`, or `open loop at 1,000/s (constant)`.
pub(crate) fn offered(load: &LoadResult) -> String {
    let Some(asked) = load.rate else { return format!("{} loop", load.model) };
    let arrivals = load.arrivals.as_deref().unwrap_or("constant");
    format!("{} loop at {}/s ({arrivals})", load.model, asked_rate(asked))
}

/// What became of an open loop's rate; nothing in a closed one.
pub(crate) fn rate_kept(result: &RunResult) -> Option<String> {
    let asked = asked_rate(result.load.rate?);
    Some(format!(
        "{asked}/s asked, {} achieved, {} dropped",
        result.rate_achieved().unwrap_or_else(|| "-".to_owned()),
        count(result.counts.dropped)
    ))
}

/// A rate as it was written, its thousands grouped when it is whole.
fn asked_rate(asked: f64) -> String {
    if asked.fract() == 0.0 { count(asked as u64) } else { asked.to_string() }
}

/// A ratio in percent; a share that is not nothing never reads as nothing.
pub(crate) fn percent(ratio: Option<f64>) -> String {
    match ratio {
        None => "-".to_owned(),
        Some(0.0) => "0 %".to_owned(),
        Some(ratio) if ratio < 0.0001 => "<0.01 %".to_owned(),
        Some(ratio) if ratio < 1.0 && ratio > 0.9999 => ">99.99 %".to_owned(),
        Some(ratio) => format!("{:.2} %", ratio * 100.0),
    }
}

/// What a criterion observed: six significant digits at most.
pub(crate) fn observed(value: Option<f64>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| six_digits(value).to_string())
}

/// What a criterion holds that against.
pub(crate) fn limit(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| six_digits(value).to_string())
}

/// Milliseconds in at most seven characters up to an hour and beyond.
pub(crate) fn millis(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(ms) if ms < 10.0 => format!("{ms:.3}"),
        Some(ms) if ms < 1000.0 => format!("{ms:.1}"),
        Some(ms) => format!("{ms:.0}"),
    }
}

/// Bytes in the largest binary unit that leaves a whole number.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if value < 1024.0 {
        return format!("{value:.0} B");
    }
    let (mut scaled, mut unit) = (value / 1024.0, UNITS[0]);
    for larger in &UNITS[1..] {
        if scaled < 1024.0 {
            break;
        }
        (scaled, unit) = (scaled / 1024.0, larger);
    }
    format!("{scaled:.1} {unit}")
}

/// A count in at most `width` characters, shortened to thousands or more.
pub(crate) fn short(value: f64, width: usize) -> String {
    let mut text = format!("{value:.0}");
    let mut scaled = value;
    for unit in ["k", "M", "G", "T"] {
        if text.len() <= width {
            break;
        }
        scaled /= 1000.0;
        text = format!("{scaled:.0}{unit}");
    }
    text
}

/// Text from outside without what could steer a terminal or break a line.
pub(crate) fn printable(text: &str) -> String {
    let steers =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if steers(c) { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, counted, millis, observed, percent, printable, rate, short};

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(5_000_000_000), "5,000,000,000");
        assert_eq!(counted(1, "poll"), "1 poll");
        assert_eq!(counted(0, "poll"), "0 polls");
        assert_eq!(rate(12.34), "12.3");
        assert_eq!(rate(15_074.2), "15,074");
    }

    #[test]
    fn a_share_that_is_not_nothing_never_reads_as_nothing_or_all() {
        assert_eq!(percent(Some(0.0)), "0 %");
        assert_eq!(percent(Some(0.000_001)), "<0.01 %");
        assert_eq!(percent(Some(0.999_999)), ">99.99 %");
        assert_eq!(percent(Some(1.0)), "100.00 %");
        assert_eq!(percent(None), "-");
    }

    #[test]
    fn figures_keep_their_width() {
        for ms in [0.001, 9.9999, 10.04, 999.96, 1000.0, 3_600_000.0] {
            assert!(millis(Some(ms)).len() <= 7, "{ms}");
        }
        for value in [0.0, 99_999.0, 100_000.0, 5e9, 5e14] {
            assert!(short(value, 5).len() <= 5, "{value}");
        }
        assert_eq!(observed(Some(2.0 / 17.0)), "0.117647");
        assert_eq!(observed(Some(1_234_567.8)), "1234570");
        assert_eq!((observed(Some(0.0)), observed(None)), ("0".to_owned(), "nothing".to_owned()));
        assert_eq!(bytes(612.0), "612 B");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(5e15), "4.4 PiB");
    }

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}"), "a?[2Jb?c?");
    }
}
