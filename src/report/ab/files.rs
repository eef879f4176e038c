//! The two files ab writes on request: `-g` (gnuplot) and `-e` (CSV).

use super::text::millis;
use super::{AbReport, AbRow};
use jiff::Timestamp;
use std::fmt::Write;

impl AbReport {
    /// The `-g` file: one tab-separated row per response in the order of their
    /// total times. Only the rows that were kept are there.
    #[must_use]
    pub fn gnuplot(&self) -> String {
        let mut rows: Vec<&AbRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.total_us);
        let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
        for row in rows {
            let offset = i64::try_from(row.start_us).unwrap_or(i64::MAX);
            let micros = self.started_us.saturating_add(offset);
            writeln!(
                text,
                "{}\t{}\t{}\t{}\t{}\t{}",
                ctime(micros),
                micros.div_euclid(1_000_000),
                millis(row.connect_us),
                millis(row.processing_us()),
                millis(row.total_us),
                millis(row.wait_us)
            )
            .expect("memory takes every write");
        }
        text
    }

    /// The `-e` file: for each percentage the total time in milliseconds within
    /// which it was served. Only the header when nothing was.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "Percentage served,Time in ms\n".to_owned();
        let len = self.times.len();
        if len == 0 {
            return text;
        }
        for percent in 0..=100_u64 {
            let micros = match percent {
                0 => self.times.total.min,
                100 => self.times.total.max,
                // ⌊0.5 + n·p/100⌋ in integers; ab reads past the last row where
                // this is one too many, here it stays the last.
                _ => {
                    let index = (u128::from(len) * u128::from(percent) + 50) / 100;
                    self.times.total_at(u64::try_from(index).unwrap_or(len))
                }
            };
            writeln!(text, "{percent},{:.3}", micros as f64 / 1000.0)
                .expect("memory takes every write");
        }
        text
    }
}

/// A time as C's `ctime` writes it, in UTC.
fn ctime(micros: i64) -> String {
    Timestamp::from_microsecond(micros).map_or_else(
        |_| micros.to_string(),
        |time| time.strftime("%a %b %d %H:%M:%S %Y").to_string(),
    )
}
