//! A short summary for a pull request, a step summary or a job log. Whatever came
//! from outside (URLs, labels, header values, reasons) is escaped and cut to a
//! bounded length: it shows as it was written and makes no links, tags, code or
//! table cells.

use crate::Report;
use crate::figures::{
    baseline_asked, count, counted, limit, millis, observed, offered, percent, printable, protocol,
    rate, rate_kept,
};
use benchd_model::criteria::{CriterionStatus, Severity};
use benchd_model::statistics::{Comparison, Decision};
use benchd_model::{JobSpec, Outcome, RunResult, Verdict};
use std::fmt::{self, Write};

/// Characters of one outside text, and remarks, that are shown.
const LONGEST: usize = 1000;
const MOST: usize = 20;

/// Renders the summary.
pub(crate) fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    write(&mut text, report).expect("memory takes every write");
    text
}

/// A comparison of finished jobs as such a summary.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    write_finished(&mut out, comparison).expect("memory takes every write");
    out
}

fn write_finished(out: &mut String, comparison: &Comparison) -> fmt::Result {
    let title = match comparison.decision {
        Decision::Regression => "**regression**".to_owned(),
        other => other.name().replace('_', " "),
    };
    writeln!(out, "### benchd: {title} of finished jobs\n\n{}\n", escape(&comparison.summary))?;
    writeln!(out, "| comparison | effect | margin | decision |\n|---|---:|---:|---|")?;
    write_comparison(out, comparison)?;
    writeln!(out, "\n| side | median | min | max | trials |\n|---|---:|---:|---:|---:|")?;
    for (name, side) in [("baseline", &comparison.baseline), ("candidate", &comparison.candidate)] {
        let [median, min, max] = [side.median, side.min, side.max].map(observed);
        writeln!(out, "| {name} | {median} | {min} | {max} | {} |", side.n)?;
    }
    writeln!(out)?;
    write_list(out, &comparison.reasons)
}

fn write(out: &mut String, report: &Report<'_>) -> fmt::Result {
    let (spec, result) = (&report.job.spec, report.result);
    let title = match result.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "**FAIL**",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "**INVALID**",
    };
    writeln!(out, "### benchd: {title}, {} / {}\n", escape(&spec.project), escape(&spec.scenario))?;
    writeln!(out, "{}\n", escape(&result.summary))?;
    if result.validity.reasons.len() > 1 {
        write_list(out, &result.validity.reasons)?;
    }
    write_criteria(out, result)?;
    write_figures(out, report)?;
    write_spread(out, result)?;
    let mut remarks: Vec<String> =
        result.failure_reasons.iter().map(|(why, n)| format!("{} × {why}", count(*n))).collect();
    remarks.extend_from_slice(&result.notes);
    if !remarks.is_empty() {
        writeln!(out, "<details><summary>Remarks</summary>\n")?;
        write_list(out, &remarks)?;
        writeln!(out, "</details>\n")?;
    }
    write_links(out, result)
}

fn write_list(out: &mut String, items: &[String]) -> fmt::Result {
    for item in items.iter().take(MOST) {
        writeln!(out, "- {}", escape(item))?;
    }
    if items.len() > MOST {
        writeln!(out, "- and {} more", items.len() - MOST)?;
    }
    writeln!(out)
}

/// Where the parts are, when it is known how to get there from anywhere.
fn write_links(out: &mut String, result: &RunResult) -> fmt::Result {
    let links = ["self", "result", "timeline", "ab", "junit"].map(|name| {
        let url = result.links.get(name).filter(|url| url.starts_with("http"))?;
        let name = if name == "self" { "job" } else { name };
        Some(format!("[{name}](<{}>)", url.replace(['<', '>', '\n'], "")))
    });
    let links: Vec<String> = links.into_iter().flatten().collect();
    if links.is_empty() { Ok(()) } else { writeln!(out, "{}\n", links.join(" · ")) }
}

