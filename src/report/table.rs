//! What a person reads in a terminal after a run: the verdict first, then what
//! stands behind it. Fits 80 columns; no colour unless asked for.

mod comparison;
mod layout;
mod timeline;

use crate::figures::{
    baseline_asked, bytes, count, counted, millis, observed, offered, percent, printable, protocol,
    rate, rate_kept, target,
};
use crate::{Report, rows};
use benchd_model::criteria::{CriterionStatus, Severity};
use benchd_model::histogram::LatencySummary;
use benchd_model::recording::EndReason;
use benchd_model::result::{AddressResult, StubStatusResult};
use benchd_model::{Outcome, RunResult, Verdict};
use layout::Page;

pub use comparison::render_comparison;
pub use timeline::timeline_table;

/// Renders the report. `colour` adds ANSI colours to the verdict and headings.
#[must_use]
pub fn render_table(report: &Report<'_>, colour: bool) -> String {
    let result = report.result;
    let mut page = Page::new(colour);
    write_verdict(&mut page, result);
    if let Some(compared) = &result.comparison {
        comparison::write_comparison(&mut page, compared);
    }
    write_setting(&mut page, report);
    write_figures(&mut page, result);
    write_latency(&mut page, result);
    write_trials(&mut page, result);
    let rows = rows(report);
    if !rows.is_empty() {
        page.heading("Timeline");
        page.raw(&timeline_table(&rows));
    }
    if !result.notes.is_empty() {
        page.heading("Notes");
        result.notes.iter().for_each(|note| page.item(note));
    }
    page.finish()
}

fn write_verdict(page: &mut Page, result: &RunResult) {
    let prefix = format!("{}: ", result.verdict);
    let sentence = result.summary.strip_prefix(&prefix).unwrap_or(&result.summary);
    page.verdict(result.verdict, sentence);
    if !result.validity.reasons.is_empty() {
        page.heading("Why these figures cannot be trusted, and what to do");
        result.validity.reasons.iter().for_each(|reason| page.item(reason));
    }
    if !result.criteria.is_empty() {
        page.heading("Criteria");
    }
    for criterion in &result.criteria {
        let status = match (criterion.status, criterion.severity) {
            (CriterionStatus::Pass, _) => "pass",
            (CriterionStatus::Fail, Severity::Warn) => "warning",
            (CriterionStatus::Fail, Severity::Fail | Severity::Abort) => "FAIL",
            (CriterionStatus::NoData, _) => "no data",
        };
        let mut text =
            format!("{}, observed {}", criterion.expression, observed(criterion.observed));
        if let Some(reason) = &criterion.reason {
            text.push_str(&format!(", {reason}"));
        }
        page.field(status, &text);
    }
}

fn write_setting(page: &mut Page, report: &Report<'_>) {
    let (spec, result) = (&report.job.spec, report.result);
    let load = &result.load;
    page.heading(if spec.compare.is_some() { "Run of the candidate" } else { "Run" });
    page.field("target", &target(spec));
    if let Some(baseline) = baseline_asked(spec) {
        page.field("baseline", &baseline);
    }
    let mut server = result.server.software.clone().unwrap_or_else(|| "says no name".to_owned());
    if let Some(length) = result.server.document_bytes {
        server.push_str(&format!(", document of {}", counted(length, "byte")));
    }
    if let Some(tls) = &result.server.tls {
        server.push_str(&format!(", {tls}"));
    }
    page.field("server", &server);
    let kept = if load.keepalive { "kept alive" } else { "one request each" };
    page.field(
        "load",
        &format!(
            "{}, {} ({} at once), {kept}, {}, {} driver, {}",
            offered(load),
            counted(load.connections.into(), "connection"),
            count(load.connections_achieved.into()),
            protocol(load),
            if load.driver.is_empty() { "unknown" } else { &load.driver },
            counted(load.threads.into(), "thread"),
        ),
    );
    let ended = match result.ended {
        EndReason::Completed => "",
        EndReason::Aborted => ", aborted",
        EndReason::Cancelled => ", cancelled",
        EndReason::Interrupted => ", interrupted",
    };
    if load.addresses.len() > 1 {
        write_addresses(page, &load.addresses);
    }
    let trials = counted(result.trials.len() as u64, "trial");
    page.field("measured", &format!("{:.3} s in {trials}{ended}", result.duration_s));
    page.field("job", &report.job.id.to_string());
}

