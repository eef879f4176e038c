//! The seconds of one trial, its generators side by side.

use crate::spec::LoadSpec;
use crate::{KernelCounts, SecondRecord, Tally, TrialRecording};
use std::collections::BTreeMap;

/// A rest of the window shorter than this joins the second before it: a rate
/// over a few milliseconds would be noise dressed as a figure.
const SHORTEST_ROW_US: u64 = 250_000;

/// One second of all generators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Second {
    /// Which second, from 0.
    pub(crate) index: u32,
    /// Open connections at its end.
    pub(crate) connections: u64,
    pub(crate) tally: Tally,
    pub(crate) kernel: Option<KernelCounts>,
}

impl Second {
    fn add_kernel(&mut self, kernel: Option<&KernelCounts>) {
        if let Some(kernel) = kernel {
            self.kernel.get_or_insert_default().merge(kernel);
        }
    }
}

impl From<&SecondRecord> for Second {
    fn from(record: &SecondRecord) -> Self {
        let SecondRecord { index, connections_open, tally, kernel } = record;
        let connections = u64::from(*connections_open);
        Self { index: *index, connections, tally: tally.clone(), kernel: *kernel }
    }
}

/// The seconds of a trial in order, as they were recorded.
pub(crate) fn by_index(generators: &[&TrialRecording]) -> Vec<Second> {
    let mut seconds: BTreeMap<u32, Second> = BTreeMap::new();
    for second in generators.iter().flat_map(|g| &g.seconds) {
        let merged = seconds.entry(second.index).or_default();
        merged.index = second.index;
        merged.connections += u64::from(second.connections_open);
        merged.tally.merge_parallel(&second.tally);
        merged.add_kernel(second.kernel.as_ref());
    }
    seconds.into_values().collect()
}

/// The seconds of a trial in order, a short rest joined to the second before.
pub(crate) fn merged(generators: &[&TrialRecording]) -> Vec<Second> {
    let mut merged = by_index(generators);
    let rest_is_short = merged.last().is_some_and(|rest| rest.tally.span_us < SHORTEST_ROW_US);
    if rest_is_short
        && merged.len() > 1
        && let Some(rest) = merged.pop()
        && let Some(last) = merged.last_mut()
    {
        last.tally.merge(&rest.tally);
        last.add_kernel(rest.kernel.as_ref());
    }
    merged
}

/// The generator threads of one trial.
pub(crate) fn threads(generators: &[&TrialRecording], load: &LoadSpec) -> u32 {
    let asked = threads_at_most(load);
    generators.iter().map(|r| r.end.as_ref().map_or(asked, |end| end.threads)).sum()
}

/// Threads of one generator, as long as it has not said how many it has: a
/// thread without a connection would have nothing to do.
pub(crate) fn threads_at_most(load: &LoadSpec) -> u32 {
    load.threads.min(load.connections)
}

/// A time that threads spent, per thread and wall second; null when the span
/// is empty.
pub(crate) fn share(spent_us: u64, tally: &Tally, threads: u32) -> Option<f64> {
    let available = tally.span_us.saturating_mul(u64::from(threads));
    (available > 0).then(|| spent_us as f64 / available as f64)
}
