//! What the connection tasks of one thread share, without locks.

use super::open_loop::OpenLoop;
use super::slots::{Flight, Slots};
use crate::budget::Budget;
use crate::clock::{Nanos, nanos};
use crate::driver::Reporter;
use crate::driver::pace::outstanding_connects;
use crate::http1::HeadCache;
use crate::http2::Request;
use crate::record::{Recorder, ThreadEnd};
use crate::shared::{Shared, Window};
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore};

/// The one receive buffer of a thread.
const RECEIVE_BUFFER: usize = 64 * 1024;

/// So many connections may let others come first at the same time.
const MOST_YIELDING: usize = 16;

/// Shared by the tasks of one thread.
#[derive(Debug)]
pub(super) struct Local {
    pub(super) shared: Arc<Shared>,
    /// The number of the first connection among all connections of the run.
    pub(super) first: usize,
    /// How many connections this thread has.
    pub(super) connections: usize,
    pub(super) slots: Slots,
    pub(super) budget: Budget,
    pub(super) open_loop: Option<OpenLoop>,
    pub(super) recorder: RefCell<Recorder>,
    pub(super) heads: RefCell<HeadCache>,
    pub(super) buffer: RefCell<Box<[u8]>>,
    pub(super) pacer: Semaphore,
    /// Connections of this thread that are open.
    pub(super) open: Rc<Cell<u32>>,
    /// Connections in a row whose FIN did not come in time.
    pub(super) fins_missed: Cell<u32>,
    pub(super) timeout: Nanos,
    /// Connections that let others come first.
    yielding: Cell<usize>,
    window: Cell<Option<Window>>,
    window_over: Cell<bool>,
    /// Connections that have work to do.
    busy: Cell<usize>,
    /// A slot has panicked: nothing it would have counted can be trusted.
    broken: Cell<bool>,
    rest: Notify,
}

impl Local {
    /// `open_loop` when the plan has a rate.
    pub(super) fn new(
        shared: Arc<Shared>,
        thread: u32,
        reporter: Reporter,
        open_loop: Option<OpenLoop>,
    ) -> Self {
        let prepared = &shared.prepared;
        let share = prepared.connections_of(thread);
        let open = Rc::new(Cell::new(0));
        Self {
            first: share.start,
            connections: share.len(),
            slots: Slots::new(share.len() * prepared.slots_per_connection()),
            budget: Budget::new(shared.pool.clone()),
            open_loop,
            recorder: RefCell::new(Recorder::new(shared.clone(), reporter, open.clone())),
            heads: RefCell::new(HeadCache::new(
                &prepared.plan.request.method,
                prepared.speaks_http10(),
            )),
            buffer: RefCell::new(vec![0; RECEIVE_BUFFER].into_boxed_slice()),
            pacer: Semaphore::new(outstanding_connects(prepared.threads)),
            open,
            fins_missed: Cell::new(0),
            timeout: nanos(prepared.plan.timeout),
            yielding: Cell::new(0),
            window: Cell::new(None),
            window_over: Cell::new(false),
            busy: Cell::new(share.len()),
            broken: Cell::new(false),
            rest: Notify::new(),
            shared,
        }
    }

    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// The window, once the load may begin.
    #[inline]
    pub(super) fn window(&self) -> Option<Window> {
        self.window.get()
    }

    /// What happens at `now` counts.
    #[inline]
    pub(super) fn is_measured(&self, now: Nanos) -> bool {
        self.window().is_some_and(|window| now >= window.start)
    }

    /// True when a connection that has taken answers is to let others take theirs
    /// first. Answers do not lie there meanwhile, and the server is woken once for
    /// all the requests that follow. These begin only then, so that no latency
    /// holds the wait; at a rate they have begun already.
    #[inline]
    pub(super) fn yields(&self) -> bool {
        let yielding = self.yielding.get();
        let yields = self.open_loop.is_none() && self.connections > 1 && yielding < MOST_YIELDING;
        self.yielding.set(yielding + usize::from(yields));
        yields
    }

    /// One that was to let others come first goes on.
    #[inline]
    pub(super) fn has_yielded(&self) {
        self.yielding.set(self.yielding.get() - 1);
    }

    /// The request of a run over HTTP/2.
    #[inline]
    pub(super) fn request(&self) -> &Request {
        self.shared.prepared.http2.as_ref().expect("it was made with the plan")
    }

    /// Lets all slots begin.
    pub(super) fn begin(&self, window: Window) {
        self.window.set(Some(window));
        self.recorder.borrow_mut().begin(window, self.now());
        if let Some(open_loop) = &self.open_loop {
            open_loop.begin(self.shared.claim(window));
        }
        self.busy.set(self.connections);
        self.slots.wake_all();
    }

    /// A slot has nothing more to do in this stage.
    pub(super) fn rests(&self) {
        self.busy.set(self.busy.get() - 1);
        if self.all_rest() {
            self.rest.notify_one();
        }
    }

    pub(super) fn all_rest(&self) -> bool {
        self.busy.get() == 0
    }

    /// Resolves when the last slot rests.
    pub(super) async fn rested(&self) {
        self.rest.notified().await;
        assert!(!self.broken.get(), "a connection's task panicked");
    }

    /// Makes the thread end in a panic, too: the runtime keeps those of its
    /// tasks to itself.
    pub(super) fn slot_panicked(&self) {
        self.broken.set(true);
        self.rest.notify_one();
    }

    /// Gives free slots the requests of an open loop that are due at `now`.
    #[inline]
    pub(super) fn dispatch(&self, now: Nanos) {
        if let Some(open_loop) = &self.open_loop {
            open_loop.dispatch(now, &self.slots, &self.recorder);
        }
    }

    /// Resolves when a request of an open loop may be due.
    pub(super) async fn due(&self) {
        match &self.open_loop {
            Some(open_loop) => open_loop.due().await,
            None => pending().await,
        }
    }

    /// Everything that depends on time alone. True when the stage is over
    /// whatever the slots are doing.
    pub(super) fn tick(&self) -> bool {
        if self.shared.must_stop() {
            return true;
        }
        let now = self.now();
        self.slots.sweep(now);
        self.recorder.borrow_mut().advance(now);
        if let Some(open_loop) = &self.open_loop {
            open_loop.dispatch(now, &self.slots, &self.recorder);
            open_loop.settle(now, &mut self.recorder.borrow_mut());
        }
        let Some(window) = self.window.get() else { return false };
        if now >= window.end && !self.window_over.replace(true) {
            // Slots that wait for something else than an answer must notice.
            self.slots.wake_all();
        }
        now >= window.grace_end
    }

    /// Counts what is in flight as aborted and closes the books.
    pub(super) fn finish(&self) -> ThreadEnd {
        let stopped = self.shared.must_stop();
        let mut recorder = self.recorder.borrow_mut();
        if let Some(open_loop) = &self.open_loop {
            open_loop.close(self.now(), &mut recorder);
        }
        let aborted = self.slots.in_flight(Flight::Measured);
        recorder.abort(aborted, self.slots.in_flight(Flight::Warmup));
        recorder.finish(self.now(), stopped)
    }
}