fn write_addresses(page: &mut Page, addresses: &[AddressResult]) {
    for (index, counts) in addresses.iter().enumerate() {
        let label = if index == 0 { "addresses" } else { "" };
        let AddressResult { address, opened, ok, failures } = counts;
        let opened = counted(*opened, "connection");
        let (ok, failures) = (count(*ok), count(*failures));
        page.field(label, &format!("{address}: {opened}, {ok} answered, {failures} failed"));
    }
}

fn write_figures(page: &mut Page, result: &RunResult) {
    let counts = &result.counts;
    page.heading("Figures");
    page.field(
        "requests",
        &format!(
            "{} issued, {} answered, {} failed, {} aborted at the end",
            count(counts.issued),
            count(counts.ok),
            count(counts.failures()),
            count(counts.aborted)
        ),
    );
    page.field(
        "throughput",
        &format!("{} good responses/s, {} responses/s", rate(result.goodput_rps), rate(result.rps)),
    );
    if let Some(kept) = rate_kept(result) {
        page.field("rate", &kept);
    }
    let share = |ratio, of: &str| format!("{} of the {of}", percent(ratio));
    let errors = match result.error_ratio {
        None => "no figure without requests".to_owned(),
        ratio => format!(
            "{}, non-2xx {}",
            share(ratio, "requests"),
            share(result.non_2xx_ratio, "responses")
        ),
    };
    page.field("errors", &errors);
    write_failures(page, result);
    let codes: Vec<String> =
        result.status_codes.iter().map(|(status, n)| format!("{status} × {}", count(*n))).collect();
    page.field("statuses", &if codes.is_empty() { "none".to_owned() } else { codes.join(", ") });
    let per_second = if result.duration_s > 0.0 {
        result.bytes.received as f64 / result.duration_s
    } else {
        0.0
    };
    page.field(
        "bytes",
        &format!(
            "{} received ({}/s), {} of it bodies, {} sent",
            bytes(result.bytes.received as f64),
            bytes(per_second),
            bytes(result.bytes.body as f64),
            bytes(result.bytes.sent as f64)
        ),
    );
    page.field(
        "connections",
        &format!(
            "{} opened, {} requests on a used one, {} closed while idle",
            count(result.connections.opened),
            count(result.connections.reused_requests),
            count(result.connections.idle_closed)
        ),
    );
    let (full, resumed) = (result.connections.tls_full, result.connections.tls_resumed);
    if full + resumed > 0 {
        page.field("handshakes", &format!("{} full, {} resumed", count(full), count(resumed)));
    }
    if let Some(cpu) = result.validity.generator_cpu_ratio {
        page.field(
            "generator",
            &format!(
                "{} of its threads' processors, busy {}, limited by: {}",
                percent(Some(cpu)),
                percent(result.validity.generator_busy_ratio),
                result.validity.limited_by.name()
            ),
        );
    }
    if let Some(nginx) = &result.server.stub_status {
        page.field("nginx", &stub_status(nginx, result.validity.reconciled));
    }
}

fn write_failures(page: &mut Page, result: &RunResult) {
    let failed = |class: &Outcome| {
        !matches!(class, Outcome::Ok | Outcome::Aborted) && result.counts.of(*class) > 0
    };
    let classes: Vec<String> = Outcome::ALL
        .iter()
        .filter(|class| failed(class))
        .map(|class| format!("{} {}", count(result.counts.of(*class)), class.name()))
        .collect();
    if !classes.is_empty() {
        page.field("failures", &classes.join(", "));
    }
    for (reason, times) in &result.failure_reasons {
        page.field("", &format!("{} × {reason}", count(*times)));
    }
}

