//! The timeline as a small table: what the client saw beside stub_status.

use crate::figures::{millis, short};
use benchd_model::TimelineRow;

/// More rows than this are thinned.
const MOST_ROWS: usize = 20;

/// Lays the rows out in at most 80 columns and 20 rows. Of a longer run only
/// every n-th row is shown, and a line says so: the rows in between are in the
/// timeline itself.
#[must_use]
pub fn timeline_table(rows: &[TimelineRow]) -> String {
    let several_trials = rows.iter().any(|row| row.trial > 1);
    let step = rows.len().div_ceil(MOST_ROWS).max(1);
    let mut text = String::new();
    text.push_str("         client                              | nginx\n");
    text.push_str(
        "      s     ok/s errors    p50    p99    max | active  read write  wait   req/s drop\n",
    );
    // Counted from the end, so that the last row is always there.
    let shown = rows.iter().rev().step_by(step).collect::<Vec<_>>();
    for row in shown.into_iter().rev() {
        text.push_str(&line(row, several_trials));
    }
    if step > 1 {
        text.push_str(&format!("  (one row in {step}, {} in all)\n", rows.len()));
    }
    text
}

fn line(row: &TimelineRow, several_trials: bool) -> String {
    let elapsed = if several_trials {
        format!("{}/{:.0}", row.trial, row.elapsed_s)
    } else {
        format!("{:.1}", row.elapsed_s)
    };
    let number = |value: Option<u64>, width| value.map_or_else(dash, |v| short(v as f64, width));
    format!(
        "{elapsed:>7} {:>8} {:>6} {:>6} {:>6} {:>6} | {:>6} {:>5} {:>5} {:>5} {:>7} {:>4}\n",
        short(row.rps, 8),
        short(row.errors as f64, 6),
        narrow(row.latency_p50_ms),
        narrow(row.latency_p99_ms),
        narrow(row.latency_max_ms),
        number(row.nginx_active, 6),
        number(row.nginx_reading, 5),
        number(row.nginx_writing, 5),
        number(row.nginx_waiting, 5),
        row.nginx_requests_per_s.map_or_else(dash, |rate| short(rate, 7)),
        number(row.nginx_dropped, 4),
    )
}

/// Milliseconds in six characters; an hour is given in thousands.
fn narrow(value: Option<f64>) -> String {
    match value {
        Some(ms) if ms >= 100_000.0 => short(ms, 6),
        _ => millis(value),
    }
}

fn dash() -> String {
    "-".to_owned()
}
