//! `for DURATION`: the figures of every so many consecutive whole seconds of a
//! trial, assembled from the recorded seconds as those of the whole run are.

use super::Op;
use crate::assemble::of_tally;
use crate::limits::{Limits, Signs, signs};
use crate::metrics::{Figures, Known, Reading, Source};
use crate::result::RunResult;
use crate::seconds::{Second, by_index, share, threads};
use crate::spec::LoadSpec;
use crate::stub_status::StubStatusPoll;
use crate::{Histogram, KernelCounts, Tally, TrialRecording, reconcile};
use std::time::Duration;

const SECOND_US: u64 = 1_000_000;
/// A poll stands for the end of a second when it is this near to it.
const NEAR_US: i64 = 500_000;

/// The seconds of one trial.
pub(crate) struct TrialSeconds<'a> {
    /// Which trial, from 1.
    trial: u32,
    seconds: Vec<Second>,
    signs: Vec<Signs>,
    /// Ascending.
    polls: Vec<&'a StubStatusPoll>,
    threads: u32,
    /// The time in which load was offered; a rate is of that alone.
    asked: Option<Duration>,
}

/// A metric over one window.
pub(super) struct Window {
    /// Where it is, in words.
    pub(super) place: String,
    pub(super) reading: Reading,
}

impl<'a> TrialSeconds<'a> {
    pub(crate) fn of(generators: &[&'a TrialRecording], load: &LoadSpec) -> Self {
        let threads = threads(generators, load);
        let seconds = by_index(generators);
        let mut polls: Vec<_> = generators.iter().flat_map(|g| &g.polls).collect();
        polls.sort_by_key(|poll| poll.offset_us);
        Self {
            trial: generators.first().map_or(1, |g| g.trial + 1),
            signs: signs(&seconds, load, threads),
            seconds,
            polls,
            threads,
            asked: load.duration.map(|span| span.duration()),
        }
    }

    /// The metric over every `length` consecutive whole seconds, in order; the
    /// trial is only named where there are several.
    pub(super) fn windows(&self, metric: Known, length: u32, several: bool) -> Vec<Window> {
        let mut windows = Vec::new();
        for (first, last) in self.stretches(metric) {
            let readings = self.readings(metric, first, last, length as usize);
            for (from, reading) in (self.seconds[first].index..).zip(readings) {
                let trial =
                    if several { format!(" of trial {}", self.trial) } else { String::new() };
                let place = format!("from {from} s to {} s{trial}", from + length);
                windows.push(Window { place, reading });
            }
        }
        windows
    }

    /// Why there is no window of that length.
    pub(super) fn too_short(&self, length: u32) -> String {
        let whole = self.seconds.iter().filter(|second| is_whole(second)).count();
        format!("it takes {length} whole seconds in a row, and trial {} has {whole}", self.trial)
    }

    /// First and last of the whole seconds that follow one another.
    fn stretches(&self, metric: Known) -> Vec<(usize, usize)> {
        let offered = |second: &Second| match self.asked.filter(|_| metric.is_rate()) {
            Some(asked) => u64::from(second.index) < asked.as_secs(),
            None => true,
        };
        let mut stretches: Vec<(usize, usize)> = Vec::new();
        for (at, second) in self.seconds.iter().enumerate() {
            if !is_whole(second) || !offered(second) {
                continue;
            }
            match stretches.last_mut() {
                Some((_, last))
                    if *last + 1 == at && self.seconds[*last].index + 1 == second.index =>
                {
                    *last = at;
                }
                _ => stretches.push((at, at)),
            }
        }
        stretches
    }

    fn readings(&self, metric: Known, first: usize, last: usize, length: usize) -> Vec<Reading> {
        let seconds = &self.seconds[first..=last];
        match metric {
            Known::Time(distribution, statistic) => {
                let times: Vec<Histogram> =
                    seconds.iter().map(|s| (distribution.histogram)(&s.tally)).collect();
                let sums = sliding(&times, length, |sum, more| sum.merge(more), Histogram::compact);
                sums.iter().map(|times| statistic.of(times)).collect()
            }
            Known::Scalar(scalar) => {
                let tallies: Vec<Tally> = seconds.iter().map(|s| untimed(&s.tally)).collect();
                let sums = sliding(&tallies, length, |sum, more| sum.merge(more), |_| ());
                let read = |(at, tally): (usize, Tally)| {
                    let result = self.figures(first + at, length, &tally, scalar.source);
                    metric.read(&Figures { result: &result, tally: &tally })
                };
                sums.into_iter().enumerate().map(read).collect()
            }
        }
    }

    /// The figures of the window from the second at `first`, as far as a metric
    /// of that source takes them.
    fn figures(&self, first: usize, length: usize, tally: &Tally, source: Source) -> RunResult {
        let mut result = of_tally(tally);
        let seconds = &self.seconds[first..first + length];
        match source {
            Source::Kernel => {
                let counts = seconds.iter().filter_map(|second| second.kernel);
                result.kernel = counts.reduce(|mut all: KernelCounts, counts| {
                    all.merge(&counts);
                    all
                });
            }
            Source::Generator => {
                let limits = Limits::of(self.signs[first..first + length].iter().copied());
                let validity = &mut result.validity;
                validity.generator_cpu_ratio = share(tally.generator_cpu_us, tally, self.threads);
                validity.generator_wait_ratio = share(tally.generator_wait_us, tally, self.threads);
                validity.generator_busy_ratio = limits.average(|signs| signs.busy);
                validity.connections_idle_ratio = limits.average(|signs| signs.idle);
            }
            Source::Counters | Source::Readings => {
                let start_us = i64::from(seconds[0].index) * SECOND_US as i64;
                let end_us = start_us + (length as u64 * SECOND_US) as i64;
                let polls = self.polls_between(start_us, end_us);
                let recording = TrialRecording { polls, ..TrialRecording::default() };
                result.server.stub_status = reconcile::stub_status(&[recording]);
            }
            Source::Attempts | Source::Schedule | Source::Run | Source::Reconciled => {}
        }
        result
    }

    /// The polls from the one at the start to the one at the end; none when
    /// either is missing.
    fn polls_between(&self, start_us: i64, end_us: i64) -> Vec<StubStatusPoll> {
        let near = |moment_us: i64| {
            let from = self.polls.partition_point(|poll| poll.offset_us < moment_us - NEAR_US);
            let near = (from..self.polls.len())
                .take_while(|at| self.polls[*at].offset_us <= moment_us + NEAR_US);
            near.filter(|at| self.polls[*at].status.is_some())
                .min_by_key(|at| (self.polls[*at].offset_us - moment_us).abs())
        };
        match (near(start_us), near(end_us)) {
            (Some(first), Some(last)) if first < last => {
                self.polls[first..=last].iter().map(|poll| (*poll).clone()).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn is_whole(second: &Second) -> bool {
    second.tally.span_us >= SECOND_US
}

/// A tally without its times, which no figure but theirs needs.
fn untimed(tally: &Tally) -> Tally {
    let Tally { span_us, counts, unexpected_status, length_differs, kept_alive, .. } = *tally;
    Tally {
        span_us,
        counts,
        unexpected_status,
        length_differs,
        kept_alive,
        status_codes: tally.status_codes.clone(),
        bytes: tally.bytes,
        connections: tally.connections,
        due: tally.due,
        begun: tally.begun,
        generator_cpu_us: tally.generator_cpu_us,
        generator_wait_us: tally.generator_wait_us,
        generator_busiest_us: tally.generator_busiest_us,
        ..Tally::default()
    }
}

/// The sums of every `length` items in a row. Each item is added three times,
/// however long the window: the items are cut into blocks of that length, and a
/// window is the rest of one block and the beginning of the next.
fn sliding<T: Clone + Default>(
    items: &[T],
    length: usize,
    add: impl Fn(&mut T, &T),
    settle: impl Fn(&mut T),
) -> Vec<T> {
    let mut sums = Vec::new();
    for start in (0..items.len()).step_by(length) {
        let block = &items[start..(start + length).min(items.len())];
        if block.len() < length {
            break;
        }
        // The sums from each item to the end of the block, the shortest first.
        let mut rests: Vec<T> = Vec::with_capacity(length);
        for item in block.iter().rev() {
            let mut rest = rests.last().cloned().unwrap_or_default();
            add(&mut rest, item);
            settle(&mut rest);
            rests.push(rest);
        }
        let mut beginning = T::default();
        let mut following = items[start + length..].iter();
        while let Some(mut sum) = rests.pop() {
            add(&mut sum, &beginning);
            sums.push(sum);
            let Some(next) = following.next() else { break };
            add(&mut beginning, next);
        }
    }
    sums
}

/// The worse of two values under an operator.
pub(super) fn is_worse(op: Op, limit: f64, value: f64, than: f64) -> bool {
    match op {
        Op::Less | Op::LessOrEqual => value > than,
        Op::Greater | Op::GreaterOrEqual => value < than,
        Op::Equal => (value - limit).abs() > (than - limit).abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::sliding;

    #[test]
    fn sums_slide_by_one() {
        for length in 1..6 {
            for items in 0..14 {
                let items: Vec<u64> = (0..items).map(|i| 1 << i).collect();
                let expected: Vec<u64> = items.windows(length).map(|w| w.iter().sum()).collect();
                let sums = sliding(&items, length, |sum, more| *sum += more, |_| ());
                assert_eq!(sums, expected, "{length} of {}", items.len());
            }
        }
    }
}
