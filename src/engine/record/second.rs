//! One second as one thread counts it, in the form that is quick to write.

use benchd_model::{Histogram, Tally};

/// One second of one thread. Turned into a [`Tally`] by the coordinator, so
/// that merging histograms costs the generator nothing.
#[derive(Debug)]
pub(crate) struct Second {
    /// Which second of the window, from 0.
    pub(crate) index: u32,
    /// The thread's connections open at its end.
    pub(crate) open: u32,
    pub(crate) tally: Tally,
    /// Times of exchanges where latency, service time and time to first byte
    /// are one value: on a kept connection, answered in one read. One entry
    /// instead of three.
    pub(crate) undivided: Histogram,
    /// As `undivided`, but with a first byte of its own: latency and service.
    pub(crate) unconnected: Histogram,
    /// Complete responses by status.
    pub(crate) statuses: Box<[u64; 1000]>,
}

impl Second {
    pub(crate) fn new(index: u32) -> Box<Self> {
        Box::new(Self {
            index,
            open: 0,
            tally: Tally::default(),
            undivided: Histogram::new(),
            unconnected: Histogram::new(),
            statuses: Box::new([0; 1000]),
        })
    }

    /// True when nothing at all is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        let tally = &self.tally;
        tally.counts.issued == 0
            && tally.due == 0
            && tally.begun == 0
            && tally.lateness.is_empty()
            && tally.bytes == Default::default()
            && tally.connections == Default::default()
            && tally.connect.is_empty()
            && tally.tls.is_empty()
    }

    /// The same figures in their public form.
    pub(crate) fn into_tally(self) -> Tally {
        let Self { mut tally, mut undivided, mut unconnected, statuses, .. } = self;
        // Before they are copied: dense ones are hundreds of times larger.
        undivided.compact();
        unconnected.compact();
        for times in [&undivided, &unconnected] {
            tally.latency.merge(times);
            tally.service.merge(times);
        }
        tally.ttfb.merge(&undivided);
        for (status, count) in (0..).zip(statuses.iter()) {
            if *count > 0 {
                tally.status_codes.insert(status, *count);
            }
        }
        tally
    }
}
