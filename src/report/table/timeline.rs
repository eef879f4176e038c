//! The timeline as a small table: what the client saw beside stub_status.

use crate::figures::{millis, short};
use benchd_model::TimelineRow;

/// More rows than this are thinned.
const MOST_ROWS: usize = 20;

/// Columns of the client, then of nginx; with the bar they are 80 wide.
const WIDTHS: [usize; 12] = [7, 8, 6, 7, 7, 7, 7, 5, 6, 5, 8, 5];
const CLIENT: usize = 6;

/// Lays the rows out in at most 80 columns and 20 rows. Of a longer run only
/// every n-th row is shown, and a line says so: the rows in between are in the
/// timeline itself.
#[must_use]
pub fn timeline_table(rows: &[TimelineRow]) -> String {
    let several_trials = rows.iter().any(|row| row.trial > 1);
    let step = rows.len().div_ceil(MOST_ROWS).max(1);
    let client = WIDTHS[..CLIENT].iter().sum();
    let mut text = format!("{:>client$} | nginx\n", "client (latency in ms)");
    text.push_str(&line(
        &[
            "s", "good/s", "errs", "p50", "p99", "max", "active", "read", "write", "wait", "req/s",
            "drop",
        ]
        .map(str::to_owned),
    ));
    // Counted from the end, so that the last row is always there.
    let shown: Vec<&TimelineRow> = rows.iter().rev().step_by(step).collect();
    for row in shown.into_iter().rev() {
        text.push_str(&line(&cells(row, several_trials)));
    }
    if step > 1 {
        text.push_str(&format!("  (one row in {step}, {} in all)\n", rows.len()));
    }
    text
}

fn cells(row: &TimelineRow, several_trials: bool) -> [String; 12] {
    let elapsed = match several_trials {
        true => format!("{}/{:.0}", row.trial, row.elapsed_s),
        false if row.elapsed_s < 1000.0 => format!("{:.1}", row.elapsed_s),
        false => format!("{:.0}", row.elapsed_s),
    };
    let number =
        |value: Option<f64>, at: usize| value.map_or_else(dash, |v| short(v, WIDTHS[at] - 1));
    let count = |value: Option<u64>, at: usize| number(value.map(|v| v as f64), at);
    [
        elapsed,
        number(Some(row.goodput_rps), 1),
        count(Some(row.errors), 2),
        narrow(row.latency_p50_ms),
        narrow(row.latency_p99_ms),
        narrow(row.latency_max_ms),
        count(row.nginx_active, 6),
        count(row.nginx_reading, 7),
        count(row.nginx_writing, 8),
        count(row.nginx_waiting, 9),
        number(row.nginx_requests_per_s, 10),
        count(row.nginx_dropped, 11),
    ]
}

fn line(cells: &[String; 12]) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        if at == CLIENT {
            line.push_str(" |");
        }
        line.push_str(&format!("{cell:>width$}"));
    }
    line.push('\n');
    line
}

/// Milliseconds in six characters; from 100 s on in thousands.
fn narrow(value: Option<f64>) -> String {
    match value {
        Some(ms) if ms >= 100_000.0 => short(ms, 5),
        _ => millis(value),
    }
}

fn dash() -> String {
    "-".to_owned()
}
