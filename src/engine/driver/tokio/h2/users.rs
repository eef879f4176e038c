//! The users of one connection slot: each makes one attempt after the other, all
//! of them on one HTTP/2 connection. When the server gives that connection up, the
//! attempts it has taken are ended on it while the next ones go out on a new one.

mod open_loop;
mod sessions;
mod time_limits;

use super::super::connect::Stage;
use super::super::local::Local;
use super::failure::of_loss;
use super::session::{Flight, Session};
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::driver::talk::{self, shortened};
use crate::http1::Completed;
use crate::http2::Event;
use crate::record::Exchange;
use benchd_model::Outcome;
use benchd_model::recording::FirstResponse;
use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Turns in a row before other tasks get theirs.
const MOST_TURNS: usize = 32;

/// So many more requests than there are users may wait for a socket that takes
/// nothing, since a server may answer what it has not read.
const AHEAD: usize = 100;

/// A connection that is being opened.
struct Opening {
    session: Pin<Box<dyn Future<Output = Result<Box<Session>, Failure>>>>,
    stage: Rc<Cell<Stage>>,
}

/// The users of one connection slot.
pub(super) struct Users {
    local: Rc<Local>,
    /// The connection among those of the thread.
    index: usize,
    /// Its own slot; those of its users follow.
    slot: usize,
    users: Vec<User>,
    /// Users without an attempt.
    idle: Vec<usize>,
    /// Users whose attempt waits for a connection or for a free stream.
    waiting: VecDeque<usize>,
    session: Option<Box<Session>>,
    /// Sessions that end the streams they have and get no more.
    draining: Vec<Session>,
    opening: Option<Opening>,
    /// There is more to do than anybody will tell of.
    again: bool,
    /// Answers were taken; what follows them waits for other connections to have
    /// taken theirs.
    yielded: bool,
    /// Deadlines that had passed when they were last looked at.
    passed: u64,
    /// The number of the endpoint that was connected to last.
    endpoint: u32,
    /// Sessions opened so far: the next route to take.
    opened: usize,
    /// Attempts in a row to connect that were refused.
    refusals: u32,
    backing_off: bool,
    /// There is no attempt left to make.
    exhausted: bool,
    /// In an open loop: since when there is room for one more attempt.
    free: Option<Nanos>,
    /// The limit on streams that the result tells of.
    told_limit: usize,
    /// Most streams in flight on one session.
    most_streams: usize,
}

/// One user and its attempt.
struct User {
    /// The number of the endpoint that it is meant for.
    endpoint: u32,
    start: Nanos,
    deadline: Nanos,
    measured: bool,
    flight: Option<Flight>,
}

impl Users {
    /// The users of connection `index` of the thread, whose task has this context.
    pub(super) fn new(local: Rc<Local>, index: usize, context: &Context<'_>) -> Self {
        let stride = local.shared.prepared.slots_per_connection();
        let (slot, streams) = (index * stride, stride - 1);
        for slot in slot..slot + stride {
            local.slots.enter(slot, context);
        }
        let user = |_| User { endpoint: 0, start: 0, deadline: 0, measured: false, flight: None };
        Self {
            index,
            slot,
            users: (0..streams).map(user).collect(),
            idle: (0..streams).rev().collect(),
            waiting: VecDeque::new(),
            session: None,
            draining: Vec::new(),
            opening: None,
            again: false,
            yielded: false,
            passed: 0,
            endpoint: 0,
            opened: 0,
            refusals: 0,
            backing_off: false,
            exhausted: false,
            free: None,
            told_limit: streams,
            most_streams: 0,
            local,
        }
    }

