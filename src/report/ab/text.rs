//! ab's report as text, line by line as ab 2.4.71 prints it.

use super::AbReport;
use super::columns::{Column, Times};
use std::fmt::{self, Write};

const PERCENTILES: [u64; 8] = [50, 66, 75, 80, 90, 95, 98, 99];

impl AbReport {
    /// The whole report as ab leaves it on stdout.
    #[must_use]
    pub fn to_text(&self) -> String {
        let done = if self.shows_heartbeat() { "\n" } else { ".....done\n" };
        format!("{}{done}{}", self.banner(), self.results())
    }

    /// What stands there before the run, up to `(be patient)`, without a line
    /// break: above 150 requests one follows, otherwise ab's dots do.
    #[must_use]
    pub fn banner(&self) -> String {
        format!("{}\n\nBenchmarking {} (be patient)", version_line(), self.hostname)
    }

    /// What follows after the run.
    #[must_use]
    pub fn results(&self) -> String {
        let mut text = String::new();
        self.write_results(&mut text).expect("memory takes every write");
        text
    }

    fn write_results(&self, out: &mut String) -> fmt::Result {
        write!(out, "\n\n")?;
        self.write_server(out)?;
        self.write_counts(out)?;
        self.write_rates(out)?;
        if self.times.len() == 0 {
            return Ok(());
        }
        write_times(out, &self.times, self.confidence)?;
        if self.percentiles && self.times.len() > 1 {
            write_percentiles(out, &self.times)?;
        }
        Ok(())
    }

    fn write_server(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "Server Software:        {}", self.software)?;
        writeln!(out, "Server Hostname:        {}", self.hostname)?;
        writeln!(out, "Server Port:            {}", self.port)?;
        if let Some(tls) = &self.tls {
            writeln!(out, "SSL/TLS Protocol:       {tls}")?;
        }
        if let Some(name) = &self.tls_server_name {
            writeln!(out, "TLS Server Name:        {name}")?;
        }
        writeln!(out)?;
        writeln!(out, "Document Path:          {}", self.document_path)?;
        if self.variable_length {
            writeln!(out, "Document Length:        Variable")?;
        } else {
            writeln!(out, "Document Length:        {} bytes", self.document_bytes)?;
        }
        writeln!(out)
    }

    fn write_counts(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "Concurrency Level:      {}", self.concurrency)?;
        if let Some(rate) = self.rate {
            writeln!(out, "Offered rate:           {rate:.2} [#/sec]")?;
        }
        writeln!(out, "Time taken for tests:   {:.3} seconds", self.seconds())?;
        writeln!(out, "Complete requests:      {}", self.complete)?;
        writeln!(out, "Failed requests:        {}", self.failed())?;
        if self.failed() > 0 {
            writeln!(
                out,
                "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
                self.failed_connect,
                self.failed_receive,
                self.failed_length(),
                self.failed_exceptions
            )?;
        }
        if self.dropped > 0 {
            writeln!(out, "Dropped requests:       {}", self.dropped)?;
        }
        if self.non_2xx > 0 {
            writeln!(out, "Non-2xx responses:      {}", self.non_2xx)?;
        }
        if let Some(kept_alive) = self.kept_alive {
            writeln!(out, "Keep-Alive requests:    {kept_alive}")?;
        }
        writeln!(out, "Total transferred:      {} bytes", self.received_bytes)?;
        if let Some(sent) = self.sent_bytes {
            writeln!(out, "Total body sent:        {sent}")?;
        }
        writeln!(out, "HTML transferred:       {} bytes", self.body_bytes)
    }

    fn write_rates(&self, out: &mut String) -> fmt::Result {
        if self.time_us == 0 || self.complete == 0 {
            return Ok(());
        }
        let (seconds, done) = (self.seconds(), self.complete as f64);
        let concurrent = f64::from(self.concurrency) * seconds * 1000.0 / done;
        let rate = |bytes: u64| bytes as f64 / 1024.0 / seconds;
        writeln!(out, "Requests per second:    {:.2} [#/sec] (mean)", done / seconds)?;
        // At a given rate the quotient of time and requests is no request's time.
        if self.rate.is_none() {
            writeln!(out, "Time per request:       {concurrent:.3} [ms] (mean)")?;
            writeln!(
                out,
                "Time per request:       {:.3} [ms] (mean, across all concurrent requests)",
                seconds * 1000.0 / done
            )?;
        }
        writeln!(
            out,
            "Transfer rate:          {:.2} [Kbytes/sec] received",
            rate(self.received_bytes)
        )?;
        if let Some(sent) = self.sent_bytes {
            writeln!(out, "                        {:.2} kb/s sent", rate(sent))?;
            writeln!(
                out,
                "                        {:.2} kb/s total",
                rate(self.received_bytes + sent)
            )?;
        }
        Ok(())
    }

    fn seconds(&self) -> f64 {
        self.time_us as f64 / 1e6
    }
}