fn stub_status(nginx: &StubStatusResult, reconciled: Option<bool>) -> String {
    let agrees = match reconciled {
        Some(true) => "which agrees with what was sent",
        Some(false) => "which is not what was sent",
        None => "which could not be compared",
    };
    let mut text = match (nginx.requests, nginx.accepts, nginx.dropped) {
        (Some(requests), Some(accepts), Some(dropped)) => format!(
            "counted {}, {agrees}, and {}, dropped {}",
            counted(requests, "request"),
            counted(accepts, "connection"),
            count(dropped),
        ),
        _ => "its status page was not read often enough to count anything".to_owned(),
    };
    if let Some(active) = nginx.active_max {
        text.push_str(&format!(", at most {} active with the poll's own", count(active)));
    }
    text.push_str(&format!("; asked {}", counted(nginx.polls, "time")));
    if nginx.polls_failed > 0 {
        text.push_str(&format!(", {} without answer", count(nginx.polls_failed)));
    }
    if let Some(foreign) = nginx.foreign_requests.filter(|foreign| *foreign > 0) {
        text.push_str(&format!("; {} not ours", counted(foreign, "request")));
    }
    if nginx.restarts > 0 {
        text.push_str(&format!("; restarted {}", counted(nginx.restarts.into(), "time")));
    }
    text
}

fn write_latency(page: &mut Page, result: &RunResult) {
    page.heading("Times in ms");
    page.row(
        "",
        &["mean", "p50", "p75", "p90", "p95", "p98", "p99", "p99.9", "max"].map(String::from),
    );
    let failures = result.counts.failures() > 0;
    for (label, summary, shown) in [
        ("latency", &result.latency_ms, true),
        ("+failed", &result.latency_all_ms, failures),
        ("connect", &result.connect_ms, result.connect_ms.count > 0),
        ("tls", &result.tls_ms, result.tls_ms.count > 0),
        ("ttfb", &result.ttfb_ms, result.ttfb_ms.count > 0),
        ("service", &result.service_ms, result.service_ms.count > 0),
        ("lateness", &result.lateness_ms, result.lateness_ms.count > 0),
        ("dispatch", &result.dispatch_ms, result.dispatch_ms.count > 0),
    ] {
        if shown {
            page.row(label, &distribution(summary));
        }
    }
}

fn distribution(summary: &LatencySummary) -> [String; 9] {
    [
        summary.mean,
        summary.p50,
        summary.p75,
        summary.p90,
        summary.p95,
        summary.p98,
        summary.p99,
        summary.p99_9,
        summary.max,
    ]
    .map(millis)
}

fn write_trials(page: &mut Page, result: &RunResult) {
    if result.trials.len() < 2 {
        return;
    }
    page.heading("Trials");
    page.row(
        "trial",
        &["answered", "failed", "good/s", "p50 ms", "p99 ms", "max ms"].map(String::from),
    );
    for trial in &result.trials {
        let figures = [
            count(trial.counts.ok),
            count(trial.counts.failures()),
            rate(trial.goodput_rps),
            millis(trial.latency_ms.p50),
            millis(trial.latency_ms.p99),
            millis(trial.latency_ms.max),
        ];
        page.row(&trial.trial.to_string(), &figures);
    }
    if !result.spread.is_empty() {
        page.heading("Spread over the trials");
        page.wide_row("", &["median", "min", "max", "variation", "trials"].map(String::from));
    }
    for (metric, spread) in &result.spread {
        let figures = [
            observed(Some(spread.median)),
            observed(Some(spread.min)),
            observed(Some(spread.max)),
            percent(spread.cv),
            count(spread.n.into()),
        ];
        page.wide_row(metric, &figures);
    }
}

/// The verdict as a heading.
fn title(verdict: Verdict) -> String {
    printable(verdict.name()).to_uppercase()
}
