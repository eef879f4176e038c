//! Whether an open loop kept the rate it was asked for, and who held it back.

use crate::result::{LoadResult, RunResult};
use crate::verdict::LimitedBy;
use crate::{Counts, Tally};

/// Below this share of what came due, the load was not the one asked for.
const SHARE_REQUIRED: f64 = 0.99;
/// A generator that is later than this by itself, in µs at p99, may have been
/// what held the rate back.
const LATE_BY_ITSELF_US: u64 = 1000;

/// Whether an open loop kept its rate in this second, and its generator was in
/// time for it; null without a request due.
pub(crate) fn kept_in(second: &Tally) -> Option<bool> {
    let enough = second.due as f64 * SHARE_REQUIRED;
    let late = second.dispatch.percentile_us(99.0).is_some_and(|us| us > LATE_BY_ITSELF_US);
    (second.due > 0).then_some(second.counts.dropped == 0 && second.begun as f64 >= enough && !late)
}

/// What became of an open loop's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateKept {
    /// Of what came due, the share begun while the schedule lasted.
    pub(crate) achieved_ratio: f64,
    met: bool,
    /// The generator itself was late, more than its connections were taken.
    generator_late: bool,
}

impl RateKept {
    /// Nothing in a closed loop, or when nothing came due.
    pub(crate) fn of(tally: &Tally) -> Option<Self> {
        let Tally { due, begun, .. } = *tally;
        let achieved_ratio = (due > 0).then(|| begun as f64 / due as f64)?.min(1.0);
        let p99 = |times: &crate::Histogram| times.percentile_us(99.0).unwrap_or(0);
        let (own, all) = (p99(&tally.dispatch), p99(&tally.lateness));
        Some(Self {
            achieved_ratio,
            met: achieved_ratio >= SHARE_REQUIRED && tally.counts.dropped == 0,
            generator_late: own > LATE_BY_ITSELF_US && own * 2 > all,
        })
    }

    /// Who held the figures back, as far as the schedule knows.
    pub(crate) const fn limited_by(self) -> LimitedBy {
        match self {
            Self { met: true, .. } => LimitedBy::Rate,
            Self { generator_late: true, .. } => LimitedBy::Generator,
            _ => LimitedBy::Server,
        }
    }

    /// Why the load was not the one asked for, if it was not. Who held it back is
    /// left out where `told` already.
    pub(crate) fn reason(self, result: &RunResult, told: bool) -> Option<String> {
        if self.met {
            return None;
        }
        let rate = result.load.rate.unwrap_or_default();
        let cause = if told {
            String::new()
        } else if self.generator_late {
            ": the generator itself was late; give it more threads (load.threads), or ask for a lower rate"
                .to_owned()
        } else {
            format!(
                ": all {} were waiting for answers; ask for a lower rate, or give more connections",
                taken(&result.load)
            )
        };
        Some(format!(
            "the rate was missed: of what came due at {rate} requests per second, {} was sent in \
             time{}{cause}",
            in_words(self.achieved_ratio),
            dropped(&result.counts)
        ))
    }
}

/// What requests wait for.
fn taken(load: &LoadResult) -> String {
    match (load.connections, load.streams_achieved) {
        (connections, 0 | 1) => format!("{connections} connections"),
        (connections, streams) => format!("{streams} streams of all {connections} connections"),
    }
}

fn dropped(counts: &Counts) -> String {
    match counts.dropped {
        0 => String::new(),
        1 => " and 1 request was dropped".to_owned(),
        many => format!(" and {many} requests were dropped"),
    }
}

impl RunResult {
    /// The share of an open loop's rate that was achieved, in percent, to be read:
    /// cut and not rounded, so that a rate that was missed reads as missed.
    #[must_use]
    pub fn rate_achieved(&self) -> Option<String> {
        self.rate_achieved_ratio.map(in_words)
    }
}

/// A share in percent: one that is not the whole never reads as it, and one that
/// is not nothing never reads as nothing.
pub(crate) fn in_words(ratio: f64) -> String {
    // Ratios of whole numbers that a decimal cannot tell from a tenth are one.
    let tenths = (ratio * 1000.0 + 1e-6).floor();
    if tenths < 1.0 && ratio > 0.0 {
        return "<0.1 %".to_owned();
    }
    format!("{:.1} %", tenths / 10.0)
}

#[cfg(test)]
mod tests {
    use crate::assemble::tests::{judge, recording, second, tally};
    use crate::result::LoadResult;
    use crate::verdict::LimitedBy;
    use crate::{JobSpec, Outcome, RunResult, Tally, TrialRecording, Verdict};
    use serde_json::json;