fn write_criteria(out: &mut String, result: &RunResult) -> fmt::Result {
    if result.criteria.is_empty() && result.comparison.is_none() {
        return Ok(());
    }
    writeln!(out, "| criterion | observed | limit | status |\n|---|---:|---:|---|")?;
    for criterion in &result.criteria {
        let expression = code(&criterion.expression);
        let (value, limit) = (observed(criterion.observed), limit(criterion.limit));
        let mut status = match (criterion.status, criterion.severity) {
            (CriterionStatus::Pass, _) => "pass",
            (CriterionStatus::Fail, Severity::Warn) => "warning",
            (CriterionStatus::Fail, Severity::Fail | Severity::Abort) => "**fail**",
            (CriterionStatus::NoData, _) => "no data",
        }
        .to_owned();
        if let Some(reason) = &criterion.reason {
            status.push_str(&format!(": {}", escape(reason)));
        }
        writeln!(out, "| {expression} | {value} | {limit} | {status} |")?;
    }
    if let Some(comparison) = &result.comparison {
        write_comparison(out, comparison)?;
    }
    writeln!(out)
}

fn write_comparison(out: &mut String, comparison: &Comparison) -> fmt::Result {
    let decision = match comparison.decision {
        Decision::Regression => "**regression**".to_owned(),
        other => other.name().replace('_', " "),
    };
    let percent = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:+.1}"));
    let effect = match (comparison.effect_pct, comparison.ci_low_pct, comparison.ci_high_pct) {
        (None, ..) => "-".to_owned(),
        (effect, None, _) | (effect, _, None) => format!("{} %", percent(effect)),
        (effect, low, high) => {
            format!("{} % ({} to {})", percent(effect), percent(low), percent(high))
        }
    };
    writeln!(
        out,
        "| {} against the baseline | {effect} | {} % | {decision} |",
        code(&comparison.metric),
        comparison.margin_pct
    )
}

fn target(spec: &JobSpec) -> String {
    let request = format!("{} {}", escape(&spec.request.method), code(&spec.target.url));
    match &spec.target.unix_socket {
        Some(path) => format!("{request} over {}", code(&format!("unix:{path}"))),
        None => request,
    }
}

fn write_figures(out: &mut String, report: &Report<'_>) -> fmt::Result {
    let (spec, result) = (&report.job.spec, report.result);
    let load = &result.load;
    let kept = if load.keepalive { "kept alive" } else { "one request each" };
    let latency = &result.latency_ms;
    let mut rows = vec![
        ("target", target(spec)),
        (
            "load",
            format!(
                "{}, {}, {kept}, {}, {:.2} s in {}",
                offered(load),
                counted(load.connections.into(), "connection"),
                protocol(load),
                result.duration_s,
                counted(result.trials.len() as u64, "trial")
            ),
        ),
        (
            "responses",
            format!(
                "{} of {} requests, {} errors{}",
                count(result.counts.ok),
                count(result.counts.issued),
                percent(result.error_ratio),
                failures(result)
            ),
        ),
        ("good responses", format!("{} per second", rate(result.goodput_rps))),
        (
            "latency",
            format!(
                "p50 {} · p90 {} · p99 {} · max {} ms",
                millis(latency.p50),
                millis(latency.p90),
                millis(latency.p99),
                millis(latency.max)
            ),
        ),
        ("limited by", result.validity.limited_by.name().to_owned()),
    ];
    if let Some(baseline) = baseline_asked(spec) {
        rows.insert(1, ("baseline", code(&baseline)));
    }
    if let Some(kept) = rate_kept(result) {
        let late = format!(
            "p50 {} · p99 {} · max {} ms",
            millis(result.lateness_ms.p50),
            millis(result.lateness_ms.p99),
            millis(result.lateness_ms.max)
        );
        rows.extend([("rate", kept), ("lateness", late)]);
    }
    if let Some(nginx) = &result.server.stub_status {
        let text = match (nginx.requests, nginx.dropped) {
            (Some(requests), Some(dropped)) => {
                format!("{}, {} dropped", counted(requests, "request"), count(dropped))
            }
            _ => "not read".to_owned(),
        };
        rows.push(("nginx counted", text));
    }
    if !spec.labels.is_empty() {
        let labels: Vec<String> =
            spec.labels.iter().map(|(k, v)| code(&format!("{k}={v}"))).collect();
        rows.push(("labels", labels.join(", ")));
    }
    let whose = if spec.compare.is_some() { "figure of the candidate" } else { "figure" };
    writeln!(out, "| {whose} | value |\n|---|---|")?;
    rows.iter().try_for_each(|(name, value)| writeln!(out, "| {name} | {value} |"))?;
    writeln!(out)
}

