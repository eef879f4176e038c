//! One closed-loop user: a connection, and one attempt after the other on it.

use super::connect::{Connection, Stage, connect};
use super::exchange;
use super::local::Local;
use super::transport::Idle;
use crate::clock::Nanos;
use crate::driver::failure::{Failure, UNASKED};
use crate::driver::pace::{FIN_PATIENCE, FINS_TO_MISS, back_off};
use crate::driver::talk::Talk;
use crate::record::Exchange;
use crate::schedule::Turn;
use benchd_model::Outcome;
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;

/// One user of the closed loop.
#[derive(Debug)]
pub(super) struct Slot {
    local: Rc<Local>,
    index: usize,
    connection: Option<Connection>,
    talk: Talk,
    /// Connections opened so far: the next route to take.
    opened: usize,
    /// Attempts in a row that found no connection.
    refusals: u32,
    due: Due,
}

/// The request that a slot of an open loop has been given.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    intended: Nanos,
    /// The slot was free since then.
    free: Nanos,
}

/// The whole life of slot `index`.
pub(super) async fn run(local: Rc<Local>, index: usize) {
    poll_fn(|context| {
        local.slots.enter(index, context);
        Poll::Ready(())
    })
    .await;
    let mut slot = Slot {
        local: local.clone(),
        index,
        connection: None,
        talk: Talk::default(),
        opened: 0,
        refusals: 0,
        due: Due::default(),
    };
    let _alarm = Alarm(local.clone());
    let plan = &local.shared.prepared.plan;
    if plan.preconnect && plan.keepalive {
        slot.preconnect().await;
    }
    local.rests();
    slot.wait_for_window().await;
    slot.load().await;
    local.rests();
    // The connection stays open until the run is over for everybody.
    pending::<()>().await;
}

/// Tells the thread when a connection's task panics.
pub(super) struct Alarm(pub(super) Rc<Local>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.slot_panicked();
        }
    }
}

impl Slot {
    /// Opens the connection ahead of time. A failure says nothing yet: the
    /// first attempt will meet it again and count it.
    async fn preconnect(&mut self) {
        let local = self.local.clone();
        let Ok(permit) = local.pacer.acquire().await else { return };
        if local.shared.gauge.is_unresponsive() {
            return;
        }
        local.slots.arm(self.index, local.now() + local.timeout);
        if self.open().await.is_err() && local.slots.passed(self.index) {
            local.shared.gauge.missed();
        }
        local.slots.disarm(self.index);
        drop(permit);
    }

