//! The timeline as a small table: what the client saw beside stub_status.

use crate::figures::{millis, short};
use benchd_model::TimelineRow;

/// More rows than this are thinned.
const MOST_ROWS: usize = 20;

/// A column: title, width, and its cell in at most so many characters but one.
type Column = (&'static str, usize, fn(&TimelineRow, usize) -> String);

/// Of a closed loop: the client's, then nginx's; with the bar 80 wide.
const CLOSED: (&[Column], &[Column]) = (
    &[
        ("good/s", 8, |row, width| number(Some(row.goodput_rps), width)),
        ("errs", 6, |row, width| count(Some(row.errors), width)),
        ("p50", 7, |row, _| narrow(row.latency_p50_ms)),
        ("p99", 7, |row, _| narrow(row.latency_p99_ms)),
        ("max", 7, |row, _| narrow(row.latency_max_ms)),
    ],
    &[
        ("active", 7, |row, width| count(row.nginx_active, width)),
        ("read", 5, |row, width| count(row.nginx_reading, width)),
        ("write", 6, |row, width| count(row.nginx_writing, width)),
        ("wait", 5, |row, width| count(row.nginx_waiting, width)),
        ("req/s", 8, |row, width| number(row.nginx_requests_per_s, width)),
        ("drop", 5, |row, width| count(row.nginx_dropped, width)),
    ],
);

/// Of an open loop: what it dropped and how late it was takes the place of
/// nginx's reading and waiting connections.
const OPEN: (&[Column], &[Column]) = (
    &[
        ("good/s", 8, |row, width| number(Some(row.goodput_rps), width)),
        ("errs", 6, |row, width| count(Some(row.errors), width)),
        ("drop", 6, |row, width| count(row.dropped, width)),
        ("p50", 7, |row, _| narrow(row.latency_p50_ms)),
        ("p99", 7, |row, _| narrow(row.latency_p99_ms)),
        ("max", 7, |row, _| narrow(row.latency_max_ms)),
        ("late", 7, |row, _| narrow(row.lateness_p99_ms)),
    ],
    &[
        ("active", 7, |row, width| count(row.nginx_active, width)),
        ("req/s", 8, |row, width| number(row.nginx_requests_per_s, width)),
        ("drop", 5, |row, width| count(row.nginx_dropped, width)),
    ],
);

/// The first column: the end of the second.
const ELAPSED: usize = 7;

/// Lays the rows out in at most 80 columns and 20 rows. Of a longer run only
/// every n-th row is shown, and a line says so: the rows in between are in the
/// timeline itself.
#[must_use]
pub fn timeline_table(rows: &[TimelineRow]) -> String {
    let several_trials = rows.iter().any(|row| row.trial > 1);
    let is_open = rows.iter().any(|row| row.dropped.is_some());
    let (client, nginx) = if is_open { OPEN } else { CLOSED };
    let step = rows.len().div_ceil(MOST_ROWS).max(1);
    let width = ELAPSED + client.iter().map(|(_, width, _)| width).sum::<usize>();
    let title =
        if is_open { "client (latency and p99 lateness in ms)" } else { "client (latency in ms)" };
    let line = |elapsed: &str, cell: &dyn Fn(&Column) -> String| {
        let cells = |columns: &[Column]| -> String {
            columns.iter().map(|column| format!("{:>1$}", cell(column), column.1)).collect()
        };
        format!("{elapsed:>ELAPSED$}{} |{}\n", cells(client), cells(nginx))
    };
    let mut text = format!("{title:>width$} | nginx\n");
    text.push_str(&line("s", &|(title, ..)| (*title).to_owned()));
    // Counted from the end, so that the last row is always there.
    let shown: Vec<&TimelineRow> = rows.iter().rev().step_by(step).collect();
    for row in shown.into_iter().rev() {
        text.push_str(&line(&elapsed(row, several_trials), &|(_, width, cell)| cell(row, *width)));
    }
    if step > 1 {
        text.push_str(&format!("  (one row in {step}, {} in all)\n", rows.len()));
    }
    text
}

fn elapsed(row: &TimelineRow, several_trials: bool) -> String {
    match several_trials {
        true => format!("{}/{:.0}", row.trial, row.elapsed_s),
        false if row.elapsed_s < 1000.0 => format!("{:.1}", row.elapsed_s),
        false => format!("{:.0}", row.elapsed_s),
    }
}

fn number(value: Option<f64>, width: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| short(value, width - 1))
}

fn count(value: Option<u64>, width: usize) -> String {
    number(value.map(|value| value as f64), width)
}

/// Milliseconds in six characters; from 100 s on in thousands.
fn narrow(value: Option<f64>) -> String {
    match value {
        Some(ms) if ms >= 100_000.0 => short(ms, 5),
        _ => millis(value),
    }
}