fn write_spread(out: &mut String, result: &RunResult) -> fmt::Result {
    if result.spread.is_empty() {
        return Ok(());
    }
    let head = "| over the trials | median | min | max | variation | trials |";
    writeln!(out, "{head}\n|---|---:|---:|---:|---:|---:|")?;
    for (metric, spread) in &result.spread {
        let [median, min, max] =
            [spread.median, spread.min, spread.max].map(|value| observed(Some(value)));
        let (variation, n) = (percent(spread.cv), spread.n);
        writeln!(out, "| {} | {median} | {min} | {max} | {variation} | {n} |", code(metric))?;
    }
    writeln!(out)
}

/// The failure classes that are not empty.
fn failures(result: &RunResult) -> String {
    let classes: Vec<String> = Outcome::ALL
        .into_iter()
        .filter(|class| *class != Outcome::Ok && result.counts.of(*class) > 0)
        .map(|class| format!("{} {}", count(result.counts.of(class)), class.name()))
        .collect();
    if classes.is_empty() { String::new() } else { format!(" ({})", classes.join(", ")) }
}

/// The beginning of a text, marked where it is cut.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Outside text as code where it can be that, so that it reads well unrendered, too.
fn code(text: &str) -> String {
    let plain = |c: char| !c.is_control() && !matches!(c, '`' | '|');
    if !text.trim().is_empty() && text.chars().all(plain) {
        return format!("`{}`", printable(&cut(text)));
    }
    escape(text)
}

/// Makes outside text plain: one line, nothing that Markdown or HTML would read,
/// and nobody and no issue that a forge would find named in it.
fn escape(text: &str) -> String {
    let line = printable(&cut(text).replace(['\r', '\n', '\t'], " "));
    let mut escaped = String::with_capacity(line.len() + 8);
    let mut before = ' ';
    let mut letters = line.chars().peekable();
    while let Some(c) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        let inside_word = before.is_alphanumeric() && next.is_alphanumeric();
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A pipe inside a table cell ends it even behind a backslash in some readers.
            '|' => escaped.push_str("&#124;"),
            '_' if inside_word => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '~' | '$' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
        // `@name` and `#1` are found in what is shown, so that no escape helps.
        if (c == '@' && next.is_alphanumeric() && !inside_word) || (c == '#' && next.is_numeric()) {
            escaped.push('\u{200b}');
        }
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{code, escape};

    #[test]
    fn outside_text_stays_text() {
        assert_eq!(
            escape("a|b`c`\n# <img src=x> [l](u) ![i](u) **b** &amp;"),
            "a&#124;b\\`c\\` \\# &lt;img src=x&gt; \\[l\\](u) \\!\\[i\\](u) \\*\\*b\\*\\* &amp;amp;"
        );
        assert_eq!(
            escape("http://127.0.0.1:8088/index.html?a=1"),
            "http://127.0.0.1:8088/index.html?a=1"
        );
        assert_eq!(
            escape("@octocat (@a/b) a@b.c shop#1 GH @ #x"),
            "@\u{200b}octocat (@\u{200b}a/b) a@b.c shop\\#\u{200b}1 GH @ \\#x"
        );
        assert_eq!(escape("latency_p99_ms _x_"), "latency_p99_ms \\_x\\_");
    }

    #[test]
    fn code_is_left_only_where_nothing_ends_it() {
        assert_eq!(code("a < b_c"), "`a < b_c`");
        assert_eq!(code("a`b"), "a\\`b");
        assert_eq!(code("a|b"), "a&#124;b");
        assert_eq!(code(" "), " ");
    }
}