    async fn wait_for_window(&self) {
        poll_fn(|_| if self.local.window().is_some() { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }

    /// Attempt after attempt, until there are none left to make.
    async fn load(&mut self) {
        let mut now = self.local.now();
        loop {
            if self.local.open_loop.is_some() {
                let Some(begun) = self.wait_for_turn(now).await else { return };
                now = begun;
            }
            if self.connection.is_some() {
                poll_fn(|context| {
                    self.drop_if_closed(context, now);
                    Poll::Ready(())
                })
                .await;
            }
            if self.connection.is_none() {
                let Some(opened) = self.begin_connected().await else { return };
                if let Err(failure) = opened {
                    if self.give_up_on(failure).await {
                        return;
                    }
                    now = self.local.now();
                    continue;
                }
            } else if self.begin(now) {
                self.goes_out();
            } else {
                return;
            }
            let Some(connection) = &mut self.connection else { continue };
            let (local, talk) = (&*self.local, &mut self.talk);
            let exchanged =
                poll_fn(|context| exchange::poll(local, self.index, talk, connection, context));
            match exchanged.await {
                Ok(exchange) => {
                    now = exchange.done;
                    self.settle(&exchange);
                    if !exchange.kept {
                        self.part(exchange.completed.excess).await;
                        now = self.local.now();
                    }
                }
                Err(failure) => {
                    now = self.local.now();
                    self.fail(&failure, now);
                }
            }
        }
    }

    /// Waits, free since `free`, for the next request of an open loop; the time
    /// when it is to begin. None when there are no more.
    async fn wait_for_turn(&mut self, free: Nanos) -> Option<Nanos> {
        let local = self.local.clone();
        let open_loop = local.open_loop.as_ref()?;
        local.slots.disarm(self.index);
        local.dispatch(free);
        let mut turn = open_loop.offer(self.index, 1, free, &mut local.recorder.borrow_mut());
        let turn = poll_fn(|_| match turn.take().or_else(|| open_loop.given(self.index)) {
            Some(turn) => Poll::Ready(turn),
            None => Poll::Pending,
        });
        let Turn::Begin(intended) = turn.await else { return None };
        self.due = Due { intended, free };
        Some(local.now())
    }

    /// Begins an attempt that needs a connection first. None when there is no
    /// attempt left to make.
    async fn begin_connected(&mut self) -> Option<Result<(), Failure>> {
        if !self.begin(self.local.now()) {
            return None;
        }
        let opened = self.open().await;
        if opened.is_ok() {
            self.talk.attempt.sent = self.local.now();
            self.goes_out();
        }
        Some(opened)
    }

    async fn open(&mut self) -> Result<(), Failure> {
        let number = self.local.first + self.index + self.opened;
        let route = self.local.shared.prepared.route(number);
        self.opened += 1;
        self.talk.endpoint = route.endpoint;
        let stage = Cell::new(Stage::Connecting);
        self.connection = Some(connect(&self.local, self.index, route, &stage).await?);
        self.talk.used = false;
        self.refusals = 0;
        Ok(())
    }

    /// Takes the next attempt, if there is one. In an open loop it has been given
    /// already.
    #[inline]
    fn begin(&mut self, now: Nanos) -> bool {
        let local = &*self.local;
        let Some(window) = local.window() else { return false };
        let start = if local.open_loop.is_some() { self.due.intended } else { now };
        let measured = start >= window.start;
        let deadline = start.saturating_add(local.timeout);
        if local.open_loop.is_some() {
            let Due { intended, free } = self.due;
            local.recorder.borrow_mut().begun(measured, intended, free, now);
        } else if now >= window.end || (measured && !local.budget.take()) {
            return false;
        } else {
            local.recorder.borrow_mut().begins(now);
        }
        self.talk.begin(start, now, deadline, measured);
        local.slots.take_off(self.index, measured, deadline);
        true
    }

    /// Records when the request of an open loop goes out.
    #[inline]
    fn goes_out(&mut self) {
        if self.local.open_loop.is_some() {
            self.talk.goes_out(&mut self.local.recorder.borrow_mut());
        }
    }

    /// Drops a kept connection that the server has given up meanwhile.
    #[inline]
    fn drop_if_closed(&mut self, context: &mut std::task::Context<'_>, now: Nanos) {
        let Some(connection) = &mut self.connection else { return };
        let idle = connection.transport.look(context);
        // What a server says unasked on a new connection, the exchange will
        // read and judge: a greeting tells which protocol it speaks.
        if idle == Idle::Quiet || (idle == Idle::Bytes && !self.talk.used) {
            return;
        }
        self.connection = None;
        let mut recorder = self.local.recorder.borrow_mut();
        if idle == Idle::Bytes {
            recorder.note(UNASKED.to_owned());
        }
        recorder.idle_closed(self.local.window().is_some_and(|window| now >= window.start));
    }

    /// Records a complete exchange.
    #[inline]
    fn settle(&mut self, exchange: &Exchange) {
        let local = &*self.local;
        local.slots.land(self.index);
        let (mut recorder, heads) = (local.recorder.borrow_mut(), local.heads.borrow());
        self.talk.settle(exchange, &mut recorder, &heads, || {
            self.connection.as_ref().and_then(|connection| connection.transport.describe_tls())
        });
    }

    /// Records a failed attempt and closes its connection.
    fn fail(&mut self, failure: &Failure, now: Nanos) {
        self.local.slots.land(self.index);
        self.talk.fail(failure, &mut self.local.recorder.borrow_mut(), now);
        self.connection = None;
    }

    /// Records an attempt that found no connection and waits a while. True
    /// when this user stands down: others are in, and there is no room for it.
    async fn give_up_on(&mut self, failure: Failure) -> bool {
        let local = self.local.clone();
        self.fail(&failure, local.now());
        if failure.no_room && self.talk.attempt.measured && local.open.get() > 0 {
            return true;
        }
        // In an open loop the schedule sets the pace, whatever the answers are.
        let paced = local.open_loop.is_some();
        if paced {
            // Without a pause, failures that cost no time would let nobody else in.
            tokio::task::yield_now().await;
        } else if matches!(failure.outcome, Outcome::Connect | Outcome::Local) {
            self.back_off().await;
        }
        false
    }

    /// Waits longer after each refusal.
    async fn back_off(&mut self) {
        let local = self.local.clone();
        let pause = back_off(self.refusals, local.connections);
        self.refusals += 1;
        local.slots.arm(self.index, local.now() + pause);
        poll_fn(|_| {
            let over = local.window().is_some_and(|window| local.now() >= window.end);
            if over || local.slots.passed(self.index) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Closes after the server has, so that TIME_WAIT stays on its side and
    /// does not use our ports up. A server that does not close is not awaited
    /// for long.
    async fn part(&mut self, excess: bool) {
        let Some(mut connection) = self.connection.take() else { return };
        let local = self.local.clone();
        let lingers = !local.shared.prepared.endpoint(self.talk.endpoint).is_unix();
        if excess || self.talk.attempt.closed || !lingers || local.fins_missed.get() >= FINS_TO_MISS
        {
            return;
        }
        local.slots.arm(self.index, local.now() + FIN_PATIENCE);
        poll_fn(|context| {
            if local.slots.passed(self.index) {
                local.fins_missed.set(local.fins_missed.get() + 1);
                return Poll::Ready(());
            }
            match connection.transport.poll_read(context, &mut local.buffer.borrow_mut()) {
                Poll::Ready(Ok(1..)) => {
                    local.recorder.borrow_mut().note(UNASKED.to_owned());
                    Poll::Ready(())
                }
                Poll::Ready(_) => {
                    local.fins_missed.set(0);
                    Poll::Ready(())
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        local.slots.disarm(self.index);
    }
}
