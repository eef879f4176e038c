//! The latency distribution as HdrHistogram prints it and its plotter reads it:
//! milliseconds, five lines to each halving of the distance to 100 %.

use crate::{Report, judged};
use benchd_model::{Histogram, assemble};
use std::fmt::{self, Write};

const TICKS_PER_HALF_DISTANCE: f64 = 5.0;
/// How HdrHistogram divides our range: 1 µs to 1 h in three significant digits.
const BUCKETS: u32 = 22;
const SUB_BUCKETS: u32 = 2048;

/// Renders the report.
pub(crate) fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    let tally = assemble::total(&judged(report));
    write(&mut text, &tally.latency).expect("memory takes every write");
    text
}

fn write(out: &mut String, histogram: &Histogram) -> fmt::Result {
    let total = histogram.len();
    writeln!(
        out,
        "{:>12} {:>12} {:>12} {:>12}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let (mut below, mut level) = (0, 0.0);
    for (value_us, count) in histogram.buckets() {
        below += count;
        let reached = below as f64 / total as f64;
        while level <= reached {
            let inverse = 1.0 / (1.0 - level);
            let ms = value_us as f64 / 1000.0;
            writeln!(out, "{ms:>12.3} {level:>12.6} {below:>12} {inverse:>12.2}")?;
            level += 1.0 / (TICKS_PER_HALF_DISTANCE * 2f64.powi(inverse.log2() as i32 + 1));
            // The last value has one line, and then the one of 100 %.
            if below == total {
                break;
            }
        }
    }
    let ms = |us: Option<f64>| us.unwrap_or_default() / 1000.0;
    let max = ms(histogram.max_us().map(|us| us as f64));
    if total > 0 {
        writeln!(out, "{max:>12.3} {:>12.6} {total:>12} {:>12}", 1.0, "inf")?;
    }
    let (mean, deviation) = (ms(histogram.mean_us()), ms(histogram.stddev_us()));
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]")?;
    writeln!(out, "#[Max     = {max:>12.3}, Total count    = {total:>12}]")?;
    writeln!(out, "#[Buckets = {BUCKETS:>12}, SubBuckets     = {SUB_BUCKETS:>12}]")
}
