//! The users of one connection slot: each makes one attempt after the other, all
//! of them on one HTTP/2 connection. When the server gives that connection up, the
//! attempts it has taken are ended on it while the next ones go out on a new one.

mod open_loop;
mod sessions;
mod time_limits;

use super::super::connect::Stage;
use super::super::local::Local;
use super::session::Session;
use super::signal::Signal;
use super::stream::Stream;
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::driver::talk;
use crate::http1::Completed;
use crate::record::Exchange;
use benchd_model::Outcome;
use benchd_model::recording::FirstResponse;
use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Looks at the signal in a row before other tasks get their turn.
const MOST_TURNS: usize = 32;

/// So many more requests than there are users may wait for a socket that takes
/// nothing, since a server may answer what it has not read.
const AHEAD: usize = 100;

/// A connection that is being opened.
struct Opening {
    session: Pin<Box<dyn Future<Output = Result<Session, Failure>>>>,
    stage: Rc<Cell<Stage>>,
}

/// The users of one connection slot.
pub(super) struct Users {
    local: Rc<Local>,
    /// The connection among those of the thread.
    index: usize,
    /// Its own slot; those of its users follow.
    slot: usize,
    signal: Arc<Signal>,
    waker: Waker,
    users: Vec<User>,
    /// Users without an attempt.
    idle: Vec<usize>,
    /// Users whose attempt waits for a connection or for a free stream.
    waiting: VecDeque<usize>,
    session: Option<Session>,
    /// Sessions that end the streams they have and get no more.
    draining: Vec<Session>,
    opening: Option<Opening>,
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
    waker: Waker,
    /// The number of the endpoint that it is meant for.
    endpoint: u32,
    start: Nanos,
    deadline: Nanos,
    measured: bool,
    stream: Option<Stream>,
}

impl Users {
    /// The users of connection `index` of the thread, whose task is `task`.
    pub(super) fn new(local: Rc<Local>, index: usize, task: &Waker) -> Self {
        let stride = local.shared.prepared.slots_per_connection();
        let (slot, streams) = (index * stride, stride - 1);
        let signal = Signal::new(task, streams);
        let timer = signal.timer_waker();
        // Every turn looks at what concerns the connection itself.
        local.slots.enter(slot, &Context::from_waker(task));
        for slot in slot + 1..slot + stride {
            local.slots.enter(slot, &Context::from_waker(&timer));
        }
        let user = |stream| User {
            waker: signal.stream_waker(stream),
            endpoint: 0,
            start: 0,
            deadline: 0,
            measured: false,
            stream: None,
        };
        Self {
            index,
            slot,
            users: (0..streams).map(user).collect(),
            idle: (0..streams).rev().collect(),
            waiting: VecDeque::new(),
            session: None,
            draining: Vec::new(),
            opening: None,
            endpoint: 0,
            opened: 0,
            refusals: 0,
            backing_off: false,
            exhausted: false,
            free: None,
            told_limit: streams,
            most_streams: 0,
            waker: signal.connection_waker(),
            signal,
            local,
        }
    }

    /// Does what there is to do. Ready when no attempt is left to make and none
    /// is in flight.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.signal.look(true);
        let mut polled = Poll::Pending;
        for turn in 0.. {
            if turn == MOST_TURNS {
                context.waker().wake_by_ref();
                break;
            }
            self.turn(context);
            if self.exhausted && self.idle.len() == self.users.len() {
                polled = Poll::Ready(());
                break;
            }
            if !self.signal.is_set() {
                break;
            }
        }
        self.signal.look(false);
        polled
    }

    fn turn(&mut self, context: &mut Context<'_>) {
        if self.signal.take_timer() {
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
        if self.signal.take_connection() {
            self.poll_sessions();
        }
        for word in 0..self.signal.words() {
            while let Some(user) = self.signal.take_stream(word) {
                self.poll_stream(user);
            }
        }
        self.draining.retain(|session| session.streams > 0);
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
    }

    fn slot_of(&self, user: usize) -> usize {
        self.slot + 1 + user
    }

    #[inline]
    fn poll_stream(&mut self, index: usize) {
        let user = &mut self.users[index];
        let Some(stream) = &mut user.stream else { return };
        let wants_software = self.local.recorder.borrow().wants_first_response();
        let mut context = Context::from_waker(&user.waker);
        let Poll::Ready(ended) = stream.poll(wants_software, &mut context) else { return };
        let Some(stream) = user.stream.take() else { return };
        self.release(&stream);
        match ended {
            Ok(completed) => self.settle(index, stream, completed),
            Err(failure) => self.fail(index, &failure, self.local.now()),
        }
    }

    /// Records a complete response, unless it came too late.
    #[inline]
    fn settle(&mut self, index: usize, stream: Stream, completed: Completed) {
        let user = &self.users[index];
        let done = stream.seen.read_at.get();
        if done > user.deadline {
            let lack = "response not complete";
            let failure = Failure::too_slow(&self.local.shared, Outcome::Timeout, lack);
            return self.fail(index, &failure, done);
        }
        let exchange = Exchange {
            endpoint: user.endpoint,
            start: user.start,
            sent: stream.sent,
            first_byte: stream.first_byte,
            done,
            completed,
            reused: stream.reused,
            kept: self.session.as_ref().is_some_and(|s| s.number == stream.session),
        };
        let mut recorder = self.local.recorder.borrow_mut();
        talk::settle(user.measured, &exchange, &mut recorder, || FirstResponse {
            software: stream.software,
            document_bytes: completed.body,
            tls: stream.seen.tls.borrow().clone(),
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
        let limit = session.limit;
        let room = limit.max(1).saturating_sub(session.streams + self.waiting.len());
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
        while !self.waiting.is_empty() {
            let Some(session) = &mut self.session else { return self.connect() };
            match session.sender.poll_ready(&mut Context::from_waker(&self.waker)) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) if session.streams >= session.limit => break,
                Poll::Ready(Ok(())) if session.seen.unwritten() > self.users.len() + AHEAD => {
                    self.retire();
                }
                Poll::Ready(Ok(())) => {
                    if let Err(error) = self.send_first(now) {
                        self.part(&error);
                    }
                }
                Poll::Ready(Err(error)) => self.part(&error),
            }
        }
        self.count_streams();
    }

    /// Sends what has waited longest on a session that takes one more request;
    /// to know of the next, the crate must be asked again.
    #[inline]
    fn send_first(&mut self, now: Nanos) -> Result<(), h2::Error> {
        let local = self.local.clone();
        let Some(request) = &local.shared.prepared.http2 else { return Ok(()) };
        if let Some(&index) = self.waiting.front()
            && let Some(session) = &mut self.session
        {
            let stream = Stream::open(session, request, now)?;
            self.waiting.pop_front();
            let user = &mut self.users[index];
            (user.endpoint, user.stream) = (session.endpoint, Some(stream));
            if local.open_loop.is_some() {
                local.recorder.borrow_mut().sent_late(user.measured, user.start, now);
            }
            self.signal.mark_connection();
            if !request.body.is_empty() {
                self.signal.mark_stream(index);
            }
            // A waker is left with the stream on its first poll.
            self.poll_stream(index);
        }
        Ok(())
    }

    fn count_streams(&mut self) {
        let streams = self.session.as_ref().map_or(0, |session| session.streams);
        if streams > self.most_streams {
            self.most_streams = streams;
            self.local.shared.gauge.streams(u32::try_from(streams).unwrap_or(u32::MAX));
        }
    }
}
