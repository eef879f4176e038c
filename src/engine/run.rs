//! The coordinator of one run: starts the generator threads, lets them begin
//! together, hands their merged seconds out, and sums the end up.

use crate::clock::{NEVER, Nanos, nanos};
use crate::driver::{Choice, Driver, Farewell, Order, Report, Reporter};
use crate::endpoint::check_source;
use crate::plan::{Plan, PlanError};
use crate::prepared::Prepared;
use crate::record::{Merger, Row, ThreadEnd};
use crate::shared::{Shared, Window};
use crate::stop::Stop;
use benchd_model::job::Phase;
use benchd_model::recording::EndReason;
use benchd_model::{SecondRecord, Timestamp, TrialEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What a run tells while it goes on.
#[derive(Clone, Debug)]
pub enum Progress {
    /// It entered a phase.
    Phase(Phase),
    /// The measuring window began.
    Started {
        /// When, by the wall clock.
        at: Timestamp,
    },
    /// A second of the window is over on every thread. Each is told once, in
    /// order; together they are the whole run.
    Second(Box<SecondRecord>),
}

/// What remains when a run is over.
#[derive(Clone, Debug)]
pub struct Run {
    /// What is known only at the end.
    pub end: TrialEnd,
    /// Raw rows of the first complete responses, by start, as many as asked for.
    pub rows: Vec<Row>,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan cannot be run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Nothing can be sent from an address that is not of this host.
    #[error(
        "source address {address} cannot be used: {source}; `ip address` lists those of this host"
    )]
    Source {
        /// The address.
        address: IpAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// The driver that was asked for cannot run here.
    #[error("the io_uring driver cannot make this load: {0}")]
    Driver(#[source] io::Error),
    /// A generator thread could not be started, or could not go on.
    #[error("a generator thread cannot work: {0}")]
    Thread(#[source] io::Error),
    /// A generator thread died.
    #[error("a generator thread panicked")]
    Panicked,
}

/// Makes the load that `plan` describes and blocks until it is over: when all
/// requests are made, or `duration` and at most `grace` have passed, or `stop`
/// asks for it. `progress` is called on the calling thread.
pub fn run(
    plan: &Plan,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress),
) -> Result<Run, EngineError> {
    let choice = Choice::of(plan).map_err(EngineError::Driver)?;
    for address in plan.source_addresses.iter().copied() {
        check_source(address).map_err(|source| EngineError::Source { address, source })?;
    }
    let mut crew = Crew::build(choice, plan, stop)?;
    let shared = crew.shared.clone();
    progress(Progress::Phase(Phase::Preparing));
    crew.order(Order::Connect);
    crew.gather(|report| matches!(report, Report::Ready))?;
    if stop.requested().is_none() {
        let window = window(plan, shared.clock.now());
        if !plan.warmup.is_zero() {
            progress(Progress::Phase(Phase::WarmingUp));
        }
        Watch::new(&shared, window, &mut crew, progress).follow()?;
    } else {
        crew.dismiss()?;
    }
    Ok(crew.sum_up())
}

fn window(plan: &Plan, now: Nanos) -> Window {
    let start = now.saturating_add(nanos(plan.warmup));
    let end = plan.duration.map_or(NEVER, |length| start.saturating_add(nanos(length)));
    Window { start, end, grace_end: end.saturating_add(nanos(plan.grace)) }
}

/// The generator threads, from the coordinator's side. However it is dropped,
/// none of them goes on.
struct Crew {
    choice: Choice,
    shared: Arc<Shared>,
    orders: Vec<Sender<Order>>,
    reports: Receiver<(u32, Report)>,
    /// The ends of the threads that have finished.
    ends: BTreeMap<u32, ThreadEnd>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Crew {
    /// A crew that has what it needs to begin connecting, on the driver of
    /// `choice` or on the one that steps in for it.
    fn build(mut choice: Choice, plan: &Plan, stop: &Stop) -> Result<Self, EngineError> {
        loop {
            let shared = Shared::new(Prepared::new(plan)?, stop.clone());
            let mut crew = Self::start(choice, &shared)?;
            match crew.gather(|report| matches!(report, Report::Built)) {
                Ok(()) => return Ok(crew),
                Err(EngineError::Thread(error)) => match crew.choice.instead(plan, &error) {
                    Some(other) => choice = other,
                    None if crew.choice.driver == Driver::Uring => {
                        return Err(EngineError::Driver(error));
                    }
                    None => return Err(EngineError::Thread(error)),
                },
                Err(error) => return Err(error),
            }
        }
    }

    fn start(choice: Choice, shared: &Arc<Shared>) -> Result<Self, EngineError> {
        let driver = choice.driver;
        let (reporting, reports) = channel();
        let mut crew = Self {
            choice,
            shared: shared.clone(),
            orders: Vec::new(),
            reports,
            ends: BTreeMap::new(),
            threads: Vec::new(),
        };
        for thread in 0..shared.prepared.threads {
            let (orders, receiver) = channel();
            let (shared, reporter) = (shared.clone(), Reporter::new(thread, reporting.clone()));
            let work = move || {
                let farewell = Farewell(reporter.handle());
                driver.generate(thread, &shared, reporter, &receiver);
                drop(farewell);
            };
            let named = std::thread::Builder::new().name(format!("benchd-load-{thread}"));
            crew.threads.push(named.spawn(work).map_err(EngineError::Thread)?);
            crew.orders.push(orders);
        }
        Ok(crew)
    }

    fn order(&self, order: Order) {
        // A thread that is gone is noticed by its last report.
        for orders in &self.orders {
            orders.send(order).ok();
        }
    }

    /// Waits until every thread has sent the report that `is_it`.
    fn gather(&mut self, is_it: impl Fn(&Report) -> bool) -> Result<(), EngineError> {
        for _ in 0..self.threads.len() {
            match self.reports.recv() {
                Ok((_, report)) if is_it(&report) => {}
                Ok((_, Report::Failed(error))) => return Err(EngineError::Thread(error)),
                Ok(_) | Err(_) => return Err(EngineError::Panicked),
            }
        }
        Ok(())
    }

    /// Sends everybody home without a load.
    fn dismiss(&mut self) -> Result<(), EngineError> {
        self.orders.clear();
        while self.ends.len() < self.threads.len() {
            match self.reports.recv() {
                Ok((thread, Report::Finished(end))) => drop(self.ends.insert(thread, *end)),
                Ok((thread, Report::Gone)) if self.ends.contains_key(&thread) => {}
                Ok(_) | Err(_) => return Err(EngineError::Panicked),
            }
        }
        Ok(())
    }

    fn sum_up(mut self) -> Run {
        let shared = self.shared.clone();
        let mut end = TrialEnd {
            reason: shared.stop.requested().unwrap_or(EndReason::Completed),
            driver: self.choice.driver.name().to_owned(),
            threads: shared.prepared.threads,
            connections_achieved: shared.gauge.most_established(),
            first_response: shared.first_response.get().cloned(),
            ..TrialEnd::default()
        };
        let mut rows = Vec::new();
        let mut notes: BTreeSet<String> = self.choice.note.take().into_iter().collect();
        for thread in std::mem::take(&mut self.ends).into_values() {
            end.opened_before += thread.opened_before;
            end.warmup.merge(&thread.warmup);
            for (reason, count) in thread.reasons {
                *end.failure_reasons.entry(reason).or_default() += count;
            }
            for (endpoint, counts) in shared.prepared.plan.endpoints.iter().zip(&thread.endpoints) {
                end.addresses.entry(endpoint.to_string()).or_default().merge(counts);
            }
            notes.extend(thread.notes);
            rows.extend(thread.rows);
        }
        end.notes = notes.into_iter().collect();
        rows.sort_by_key(|row: &Row| row.start_us);
        rows.truncate(shared.prepared.plan.keep_rows);
        Run { end, rows }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.abandoned.store(true, Ordering::Relaxed);
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // How it ended is known by its last report.
            thread.join().ok();
        }
    }
}

/// Follows a run from its beginning to its end.
struct Watch<'a> {
    shared: &'a Shared,
    window: Window,
    crew: &'a mut Crew,
    progress: &'a mut dyn FnMut(Progress),
    merger: Merger,
    started: bool,
    cooling: bool,
}

