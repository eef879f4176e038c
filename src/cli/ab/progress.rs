//! ab's signs of life: lines on stderr in long runs, dots on stdout in short
//! ones. The engine reports once a second, so lines come in batches.

use benchd_report::ab::HEARTBEAT_ABOVE;
use std::fmt::Write as _;

/// How far a run is.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// Lines stand this many requests apart; `None` for dots.
    every: Option<u64>,
    done: u64,
}

impl Heartbeat {
    pub(super) fn new(requests: u64, quiet: bool) -> Self {
        let long = requests > HEARTBEAT_ABOVE && !quiet;
        Self { every: long.then(|| (requests / 10).max(100)), done: 0 }
    }

    /// Counts `more` finished requests and gives the lines that are due.
    pub(super) fn count(&mut self, more: u64) -> String {
        let before = self.done;
        self.done += more;
        let Some(every) = self.every else { return String::new() };
        let mut lines = String::new();
        for step in before / every + 1..=self.done / every {
            writeln!(lines, "Completed {} requests", step * every)
                .expect("memory takes every write");
        }
        lines
    }

    /// What follows `(be patient)` on stdout before the run.
    pub(super) const fn opening(&self) -> &'static str {
        if self.every.is_some() { "\n" } else { "..." }
    }

    /// What follows on stdout after a run that was not interrupted.
    pub(super) const fn closing(&self) -> &'static str {
        if self.every.is_some() { "" } else { "..done\n" }
    }

    /// The last line for stderr.
    pub(super) fn finished(&self) -> String {
        if self.every.is_none() {
            return String::new();
        }
        format!("Finished {} requests\n", self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::Heartbeat;

    #[test]
    fn long_runs_say_every_tenth_and_at_least_a_hundred() {
        let mut heartbeat = Heartbeat::new(250, false);
        assert_eq!(heartbeat.opening(), "\n");
        assert_eq!(heartbeat.count(99), "");
        assert_eq!(heartbeat.count(1), "Completed 100 requests\n");
        assert_eq!(heartbeat.count(150), "Completed 200 requests\n");
        assert_eq!(heartbeat.finished(), "Finished 250 requests\n");
        let mut heartbeat = Heartbeat::new(50_000, false);
        assert_eq!(heartbeat.count(10_001), "Completed 5000 requests\nCompleted 10000 requests\n");
    }

    #[test]
    fn short_and_quiet_runs_show_dots_only() {
        for mut heartbeat in [Heartbeat::new(150, false), Heartbeat::new(1000, true)] {
            assert_eq!(heartbeat.count(1000), "");
            assert_eq!((heartbeat.opening(), heartbeat.closing()), ("...", "..done\n"));
            assert_eq!(heartbeat.finished(), "");
        }
    }
}