/// The first line, which is all that `benchd ab -V` prints.
#[must_use]
pub fn version_line() -> String {
    format!("This is benchd {}, ab-compatible report", env!("CARGO_PKG_VERSION"))
}

fn write_times(out: &mut String, times: &Times, confidence: bool) -> fmt::Result {
    writeln!(out, "\nConnection Times (ms)")?;
    let header = if confidence {
        "              min  mean[+/-sd] median   max"
    } else {
        "              min   avg   max"
    };
    writeln!(out, "{header}")?;
    for (label, column) in [
        ("Connect:", times.connect),
        ("Processing:", times.processing),
        ("Waiting:", times.waiting),
        ("Total:", times.total),
    ] {
        let (min, mean, max) = (millis(column.min), millis(column.mean), millis(column.max));
        if confidence {
            let (deviation, median) = (column.deviation / 1000.0, millis(column.median));
            writeln!(out, "{label:<12}{min:>5} {mean:>4} {deviation:>5.1} {median:>6} {max:>7}")?;
        } else {
            writeln!(out, "{label:<12}{min:>5} {mean:>5}{max:>5}")?;
        }
    }
    if confidence {
        write_checks(out, times)?;
    }
    Ok(())
}

/// ab's four checks compare mean and median after rounding, so that runs below
/// a millisecond warn without cause; that is part of the layout, too.
fn write_checks(out: &mut String, times: &Times) -> fmt::Result {
    for (what, column) in [
        ("the initial connection time", times.connect),
        ("the processing time", times.processing),
        ("the waiting time", times.waiting),
        ("the total time", times.total),
    ] {
        let deviation = column.deviation / 1000.0;
        let gap = mean_median_gap(&column);
        if gap > 2.0 * deviation {
            writeln!(
                out,
                "ERROR: The median and mean for {what} are more than twice the standard"
            )?;
            writeln!(out, "       deviation apart. These results are NOT reliable.")?;
        } else if gap > deviation {
            writeln!(
                out,
                "WARNING: The median and mean for {what} are not within a normal deviation"
            )?;
            writeln!(out, "        These results are probably not that reliable.")?;
        }
    }
    Ok(())
}

fn mean_median_gap(column: &Column) -> f64 {
    millis(column.mean).abs_diff(millis(column.median)) as f64
}

fn write_percentiles(out: &mut String, times: &Times) -> fmt::Result {
    let len = times.len();
    writeln!(out, "\nPercentage of the requests served within a certain time (ms)")?;
    for percent in PERCENTILES {
        let index = u128::from(len) * u128::from(percent) / 100;
        let total = times.total_at(u64::try_from(index).unwrap_or(u64::MAX));
        writeln!(out, "  {percent}%  {:>5}", millis(total))?;
    }
    writeln!(out, " 100%  {:>5} (longest request)", millis(times.total.max))
}

/// Microseconds to milliseconds, rounded as ab does.
pub(super) const fn millis(micros: u64) -> u64 {
    (micros + 500) / 1000
}
