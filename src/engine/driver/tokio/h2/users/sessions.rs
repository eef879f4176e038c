//! The sessions of one connection slot: opened for those who wait, lost, left to
//! drain.

use super::super::super::connect::Stage;
use super::super::failure::{Progress, of_end, of_stream};
use super::super::session::{Session, open};
use super::super::stream::Stream;
use super::{Opening, Users};
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::driver::pace::back_off;
use benchd_model::Outcome;
use std::cell::Cell;
use std::rc::Rc;
use std::task::Context;

impl Users {
    /// Opens the connection ahead of time. A failure says nothing yet: the
    /// first attempts will meet it again and count it.
    pub(in crate::driver::tokio::h2) async fn preconnect(&mut self) {
        let local = self.local.clone();
        let Ok(permit) = local.pacer.acquire().await else { return };
        if local.shared.gauge.is_unresponsive() {
            return;
        }
        match self.open().session.await {
            Ok(mut session) => {
                session.ahead = true;
                self.session = Some(session);
                self.signal.mark_connection();
            }
            Err(_) if local.slots.passed(self.slot) => local.shared.gauge.missed(),
            Err(_) => {}
        }
        local.slots.disarm(self.slot);
        drop(permit);
    }

    fn open(&mut self) -> Opening {
        let local = self.local.clone();
        let route = local.shared.prepared.route(local.first + self.index + self.opened);
        self.endpoint = route.endpoint;
        self.opened += 1;
        local.slots.arm(self.slot, local.now() + local.timeout);
        let stage = Rc::new(Cell::new(Stage::Connecting));
        let session = Box::pin(open(local, self.slot, route, self.opened, stage.clone()));
        Opening { session, stage }
    }

    pub(super) fn connect(&mut self) {
        if self.opening.is_none() && !self.backing_off {
            self.opening = Some(self.open());
            // It is polled by the next turn.
            self.signal.mark_connection();
        }
    }

    pub(super) fn end_pause(&mut self, now: Nanos) {
        let over = self.local.window().is_some_and(|window| now >= window.end);
        if over || self.local.slots.passed(self.slot) {
            self.backing_off = false;
        }
    }

    pub(super) fn take_opened(&mut self, opened: Result<Session, Failure>, late: bool) {
        match opened {
            Ok(session) => {
                self.refusals = 0;
                self.session = Some(session);
                self.signal.mark_connection();
            }
            // Those it was begun for have timed out before it; for those who came
            // later there is another try.
            Err(_) if late => {}
            Err(failure) => self.fail_waiting(&failure),
        }
    }

    /// There is no connection for those who wait for one.
    fn fail_waiting(&mut self, failure: &Failure) {
        let now = self.local.now();
        let mut measured = false;
        while let Some(user) = self.waiting.pop_front() {
            measured |= self.users[user].measured;
            self.users[user].endpoint = self.endpoint;
            self.fail(user, failure, now);
        }
        // Whoever is to begin now may have been passed already.
        self.signal.mark_connection();
        if failure.no_room && measured && self.local.open.get() as usize > self.draining.len() {
            // Others are in, and there is no room for these.
            self.exhausted = true;
        } else if self.local.open_loop.is_some() {
            // The schedule sets the pace, whatever the answers are.
        } else if matches!(failure.outcome, Outcome::Connect | Outcome::Local) {
            let pause = back_off(self.refusals, self.local.connections);
            self.refusals += 1;
            self.backing_off = true;
            self.local.slots.arm(self.slot, now + pause);
        }
    }

    pub(super) fn poll_sessions(&mut self) {
        let mut context = Context::from_waker(&self.waker);
        if let Some(session) = &mut self.session
            && session.poll(&mut context).is_ready()
            && let Some(session) = self.session.take()
        {
            self.take_lost(&session);
        }
        let mut context = Context::from_waker(&self.waker);
        let is_over = |session: &mut Session| session.poll(&mut context).is_ready();
        let ended: Vec<_> = self.draining.extract_if(.., is_over).collect();
        for session in ended {
            self.wake_streams(&session);
        }
    }

    /// The session that requests go out on is over.
    fn take_lost(&mut self, session: &Session) {
        if !session.carried && !session.ahead {
            let progress = Progress { sent: 0, begun: false, reused: false };
            self.fail_waiting(&of_end(&session.seen, progress));
        } else if session.streams == 0 {
            let now = self.local.now();
            let measured = self.local.window().is_some_and(|window| now >= window.start);
            self.local.recorder.borrow_mut().idle_closed(measured);
        }
        self.wake_streams(session);
    }

    /// The session takes no more requests: because of GOAWAY, or because its
    /// stream numbers are used up. One that never took any is a failure of
    /// those it was opened for.
    pub(super) fn part(&mut self, error: &h2::Error) {
        let Some(session) = self.session.take() else { return };
        if !session.carried && !session.ahead {
            let progress = Progress { sent: 0, begun: false, reused: false };
            let failure = of_stream(error, &session.seen, progress);
            self.fail_waiting(&failure);
        }
        self.draining.push(session);
    }

    /// No more streams on the session that there is.
    pub(super) fn retire(&mut self) {
        self.draining.extend(self.session.take());
    }

    pub(super) fn session_of(&mut self, stream: &Stream) -> Option<&mut Session> {
        let sessions = self.session.iter_mut().chain(&mut self.draining);
        sessions.into_iter().find(|session| session.number == stream.session)
    }

    /// One stream fewer on its session.
    pub(super) fn release(&mut self, stream: &Stream) {
        if let Some(session) = self.session_of(stream) {
            session.streams -= 1;
        }
    }

    /// The streams of a session that is over have all failed, and will say why.
    fn wake_streams(&self, session: &Session) {
        for (index, user) in self.users.iter().enumerate() {
            if user.stream.as_ref().is_some_and(|stream| stream.session == session.number) {
                self.signal.mark_stream(index);
            }
        }
    }
}