    /// Does what there is to do. Ready when no attempt is left to make and none
    /// is in flight.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MOST_TURNS {
            if !std::mem::take(&mut self.yielded) {
                self.again = false;
                let idle = self.idle.len();
                self.take_what_came(context);
                if self.idle.len() > idle && self.local.yields() {
                    self.yielded = true;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            } else {
                self.local.has_yielded();
            }
            self.go_on(context);
            if self.exhausted && self.idle.len() == self.users.len() {
                return Poll::Ready(());
            }
            if !self.again {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn take_what_came(&mut self, context: &mut Context<'_>) {
        let passed = self.local.slots.passings();
        if std::mem::replace(&mut self.passed, passed) != passed {
            self.look_at_time();
        }
        if let Some(opening) = &mut self.opening
            && let Poll::Ready(opened) = opening.session.as_mut().poll(context)
        {
            self.opening = None;
            let late = self.local.slots.passed(self.slot);
            self.local.slots.disarm(self.slot);
            self.take_opened(opened, late);
        }
        self.read_sessions(context);
    }

    fn go_on(&mut self, context: &mut Context<'_>) {
        let now = self.local.now();
        if self.backing_off {
            self.end_pause(now);
        }
        if self.local.open_loop.is_some() {
            self.begin_due(now);
        } else {
            self.begin_attempts(now);
        }
        self.send_waiting(now);
        self.write_sessions(now, context);
    }

    fn slot_of(&self, user: usize) -> usize {
        self.slot + 1 + user
    }

    /// Something has happened to a user's request on `session`, which takes
    /// further ones if it is `kept`.
    #[inline]
    fn take_event(&mut self, event: Event, session: &Session, kept: bool) {
        match event {
            Event::Begun { user } => self.mark_first_byte(user, session.read_at()),
            Event::Complete { user, status, body } => {
                let completed = Completed { status, body, keep: true, excess: false };
                self.mark_first_byte(user, session.read_at());
                self.settle(user, completed, session, kept);
            }
            Event::Lost { user, loss } => {
                let progress = self.users[user].flight.take().map(|flight| flight.progress());
                let failure = of_loss(loss, progress.unwrap_or_default());
                self.fail(user, &failure, session.read_at());
            }
        }
    }

    #[inline]
    fn mark_first_byte(&mut self, user: usize, now: Nanos) {
        if let Some(flight) = &mut self.users[user].flight
            && flight.first_byte == 0
        {
            flight.first_byte = now;
        }
    }

    /// Records a complete response, unless it came too late.
    #[inline]
    fn settle(&mut self, index: usize, completed: Completed, session: &Session, kept: bool) {
        let user = &mut self.users[index];
        let Some(flight) = user.flight.take() else { return };
        let done = session.read_at();
        if done > user.deadline {
            let lack = "response not complete";
            let failure = Failure::too_slow(&self.local.shared, Outcome::Timeout, lack);
            return self.fail(index, &failure, done);
        }
        let exchange = Exchange {
            endpoint: user.endpoint,
            start: user.start,
            sent: flight.sent,
            first_byte: flight.first_byte,
            done,
            completed,
            reused: flight.reused,
            kept,
        };
        let mut recorder = self.local.recorder.borrow_mut();
        talk::settle(user.measured, &exchange, &mut recorder, || FirstResponse {
            software: session
                .http2
                .software()
                .map(|name| shortened(&String::from_utf8_lossy(name))),
            document_bytes: completed.body,
            tls: session.describe_tls(),
        });
        drop(recorder);
        self.rest(index, done);
    }

    fn fail(&mut self, index: usize, failure: &Failure, now: Nanos) {
        let user = &self.users[index];
        let mut recorder = self.local.recorder.borrow_mut();
        if user.measured {
            let (outcome, reason) = (failure.outcome, &*failure.reason);
            recorder.failed(user.endpoint, outcome, reason, user.start, now);
        } else {
            recorder.warmed_up(failure.outcome, now);
        }
        drop(recorder);
        self.rest(index, now);
    }

    fn rest(&mut self, index: usize, now: Nanos) {
        self.local.slots.land(self.slot_of(index));
        self.idle.push(index);
        self.free.get_or_insert(now);
    }

    /// Begins as many attempts as there are users for them and streams.
    #[inline]
    fn begin_attempts(&mut self, now: Nanos) {
        let Some(window) = self.local.window() else { return };
        self.exhausted |= now >= window.end;
        while !self.exhausted && !self.backing_off && self.room() > 0 {
            let measured = now >= window.start;
            if measured && !self.local.budget.take() {
                self.exhausted = true;
                return;
            }
            self.local.recorder.borrow_mut().begins(now);
            self.begin(now, measured);
        }
    }

    /// Begins an attempt that counts from `start`; there is room for it.
    #[inline]
    fn begin(&mut self, start: Nanos, measured: bool) {
        let index = self.idle.pop().expect("there is no more room than users for it");
        let deadline = start.saturating_add(self.local.timeout);
        self.local.slots.take_off(self.slot_of(index), measured, deadline);
        let user = &mut self.users[index];
        (user.start, user.deadline, user.measured) = (start, deadline, measured);
        user.endpoint = self.endpoint;
        self.waiting.push_back(index);
    }

    /// So many more attempts would not have to wait for a stream. Where the server
    /// allows none at all, one attempt waits, and tells.
    #[inline]
    fn room(&mut self) -> usize {
        let idle = self.idle.len();
        let Some(session) = &self.session else { return idle };
        let limit = session.http2.most_streams();
        let room = limit.max(1).saturating_sub(session.http2.streams() + self.waiting.len());
        if room == 0 && limit < self.told_limit && idle > 0 {
            self.tell_limit(limit);
        }
        room.min(idle)
    }

    #[cold]
    fn tell_limit(&mut self, limit: usize) {
        self.told_limit = limit;
        let streams = self.users.len();
        self.local.recorder.borrow_mut().note(format!(
            "the server allows at most {limit} concurrent streams on a connection \
             (SETTINGS_MAX_CONCURRENT_STREAMS): no more of the {streams} asked for were used"
        ));
    }

    /// Sends what waits, as far as there is a connection with a free stream.
    #[inline]
    fn send_waiting(&mut self, now: Nanos) {
        while let Some(&index) = self.waiting.front() {
            let Some(session) = &mut self.session else { return self.connect() };
            if !session.http2.is_open() {
                self.part();
            } else if session.http2.streams() >= session.http2.most_streams() {
                break;
            } else if session.unwritten() > self.users.len() + AHEAD {
                self.retire();
            } else {
                let user = &mut self.users[index];
                user.endpoint = session.endpoint;
                user.flight = Some(session.send(self.local.request(), index, now));
                if self.local.open_loop.is_some() {
                    let mut recorder = self.local.recorder.borrow_mut();
                    recorder.sent_late(user.measured, user.start, now);
                }
                self.waiting.pop_front();
            }
        }
        self.count_streams();
    }

    fn count_streams(&mut self) {
        let streams = self.session.as_ref().map_or(0, |session| session.http2.streams());
        if streams > self.most_streams {
            self.most_streams = streams;
            self.local.shared.gauge.streams(u32::try_from(streams).unwrap_or(u32::MAX));
        }
    }
}
