//! What completions mean: for an exchange, for a connection at its end.

use super::completion::{Done, Op};
use super::connect::Look;
use super::load::Load;
use super::slot::Stage;
use crate::driver::failure::{Failure, UNASKED};
use rustix::io::Errno;
use std::os::fd::AsFd;

/// The most that one receive takes: enough for an ordinary response head, or
/// what a buffer holds.
const HEAD: u32 = 2048;
const ANY: u32 = 0;

impl Load {
    #[inline]
    pub(super) fn handle(&mut self, done: Done) {
        let index = done.token.slot as usize;
        match done.op {
            Op::Tick => self.tick_due = true,
            // An earlier connection's.
            _ if self.slots[index].generation != done.token.generation => {}
            Op::Receive | Op::Discard => self.received(index, &done),
            Op::Room => self.has_room(index),
            Op::Send | Op::SendWhole => self.sent(index, &done),
            Op::Connect => self.connected(index, &done),
        }
        if let Some(lent) = done.buffer {
            self.ring.take_back(lent);
        }
    }

    /// Sends the request of the attempt that has begun.
    #[inline]
    pub(super) fn exchange(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(socket) = &slot.socket else { return };
        slot.stage = Stage::Exchanging;
        if slot.tls.is_some() {
            return self.seal(index);
        }
        let token = slot.token(index);
        if self.small {
            // Whole unless a completion says otherwise.
            let length = self.shared.prepared.request.len();
            slot.talk.attempt.written = length;
            slot.talk.attempt.flushed = true;
            self.recorder.sent(slot.talk.attempt.measured, length);
            slot.asked = self.ring.send_whole(socket.as_fd(), token);
        } else {
            slot.sending = true;
            slot.asked = self.ring.send(socket.as_fd(), 0, token);
        }
        slot.queued = slot.asked;
        self.receive(index);
    }

    /// Receives on the connection of slot `index`, if that is not under way.
    #[inline]
    pub(super) fn receive(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(socket) = slot.socket.as_ref().filter(|_| !slot.receiving) else { return };
        slot.receiving = true;
        let (socket, token, unseen) = (socket.as_fd(), slot.token(index), slot.talk.unseen());
        slot.queued = if !self.discards || (unseen == 0 && self.bulky == Some(false)) {
            // All that the server sends, and its end, will come by themselves.
            self.ring.receive(socket, token)
        } else if unseen > 0 {
            self.ring.discard(socket, unseen, token)
        } else {
            let most = if self.bulky == Some(true) { HEAD } else { ANY };
            self.ring.receive_once(socket, most, token)
        };
    }

