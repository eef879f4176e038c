//! What GitLab's load performance widget reads: the summary that k6 exports. Its
//! checks are the requests, each checked for an expected answer. The widget calls
//! every difference better or worse, so it shows and must not gate.

use crate::Report;
use benchd_model::histogram::LatencySummary;
use serde_json::{Value, json};

/// Renders the report.
pub(crate) fn render(report: &Report<'_>) -> String {
    let result = report.result;
    let decided = result.counts.issued.saturating_sub(result.counts.aborted);
    let fails = (result.error_ratio.unwrap_or_default() * decided as f64).round() as u64;
    let passes = decided.saturating_sub(fails);
    let summary = json!({"metrics": {
        "http_reqs": {"count": result.counts.ok, "rate": result.rps},
        "http_req_duration": trend(&result.service_ms),
        "http_req_waiting": trend(&result.ttfb_ms),
        "checks": {
            "passes": passes,
            "fails": fails,
            "value": if decided > 0 { passes as f64 / decided as f64 } else { 0.0 },
        },
    }});
    format!("{summary:#}\n")
}

/// A distribution in milliseconds, by k6's names.
fn trend(summary: &LatencySummary) -> Value {
    json!({
        "avg": summary.mean, "min": summary.min, "med": summary.p50, "max": summary.max,
        "p(90)": summary.p90, "p(95)": summary.p95,
    })
}
