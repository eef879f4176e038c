//! Was it us? Who held a second back, and who the run, from what the generator
//! and its host's kernel saw. Knows no documents.

use crate::rate::kept_in;
use crate::seconds::{Second, share};
use crate::spec::LoadSpec;
use crate::verdict::LimitedBy;

/// A thread that has something to do for this share of a second has nothing
/// left to give. Of 64 requests in flight hardly ever all wait for it then, so
/// that the server has something to do, too; beyond it a faster generator
/// would have measured a higher rate.
const NOTHING_LEFT: f64 = 0.95;
/// Up to this share it has time to spare. In between nobody can tell.
const TIME_TO_SPARE: f64 = 0.9;
/// Threads that wait for a processor for this share of the time measure who
/// else runs on their machine: every answer waits for them, too.
const STARVED: f64 = 0.5;
/// A group that its quota stopped for this share of a second delayed so many
/// answers that high percentiles are the quota's.
pub(crate) const THROTTLED: f64 = 0.02;
/// Connections that wait for answers up to this share of the time leave the
/// server without work.
const CONNECTIONS_IDLE: f64 = 0.1;
/// Segments resent from this share on hold TCP itself back.
const LOST: f64 = 0.01;
/// A generator that was the limit for this share of the requests spoils the rest.
const GENERATOR_SPOILS: f64 = 1.0 / 3.0;

/// What one second shows. Shares are from 0 to 1, null where there is no figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Signs {
    pub(crate) attempts: u64,
    pub(crate) span_us: u64,
    /// Something was in flight, or ended.
    pub(crate) asked: bool,
    /// Of the second: the busiest generator thread had something to do.
    pub(crate) busy: Option<f64>,
    /// Of the threads' time: they worked.
    pub(crate) worked: Option<f64>,
    /// Of the threads' time: they waited for a processor.
    pub(crate) waited: Option<f64>,
    /// Of the second: the quota stopped the control group.
    pub(crate) throttled: Option<f64>,
    /// Of the connections' time (or of their streams'): nothing was in flight.
    pub(crate) idle: Option<f64>,
    /// Of the segments: sent again, SYNs left out.
    pub(crate) lost: Option<f64>,
    /// An open loop kept its rate, in time.
    pub(crate) kept_rate: Option<bool>,
}

impl Signs {
    fn of(second: &Second, load: &LoadSpec, threads: u32) -> Self {
        let Second { tally, kernel, .. } = second;
        let worked = share(tally.generator_cpu_us, tally, threads);
        let waited = share(tally.generator_wait_us, tally, threads);
        // Older recordings know no busiest thread.
        let average = worked.zip(waited).map(|(worked, waited)| worked + waited);
        let busiest = share(tally.generator_busiest_us, tally, 1);
        let attempts = tally.counts.issued;
        Self {
            attempts,
            span_us: tally.span_us,
            asked: attempts > 0 || tally.in_flight_us > 0,
            busy: busiest.zip(average).map(|(busiest, average)| busiest.max(average).min(1.0)),
            worked,
            waited,
            throttled: kernel.and_then(|k| share(k.throttled_us?, tally, 1)).map(|t| t.min(1.0)),
            idle: share(tally.in_flight_us, tally, load.in_flight())
                .map(|used| (1.0 - used).max(0.0)),
            lost: kernel.and_then(|k| {
                let resent = k.tcp_retransmits?.saturating_sub(k.tcp_syn_retransmits.unwrap_or(0));
                let sent = k.tcp_segments?;
                (sent > 0).then(|| resent as f64 / sent as f64)
            }),
            kept_rate: kept_in(tally),
        }
    }

    /// Who held the second back; null when nothing was asked in it.
    pub(crate) fn limited_by(&self) -> Option<LimitedBy> {
        if !self.asked {
            return None;
        }
        let reaches = |sign: Option<f64>, limit| sign.is_some_and(|sign| sign >= limit);
        let at_most = |sign: Option<f64>, limit| sign.is_some_and(|sign| sign <= limit);
        Some(if reaches(self.throttled, THROTTLED) {
            LimitedBy::Generator
        } else if self.kept_rate == Some(true) {
            // However busy it was, it did all that was asked, when it was asked.
            LimitedBy::Rate
        } else if reaches(self.busy, NOTHING_LEFT) || reaches(self.waited, STARVED) {
            LimitedBy::Generator
        } else if reaches(self.lost, LOST) {
            LimitedBy::Network
        } else if at_most(self.busy, TIME_TO_SPARE) && at_most(self.idle, CONNECTIONS_IDLE) {
            LimitedBy::Server
        } else {
            LimitedBy::Unknown
        })
    }
}

/// What each of a trial's `seconds` shows.
pub(crate) fn signs(seconds: &[Second], load: &LoadSpec, threads: u32) -> Vec<Signs> {
    seconds.iter().map(|second| Signs::of(second, load, threads)).collect()
}

/// What the seconds of one or more trials show together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    signs: Vec<Signs>,
}

impl Limits {
    pub(crate) fn of(signs: impl IntoIterator<Item = Signs>) -> Self {
        Self { signs: signs.into_iter().collect() }
    }

    pub(crate) fn all<'a>(trials: impl Iterator<Item = &'a Self>) -> Self {
        Self { signs: trials.flat_map(|trial| &trial.signs).copied().collect() }
    }

    /// Who held most of the requests back, or spoiled them.
    pub(crate) fn limited_by(&self) -> LimitedBy {
        if self.share_of(LimitedBy::Generator) > GENERATOR_SPOILS {
            return LimitedBy::Generator;
        }
        let others = [LimitedBy::Server, LimitedBy::Network, LimitedBy::Rate];
        others.into_iter().find(|who| self.share_of(*who) > 0.5).unwrap_or_default()
    }

    /// The share of attempts made in seconds that `who` held back.
    pub(crate) fn share_of(&self, who: LimitedBy) -> f64 {
        self.mean(self.signs.iter(), |signs| {
            Some(f64::from(u8::from(signs.limited_by() == Some(who))))
        })
        .unwrap_or(0.0)
    }

    /// How many seconds `who` held back, of how many.
    pub(crate) fn seconds_of(&self, who: LimitedBy) -> (usize, usize) {
        let of = self.signs.iter().filter(|signs| signs.limited_by() == Some(who));
        (of.count(), self.signs.len())
    }

    /// Share of the connections' time in which nothing was in flight.
    pub(crate) fn idle(&self) -> Option<f64> {
        weighed(self.signs.iter().filter_map(|signs| Some((signs.idle?, signs.span_us as f64))))
    }

    /// A sign averaged over all attempts.
    pub(crate) fn average(&self, sign: fn(&Signs) -> Option<f64>) -> Option<f64> {
        self.mean(self.signs.iter(), sign)
    }

    /// A sign averaged over the attempts in seconds that `who` held back.
    pub(crate) fn average_of(
        &self,
        who: LimitedBy,
        sign: fn(&Signs) -> Option<f64>,
    ) -> Option<f64> {
        self.mean(self.signs.iter().filter(|signs| signs.limited_by() == Some(who)), sign)
    }

    /// Weighted by attempts: a long tail with few of them waters nothing down.
    fn mean<'a>(
        &self,
        seconds: impl Iterator<Item = &'a Signs>,
        sign: impl Fn(&Signs) -> Option<f64>,
    ) -> Option<f64> {
        weighed(seconds.filter_map(|signs| Some((sign(signs)?, signs.attempts as f64))))
    }
}

/// The mean of values with their weights.
fn weighed(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weight) =
        values.fold((0.0, 0.0), |(sum, all), (value, w)| (sum + value * w, all + w));
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
