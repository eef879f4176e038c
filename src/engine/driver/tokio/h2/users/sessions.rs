//! The sessions of one connection slot: opened for those who wait, lost, left to
//! drain.

use super::super::super::connect::Stage;
use super::super::failure::{Progress, left_behind, of_end};
use super::super::session::{Session, open};
use super::{Opening, Users};
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::driver::pace::back_off;
use benchd_model::Outcome;
use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

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
            self.again = true;
        }
    }

    pub(super) fn end_pause(&mut self, now: Nanos) {
        let over = self.local.window().is_some_and(|window| now >= window.end);
        if over || self.local.slots.passed(self.slot) {
            self.backing_off = false;
        }
    }

    pub(super) fn take_opened(&mut self, opened: Result<Box<Session>, Failure>, late: bool) {
        match opened {
            Ok(session) => {
                self.refusals = 0;
                self.session = Some(session);
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
        self.again = true;
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

    /// Reads from all sessions, and parts with those that are over.
    #[inline]
    pub(super) fn read_sessions(&mut self, context: &mut Context<'_>) {
        if let Some(mut session) = self.session.take() {
            match self.read(&mut session, true, context) {
                Poll::Pending => self.session = Some(session),
                Poll::Ready(streams) => self.take_lost(&session, streams),
            }
        }
        if !self.draining.is_empty() {
            let mut draining = std::mem::take(&mut self.draining);
            draining.retain_mut(|session| {
                self.read(session, false, context).is_pending() && session.http2.streams() > 0
            });
            self.draining = draining;
        }
    }

    /// Reads once, so that every response is stamped when its bytes came and
    /// answered before more are taken. Ready when the session is over, with the
    /// number of streams that it had; all have failed.
    #[inline]
    fn read(
        &mut self,
        session: &mut Session,
        current: bool,
        context: &mut Context<'_>,
    ) -> Poll<usize> {
        let local = self.local.clone();
        let mut buffer = local.buffer.borrow_mut();
        let length = ready!(session.poll_read(&local, &mut buffer, context));
        let streams = session.http2.streams();
        let mut input = &buffer[..length];
        while let Some(event) = session.http2.next(&mut input) {
            self.take_event(event, session, current && session.http2.is_open());
        }
        if length == 0 || session.http2.breach().is_some() {
            self.end(session, context);
            return Poll::Ready(streams);
        }
        self.again |= session.has_more(context);
        Poll::Pending
    }

    /// The session is over: fails the streams that it still has.
    #[cold]
    fn end(&mut self, session: &mut Session, context: &mut Context<'_>) {
        let now = self.local.now();
        while let Some(user) = session.http2.take_user() {
            let progress = self.users[user].flight.take().map(|flight| flight.progress());
            let failure = of_end(session, progress.unwrap_or_default());
            self.fail(user, &failure, now);
        }
        // A server in breach is told so, if it listens.
        session.write(&self.local, now, context);
    }

    #[inline]
    pub(super) fn write_sessions(&mut self, now: Nanos, context: &mut Context<'_>) {
        let sessions = self.session.as_deref_mut().into_iter().chain(&mut self.draining);
        for session in sessions {
            self.again |= session.write(&self.local, now, context);
        }
    }

    /// The session that requests go out on is over. It had so many streams.
    fn take_lost(&mut self, session: &Session, streams: usize) {
        if !session.carried && !session.ahead {
            self.fail_waiting(&of_end(session, Progress::default()));
        } else if streams == 0 {
            let now = self.local.now();
            let measured = self.local.is_measured(now);
            self.local.recorder.borrow_mut().idle_closed(measured);
        }
    }

    /// The session takes no more requests: because of GOAWAY, or because its
    /// stream numbers are used up. One that never took any is a failure of
    /// those it was opened for.
    pub(super) fn part(&mut self) {
        let Some(session) = self.session.take() else { return };
        if !session.carried
            && !session.ahead
            && let Some(code) = session.http2.farewell()
        {
            self.fail_waiting(&left_behind(code, false));
        }
        self.draining.push(*session);
    }

    /// No more streams on the session that there is.
    pub(super) fn retire(&mut self) {
        self.draining.extend(self.session.take().map(|session| *session));
    }
}