    fn open() -> JobSpec {
        let document = json!({"target": {"url": "http://localhost/"},
            "load": {"connections": 4, "rate": 100, "duration": "2s"}});
        JobSpec::parse(&document, &|_| None).unwrap()
    }

    /// A second in which so many came due and were begun, all answered.
    fn at_rate(due: u64, begun: u64) -> Tally {
        Tally { due, begun, ..tally(begun, 0, 1_000_000) }
    }

    fn judged(seconds: [Tally; 2]) -> RunResult {
        let [first, last] = seconds;
        judge(&open(), &[recording(vec![second(0, first), second(1, last)])])
    }

    #[test]
    fn a_rate_that_is_met_limits_the_run() {
        let result = judged([at_rate(100, 100), at_rate(100, 99)]);
        assert_eq!(result.rate_achieved_ratio, Some(0.995));
        assert_eq!((result.verdict, result.validity.limited_by), (Verdict::Pass, LimitedBy::Rate));
        assert!(result.notes.iter().all(|note| !note.contains("closed loop")));
        assert_eq!((result.load.model.as_str(), result.load.rate), ("open", Some(100.0)));
    }

    #[test]
    fn a_busy_generator_that_is_in_time_is_not_the_limit() {
        let verdict = |dispatch_us| {
            let mut busy = at_rate(100, 100);
            busy.generator_cpu_us = 990_000;
            busy.dispatch.record_us(dispatch_us);
            judged([busy.clone(), busy]).validity
        };
        let in_time = verdict(40);
        assert!(in_time.valid && in_time.limited_by == LimitedBy::Rate, "{in_time:?}");
        assert_eq!(verdict(2000).limited_by, LimitedBy::Generator);
    }

    #[test]
    fn a_rate_that_is_missed_makes_the_run_invalid() {
        let result = judged([at_rate(100, 100), at_rate(100, 97)]);
        assert_eq!(result.verdict, Verdict::Invalid);
        assert_eq!(result.validity.limited_by, LimitedBy::Server);
        let reason = &result.validity.reasons[0];
        assert!(reason.contains("at 100 requests per second, 98.5 % was sent"), "{reason}");
        assert!(reason.contains("all 4 connections"), "{reason}");
    }

    #[test]
    fn what_requests_wait_for_with_http2_are_streams() {
        let load = LoadResult { connections: 2, streams_achieved: 3, ..LoadResult::default() };
        assert_eq!(super::taken(&load), "3 streams of all 2 connections");
    }

    #[test]
    fn a_share_is_cut_and_not_rounded() {
        let words = [
            (1.0, "100.0 %"),
            (0.99999, "99.9 %"),
            (0.98999, "98.9 %"),
            (0.995, "99.5 %"),
            (0.057, "5.7 %"),
            (0.0009, "<0.1 %"),
            (0.0, "0.0 %"),
        ];
        for (ratio, words) in words {
            assert_eq!(super::in_words(ratio), words);
        }
        let result = judged([at_rate(100, 100), at_rate(100, 97)]);
        assert_eq!(result.rate_achieved().as_deref(), Some("98.5 %"));
    }

    #[test]
    fn one_dropped_request_is_a_missed_rate() {
        let mut dropping = at_rate(100, 99);
        dropping.counts.add(Outcome::Dropped);
        let result = judged([at_rate(100, 100), dropping]);
        assert_eq!(result.verdict, Verdict::Invalid);
        let reason = &result.validity.reasons[0];
        assert!(reason.contains("99.5 % was sent in time and 1 request was dropped"), "{reason}");
    }

    #[test]
    fn a_late_generator_is_told_from_a_slow_server() {
        let limited_by = |dispatch_us, lateness_us| {
            let mut late = at_rate(100, 50);
            late.dispatch.record_us(dispatch_us);
            late.lateness.record_us(lateness_us);
            judged([late, at_rate(100, 100)]).validity
        };
        let generator = limited_by(20_000, 20_050);
        assert_eq!(generator.limited_by, LimitedBy::Generator);
        assert!(generator.reasons[0].contains("load.threads"), "{:?}", generator.reasons);
        assert_eq!(limited_by(100, 20_000).limited_by, LimitedBy::Server);
        assert_eq!(limited_by(900, 900).limited_by, LimitedBy::Server);
    }

    #[test]
    fn without_a_schedule_there_is_no_rate() {
        let closed: Vec<TrialRecording> = vec![recording(vec![second(0, tally(5, 0, 1_000_000))])];
        let result = judge(&crate::assemble::tests::spec(&[]), &closed);
        assert_eq!((result.rate_achieved_ratio, result.load.rate), (None, None));
        assert_eq!(judged([at_rate(0, 0), at_rate(0, 0)]).rate_achieved_ratio, None);
    }
}