    /// A send has ended: in failure, or a large request's in some success.
    #[cold]
    fn sent(&mut self, index: usize, done: &Done) {
        let slot = &mut self.slots[index];
        slot.sending = false;
        let length = self.shared.prepared.request.len();
        let attempt = &mut slot.talk.attempt;
        if slot.stage != Stage::Exchanging || attempt.write_error.is_some() {
            return;
        }
        if done.op == Op::SendWhole {
            self.recorder.unsent(attempt.measured, length);
            (attempt.written, attempt.flushed) = (0, false);
        }
        match done.result {
            Ok(written) => {
                attempt.written += written;
                self.recorder.sent(attempt.measured, written);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => {
                attempt.write_error = Some(errno.into());
                self.doubtful.push(index);
                return;
            }
        }
        attempt.flushed = attempt.written >= length;
        if let Some(socket) = slot.socket.as_ref().filter(|_| !attempt.flushed) {
            let written = attempt.written;
            slot.sending = true;
            slot.queued = self.ring.send(socket.as_fd(), written, slot.token(index));
        }
    }

    /// Ends attempts whose request cannot be sent and to which nothing came:
    /// the server may have answered before it stopped listening.
    #[inline]
    pub(super) fn judge_doubtful(&mut self) {
        while let Some(index) = self.doubtful.pop() {
            let slot = &self.slots[index];
            if slot.stage != Stage::Exchanging || slot.talk.attempt.write_error.is_none() {
                continue;
            }
            let failure = match self.look(index) {
                // It will complete the receive.
                Look::End | Look::Bytes => {
                    self.receive(index);
                    continue;
                }
                Look::Nothing => match self.slots[index].talk.attempt.write_error.take() {
                    Some(error) => Failure::unsent(&error),
                    None => continue,
                },
                Look::Broken(error) => self.slots[index].talk.broken(&error),
            };
            self.failed(index, &failure);
        }
    }

    /// Bytes, the end or an error of a connection.
    #[inline]
    fn received(&mut self, index: usize, done: &Done) {
        let slot = &mut self.slots[index];
        slot.receiving = done.more;
        if slot.tls.is_some() {
            return self.received_sealed(index, done);
        }
        match self.slots[index].stage {
            Stage::Exchanging if self.is_overtaken(index, done) => {
                self.ask_anew(index, matches!(done.result, Ok(1..)));
            }
            Stage::Exchanging => self.answered(index, done),
            Stage::Parting => {
                match done.result {
                    Err(Errno::NOBUFS) => return self.receive(index),
                    Ok(1..) => self.recorder.note(UNASKED.to_owned()),
                    _ => self.fins_missed = 0,
                }
                self.parted(index);
            }
            Stage::Free(_) => match done.result {
                Err(Errno::NOBUFS) => {}
                result => self.drop_idle(index, self.now(), matches!(result, Ok(1..))),
            },
            Stage::Waiting
            | Stage::Preconnecting
            | Stage::Connecting
            | Stage::BackingOff
            | Stage::Resting => {}
        }
    }

    /// True for what came on a kept connection before the request was sent: it
    /// answers nothing.
    #[inline]
    pub(super) fn is_overtaken(&self, index: usize, done: &Done) -> bool {
        let slot = &self.slots[index];
        done.round <= slot.asked && slot.talk.used && !matches!(done.result, Err(Errno::NOBUFS))
    }

    /// Makes the attempt of slot `index` on a new connection: the present one
    /// was given up before the request reached it.
    #[cold]
    pub(super) fn ask_anew(&mut self, index: usize, unasked: bool) {
        let attempt = &mut self.slots[index].talk.attempt;
        let (start, measured) = (attempt.start, attempt.measured);
        self.recorder.unsent(measured, std::mem::take(&mut attempt.written));
        attempt.flushed = false;
        self.drop_idle(index, start, unasked);
        self.connect_for_attempt(index);
    }

    /// A part of the answer that slot `index` waits for.
    #[inline]
    fn answered(&mut self, index: usize, done: &Done) {
        let now = done.at;
        let slot = &mut self.slots[index];
        let taken = match (done.result, &done.buffer) {
            (Ok(0), _) => Some(slot.talk.end(&self.shared, now)),
            (Ok(length), lent) => {
                self.recorder.received(slot.talk.attempt.measured, length);
                match lent {
                    Some(lent) => {
                        let bytes = self.ring.filled(lent);
                        slot.talk.take(&self.shared, &mut self.heads, bytes, now)
                    }
                    None => slot.talk.skip(&self.shared, length, now),
                }
            }
            // All buffers were full when the kernel wanted one; they are read
            // and handed back by now.
            (Err(Errno::NOBUFS), _) => None,
            (Err(errno), _) => Some(Err(slot.talk.broken(&errno.into()))),
        };
        // The kernel may end a receive with bytes, too.
        let Some(ended) = taken else { return self.receive(index) };
        match ended {
            Ok(exchange) => {
                self.bulky = Some(done.op == Op::Discard);
                self.completed(index, &exchange, done.unread);
            }
            Err(failure) => self.failed(index, &failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, Load, Op, Stage};
    use crate::driver::uring::probe;
    use crate::driver::uring::ring::Wait;
    use crate::driver::{Report, Reporter};
    use crate::shared::{Shared, Window};
    use rustix::io::Errno;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Sender, channel};

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    /// A load whose slot 0 has had one answer and has just queued its second
    /// request.
    fn asking_again() -> Load {
        reporting_to(channel().0)
    }

    fn reporting_to(reports: Sender<(u32, Report)>) -> Load {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Shared::for_test(listener.local_addr().unwrap());
        let mut load = Load::new(&shared, 0, Reporter::new(0, reports)).unwrap();
        load.preconnect().unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let (start, end) = (load.now(), load.now() + 20_000_000_000);
        load.begin_window(Window { start, end, grace_end: end });
        load.begin_some();
        load.ring.enter(Wait::Not).unwrap();
        assert!(peer.read(&mut [0; 4096]).unwrap() > 0);
        peer.write_all(ANSWER).unwrap();
        while !load.slots[0].talk.used {
            load.ring.enter(Wait::ForCompletion).unwrap();
            while let Some(done) = load.ring.completion() {
                load.handle(done);
            }
        }
        assert_eq!(load.slots[0].stage, Stage::Exchanging);
        load
    }

    #[test]
    fn what_came_before_the_request_is_no_answer_to_it() {
        if probe().is_err() {
            return;
        }
        for result in [Ok(3), Ok(0), Err(Errno::CONNRESET)] {
            let mut load = asking_again();
            let token = load.slots[0].token(0);
            let (op, more, unread, buffer) = (Op::Receive, false, false, None);
            let (at, round) = (load.now(), load.slots[0].asked);
            load.handle(Done { op, token, result, more, unread, buffer, at, round });
            let slot = &load.slots[0];
            assert_eq!(slot.stage, Stage::Connecting, "{result:?}");
            assert!(slot.connecting && !slot.talk.attempt.flushed, "{result:?}");
            let end = load.finish();
            assert!(end.reasons.is_empty(), "{result:?}: {:?}", end.reasons);
            assert_eq!(end.notes.is_empty(), result != Ok(3), "{:?}", end.notes);
        }
    }

    #[test]
    fn what_comes_after_the_request_is_judged_as_its_answer() {
        if probe().is_err() {
            return;
        }
        let mut load = asking_again();
        let (token, round) = (load.slots[0].token(0), load.slots[0].asked + 1);
        let (op, result, more, unread, buffer) = (Op::Receive, Ok(0), false, false, None);
        load.handle(Done { op, token, result, more, unread, buffer, at: load.now(), round });
        let reasons = load.finish().reasons;
        assert!(reasons.keys().any(|reason| reason.contains("closed")), "{reasons:?}");
    }

    #[test]
    fn a_request_that_is_still_queued_at_the_end_counts_as_begun_but_not_as_sent() {
        if probe().is_err() {
            return;
        }
        for goes_out in [false, true] {
            let (sender, reports) = channel();
            let mut load = reporting_to(sender);
            if goes_out {
                load.ring.submit();
            }
            load.finish();
            let request = load.shared.prepared.request.len() as u64;
            let (mut sent, mut aborted) = (0, 0);
            for (_, report) in reports.try_iter() {
                if let Report::Second(second) = report {
                    sent += second.tally.bytes.sent;
                    aborted += second.tally.counts.aborted;
                }
            }
            assert_eq!((sent, aborted), (request * (1 + u64::from(goes_out)), 1));
        }
    }
}
