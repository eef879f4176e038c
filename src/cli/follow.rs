//! Live progress on stderr: a bar on a terminal, plain lines otherwise.

use crate::output::tell;
use benchd_model::event::JobEventKind;
use benchd_model::{JobSpec, JobState, Phase, TimelineRow};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// How long nothing is said of a job that waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Shows what a job tells.
pub(crate) struct Progress {
    shown: Shown,
    /// When it began to wait; none when that was told, or is over.
    waits_since: Option<Instant>,
}

enum Shown {
    Quiet,
    Lines { trials: u32 },
    Bar { bar: ProgressBar, requests: Option<u64>, done: u64, trials: u32 },
}

impl Progress {
    pub(crate) fn new(spec: &JobSpec, quiet: bool) -> Self {
        Self { shown: Shown::new(spec, quiet), waits_since: Some(Instant::now()) }
    }

    pub(crate) fn event(&mut self, event: &JobEventKind) {
        if !matches!(event, JobEventKind::State { state: JobState::Queued }) {
            self.waits_since = None;
        }
        match event {
            JobEventKind::Phase { trial, phase } => self.shown.phase(*trial, *phase),
            JobEventKind::Second { row, .. } => self.shown.second(row),
            JobEventKind::State { state } => self.shown.state(*state),
            JobEventKind::Finished { .. } => self.shown.finish(),
        }
    }

    /// Says once why the job waits, when it does for long.
    pub(crate) fn waits(&mut self, now: Instant, why: &str) {
        if self.waits_since.is_some_and(|since| now.duration_since(since) >= PATIENCE) {
            self.waits_since = None;
            self.shown.waits(why);
        }
    }

    pub(crate) fn finish(&self) {
        self.shown.finish();
    }
}

impl Shown {
    fn new(spec: &JobSpec, quiet: bool) -> Self {
        let trials = spec.trials;
        if quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines { trials };
        }
        let requests = spec.load.requests;
        let length = requests.unwrap_or_else(|| {
            spec.load.duration.map_or(0, |span| span.duration().as_millis() as u64)
        });
        let style =
            ProgressStyle::with_template("{prefix:>12} [{bar:30}] {percent:>3}%  {wide_msg}")
                .map(|style| style.progress_chars("=> "))
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(length).with_style(style).with_prefix("queued");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Bar { bar, requests, done: 0, trials }
    }

    /// A job may wait for long; a bar says so by itself.
    fn state(&self, state: JobState) {
        if let (Self::Lines { .. }, JobState::Queued) = (self, state) {
            tell(format_args!("queued"));
        }
    }

    fn waits(&self, why: &str) {
        match self {
            Self::Quiet => {}
            Self::Lines { .. } => tell(format_args!("waiting: {why}")),
            Self::Bar { bar, .. } => bar.set_message(format!("waiting: {why}")),
        }
    }

    fn phase(&mut self, trial: u32, phase: Phase) {
        match self {
            Self::Quiet => {}
            Self::Lines { trials } => {
                tell(format_args!("{}{}", phase_words(phase), of_trials(trial, *trials)));
            }
            Self::Bar { bar, done, trials, .. } => {
                if phase == Phase::Preparing {
                    bar.set_message("");
                    *done = 0;
                    bar.set_position(0);
                }
                bar.set_prefix(format!("{}{}", phase_words(phase), of_trials(trial, *trials)));
            }
        }
    }

    fn second(&mut self, row: &TimelineRow) {
        match self {
            Self::Quiet => {}
            Self::Lines { .. } => {
                tell(format_args!("{:>7.1} s  {}", row.elapsed_s, row_words(row)))
            }
            Self::Bar { bar, requests, done, .. } => {
                *done += row.issued;
                let position =
                    if requests.is_some() { *done } else { (row.elapsed_s * 1000.0) as u64 };
                bar.set_position(position);
                bar.set_message(row_words(row));
            }
        }
    }

    fn finish(&self) {
        if let Self::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

fn row_words(row: &TimelineRow) -> String {
    let p99 = row.latency_p99_ms.map(|p| format!("  p99 {p:.2} ms")).unwrap_or_default();
    format!("{:>9.0} rps{p99}  {} errors", row.rps, row.errors)
}

const fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "preparing",
        Phase::WarmingUp => "warming up",
        Phase::Measuring => "measuring",
        Phase::CoolingDown => "cooling down",
        Phase::Collecting => "collecting",
    }
}

fn of_trials(trial: u32, trials: u32) -> String {
    if trials > 1 { format!(" {trial}/{trials}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::{PATIENCE, Progress};
    use benchd_model::event::JobEventKind;
    use benchd_model::{JobSpec, JobState};
    use serde_json::json;

    #[test]
    fn a_long_wait_is_told_once_and_only_while_it_lasts() {
        let spec = JobSpec::parse(&json!({"target": {"url": "http://h/"}}), &|_| None).unwrap();
        let mut progress = Progress::new(&spec, true);
        let begun = progress.waits_since.unwrap();
        progress.event(&JobEventKind::State { state: JobState::Queued });
        progress.waits(begun, "too early");
        assert!(progress.waits_since.is_some());
        progress.waits(begun + PATIENCE, "now");
        assert!(progress.waits_since.is_none());
        let mut progress = Progress::new(&spec, true);
        progress.event(&JobEventKind::State { state: JobState::Running });
        assert!(progress.waits_since.is_none());
    }
}
