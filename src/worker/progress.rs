//! How far a job is, and whether it can still come to something, from its
//! seconds. Pure.

use benchd_model::criteria::Watch;
use benchd_model::job::Progress;
use benchd_model::spec::LoadSpec;
use benchd_model::{SecondRecord, TrialRecording};

/// A shorter stretch gives no rate worth showing.
const SHORTEST_RATE_US: u64 = 250_000;

/// Adds up the seconds of a job.
#[derive(Debug)]
pub(crate) struct Meter {
    requests: Option<u64>,
    duration_s: Option<f64>,
    progress: Progress,
    watch: Option<Box<Watch>>,
}

impl Meter {
    /// At the start of a job of `trials` trials, which `watch` may end early.
    pub(crate) fn new(trials: u32, watch: Option<Watch>) -> Self {
        Self {
            watch: watch.map(Box::new),
            requests: None,
            duration_s: None,
            progress: Progress { trial: 1, trials, ..Progress::default() },
        }
    }

    /// Starts the trial with that number, from 1, of that load.
    pub(crate) fn start_trial(&mut self, trial: u32, load: &LoadSpec) {
        self.requests = load.requests;
        self.duration_s = load.duration.map(|span| span.duration().as_secs_f64());
        let ratio = self.ratio_in(trial, 0.0);
        self.progress = Progress {
            ratio: ratio.max(self.progress.ratio),
            trial,
            trials: self.progress.trials,
            ..Progress::default()
        };
    }

    /// Adds a second of the trial under way.
    pub(crate) fn add(&mut self, second: &SecondRecord) {
        let (tally, progress) = (&second.tally, &mut self.progress);
        progress.issued += tally.counts.issued;
        progress.ok += tally.counts.ok;
        progress.errors += tally.counts.failures() + tally.unexpected_status;
        progress.elapsed_s = f64::from(second.index) + tally.span_s();
        let first = progress.rps == 0.0 && tally.span_us > 0;
        if tally.span_us >= SHORTEST_RATE_US || first {
            progress.rps = tally.counts.ok as f64 / tally.span_s();
        }
        let ratio = self.ratio_in(self.progress.trial, self.share());
        self.progress.ratio = ratio.max(self.progress.ratio);
    }

    /// Why the job cannot come to anything any more, if so, after the newest
    /// second of the trial under way.
    pub(crate) fn beyond_rescue(&mut self, recording: &TrialRecording) -> Option<String> {
        self.watch.as_mut()?.second(recording)
    }

    /// The trial under way is over.
    pub(crate) fn end_trial(&mut self) {
        self.progress.ratio = self.ratio_in(self.progress.trial, 1.0);
    }

    /// Where the job stands.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The done share of this trial: whichever end is nearer.
    fn share(&self) -> f64 {
        let by_requests = self.requests.map(|n| self.progress.issued as f64 / n.max(1) as f64);
        let by_time = self.duration_s.filter(|d| *d > 0.0).map(|d| self.progress.elapsed_s / d);
        by_requests.unwrap_or(0.0).max(by_time.unwrap_or(0.0)).min(1.0)
    }

    fn ratio_in(&self, trial: u32, share: f64) -> f64 {
        (f64::from(trial.saturating_sub(1)) + share) / f64::from(self.progress.trials.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;
    use benchd_model::spec::LoadSpec;
    use benchd_model::{SecondRecord, Span};

    fn load(requests: Option<u64>, seconds: Option<u64>) -> LoadSpec {
        LoadSpec { requests, duration: seconds.map(Span::from_secs), ..LoadSpec::default() }
    }

    fn begun(load: &LoadSpec, trials: u32) -> Meter {
        let mut meter = Meter::new(trials, None);
        meter.start_trial(1, load);
        meter
    }

    fn second(index: u32, ok: u64, span_us: u64) -> SecondRecord {
        let mut second = SecondRecord { index, ..SecondRecord::default() };
        second.tally.span_us = span_us;
        second.tally.counts.issued = ok;
        second.tally.counts.ok = ok;
        second
    }

    #[test]
    fn the_nearer_end_decides_the_ratio() {
        let mut meter = begun(&load(Some(1000), Some(100)), 1);
        meter.add(&second(0, 500, 1_000_000));
        assert_eq!(meter.progress().ratio, 0.5);
        let mut meter = begun(&load(Some(1_000_000), Some(4)), 1);
        meter.add(&second(0, 500, 1_000_000));
        assert_eq!(meter.progress().ratio, 0.25);
    }

    #[test]
    fn trials_share_the_ratio_and_count_on_their_own() {
        let mut meter = begun(&load(Some(100), None), 4);
        meter.add(&second(0, 50, 1_000_000));
        assert_eq!(meter.progress().ratio, 0.125);
        meter.end_trial();
        meter.start_trial(2, &load(Some(100), None));
        assert_eq!((meter.progress().ratio, meter.progress().issued), (0.25, 0));
        meter.add(&second(0, 100, 1_000_000));
        assert_eq!((meter.progress().ratio, meter.progress().ok), (0.5, 100));
    }

    #[test]
    fn the_ratio_stays_at_most_one() {
        let mut meter = begun(&load(None, Some(1)), 1);
        meter.add(&second(0, 5, 1_000_000));
        meter.add(&second(1, 5, 900_000));
        assert_eq!(meter.progress().ratio, 1.0);
    }

    #[test]
    fn the_short_rest_of_a_run_gives_no_rate() {
        let mut meter = begun(&load(Some(1000), None), 1);
        meter.add(&second(0, 700, 1_000_000));
        meter.add(&second(1, 300, 1_000));
        assert_eq!((meter.progress().rps, meter.progress().issued), (700.0, 1000));
    }
}