impl<'a> Watch<'a> {
    fn new(
        shared: &'a Shared,
        window: Window,
        crew: &'a mut Crew,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let merger = Merger::new(shared.prepared.threads);
        Self { shared, window, crew, progress, merger, started: false, cooling: false }
    }

    fn follow(mut self) -> Result<(), EngineError> {
        self.tell_milestones();
        self.crew.order(Order::Load(self.window));
        while self.crew.ends.len() < self.crew.threads.len() {
            let received = self.crew.reports.recv_timeout(self.until_next_milestone());
            self.tell_milestones();
            match received {
                Ok((thread, Report::Second(second))) => self.merger.add(thread, *second),
                Ok((thread, Report::Finished(end))) => {
                    self.merger.ended(thread);
                    self.crew.ends.insert(thread, *end);
                }
                // Gone without an end before it: the thread has panicked.
                Ok((thread, Report::Gone)) if self.crew.ends.contains_key(&thread) => {}
                Err(RecvTimeoutError::Timeout) => {}
                Ok((_, Report::Failed(error))) => return Err(EngineError::Thread(error)),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(EngineError::Panicked),
            }
            while let Some(second) = self.merger.next() {
                (self.progress)(Progress::Second(Box::new(second)));
            }
        }
        self.cool_down();
        Ok(())
    }

