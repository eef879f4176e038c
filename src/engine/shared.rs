//! What the threads of one run share and may write. Nothing here is touched
//! once per request.

use crate::budget::Pool;
use crate::clock::{Clock, Nanos};
use crate::descriptors::Descriptors;
use crate::prepared::Prepared;
use crate::stop::Stop;
use benchd_model::recording::FirstResponse;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// A server that has let so many connects run into their time limit gets no
/// more of them before the window: with thousands of connections to open, each
/// waiting for its turn, the window would not come for minutes.
const CONNECTS_TO_MISS: u32 = 16;

/// Shared by the threads of one run.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) prepared: Prepared,
    pub(crate) stop: Stop,
    /// The coordinator is gone; nobody wants the load any more.
    pub(crate) abandoned: AtomicBool,
    pub(crate) clock: Clock,
    pub(crate) pool: Option<Arc<Pool>>,
    pub(crate) first_response: OnceLock<FirstResponse>,
    pub(crate) gauge: Gauge,
    pub(crate) descriptors: Descriptors,
}

impl Shared {
    pub(crate) fn new(prepared: Prepared, stop: Stop) -> Arc<Self> {
        Arc::new(Self {
            stop,
            abandoned: AtomicBool::new(false),
            clock: Clock::start(),
            pool: prepared.plan.requests.map(|requests| Pool::new(requests, prepared.threads)),
            first_response: OnceLock::new(),
            gauge: Gauge::default(),
            descriptors: Descriptors::raise(),
            prepared,
        })
    }

    /// The run is to end now, whatever is left to do.
    pub(crate) fn must_stop(&self) -> bool {
        self.stop.requested().is_some() || self.abandoned.load(Ordering::Relaxed)
    }
}

/// When a run warms up and measures. All threads get the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Attempts that start from here on are measured, earlier ones warm up.
    pub(crate) start: Nanos,
    /// No attempt starts from here on.
    pub(crate) end: Nanos,
    /// What is in flight here is aborted.
    pub(crate) grace_end: Nanos,
}

/// Counts the sockets open at the same time, over all threads.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    sockets: AtomicU32,
    established: AtomicU32,
    most_established: AtomicU32,
    /// Connects before the window that ran into their time limit.
    missed: AtomicU32,
}

impl Gauge {
    /// Takes a descriptor, unless `limit` are taken.
    pub(crate) fn take_socket(&self, limit: u32) -> bool {
        let taken = self.sockets.fetch_add(1, Ordering::Relaxed) < limit;
        if !taken {
            self.give_socket();
        }
        taken
    }

    pub(crate) fn give_socket(&self) {
        self.sockets.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn established(&self) {
        let now = self.established.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_established.fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn closed(&self) {
        self.established.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn missed(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// True when so many connects ran into their limit that the others before
    /// the window are not worth waiting for.
    pub(crate) fn is_unresponsive(&self) -> bool {
        self.missed.load(Ordering::Relaxed) >= CONNECTS_TO_MISS
    }

    pub(crate) fn most_established(&self) -> u32 {
        self.most_established.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Shared {
    /// Of a run of one connection to `address` without an end.
    pub(crate) fn for_test(address: std::net::SocketAddr) -> Arc<Self> {
        Self::for_test_with(address, |_| {})
    }

    /// The same with a plan that `change` has changed.
    pub(crate) fn for_test_with(
        address: std::net::SocketAddr,
        change: impl FnOnce(&mut crate::plan::Plan),
    ) -> Arc<Self> {
        let document = serde_json::json!({"target": {"url": format!("http://{address}/")},
            "load": {"connections": 1, "duration": "24h"}});
        let spec = benchd_model::JobSpec::parse(&document, &|_| None).expect("a valid job");
        let endpoints = vec![address.into()];
        let mut plan = crate::plan::Plan::from_spec(&spec, endpoints).expect("a valid plan");
        change(&mut plan);
        Self::new(Prepared::new(&plan).expect("a valid plan"), Stop::default())
    }
}