    fn tell_milestones(&mut self) {
        let now = self.shared.clock.now();
        if !self.started && now >= self.window.start {
            self.started = true;
            let since_us = ((now - self.window.start) / 1000) as i64;
            (self.progress)(Progress::Phase(Phase::Measuring));
            let at = Timestamp::now().plus_micros(-since_us);
            (self.progress)(Progress::Started { at });
        }
        if self.started && now >= self.window.end {
            self.cool_down();
        }
    }

    fn cool_down(&mut self) {
        if self.started && !self.cooling {
            self.cooling = true;
            (self.progress)(Progress::Phase(Phase::CoolingDown));
        }
    }

    fn until_next_milestone(&self) -> Duration {
        let next = match (self.started, self.cooling) {
            (false, _) => self.window.start,
            (true, false) => self.window.end,
            (true, true) => NEVER,
        };
        let left = next.saturating_sub(self.shared.clock.now());
        Duration::from_nanos(left).min(Duration::from_secs(3600))
    }
}

#[cfg(test)]
mod tests {
    use super::{Crew, EngineError, Watch, window};
    use crate::driver::{Driver, Farewell, Report, Reporter};
    use crate::shared::Shared;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    /// A crew of one thread that panics at once.
    fn crew(shared: &Arc<Shared>) -> Crew {
        let (reporting, reports) = channel();
        let thread = std::thread::spawn(move || {
            let _farewell = Farewell(Reporter::new(0, reporting));
            panic!("as the test wants it");
        });
        let (shared, ends) = (shared.clone(), BTreeMap::new());
        let choice = Driver::Tokio.into();
        Crew { choice, shared, orders: Vec::new(), reports, ends, threads: vec![thread] }
    }

    #[test]
    fn a_thread_that_panics_ends_the_run_with_an_error_in_every_stage() {
        let shared = Shared::for_test("127.0.0.1:1".parse().unwrap());
        let ready = crew(&shared).gather(|report| matches!(report, Report::Ready));
        assert!(matches!(ready, Err(EngineError::Panicked)));
        assert!(matches!(crew(&shared).dismiss(), Err(EngineError::Panicked)));
        let window = window(&shared.prepared.plan, shared.clock.now());
        let followed = Watch::new(&shared, window, &mut crew(&shared), &mut |_| {}).follow();
        assert!(matches!(followed, Err(EngineError::Panicked)));
    }
}
