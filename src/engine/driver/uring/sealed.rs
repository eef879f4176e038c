//! Connections under TLS. Receiving never stops on them: records may come that
//! say nothing about an answer. Sending is done at once, not by the ring, since
//! what goes out is another's memory each time, but only when everything that
//! has come is handled, as on plain connections.

use super::buffers::Lent;
use super::completion::Done;
use super::connect::Look;
use super::load::Load;
use super::session::{Heard, Sent, Session};
use super::slot::Stage;
use crate::clock::Nanos;
use crate::driver::failure::{Failure, UNASKED};
use crate::record::Handshake;
use benchd_model::Outcome;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;

impl Load {
    /// Begins the handshake on the connection of slot `index`, which is there
    /// since `at`. False where there is no TLS to agree on.
    pub(super) fn begin_handshake(&mut self, index: usize, at: Nanos) -> bool {
        let Some(plan) = &self.shared.prepared.tls else { return false };
        let session = Session::new(plan, at, at - self.slots[index].begun);
        let begun = session.and_then(|session| {
            let slot = &mut self.slots[index];
            (slot.connecting, slot.tls) = (false, Some(Box::new(session)));
            self.flush(index)
        });
        match begun {
            Ok(()) => self.receive(index),
            Err(error) => self.not_agreed(index, &error),
        }
        true
    }

    /// The request of slot `index` goes out when what has come is handled.
    pub(super) fn seal(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.asked = self.ring.round();
        self.unsealed.push(slot.token(index));
        self.receive(index);
    }

    /// Sends the requests that wait for it.
    pub(super) fn send_sealed(&mut self) {
        let mut next = 0;
        while let Some(token) = self.unsealed.get(next).copied() {
            next += 1;
            let index = token.slot as usize;
            let slot = &self.slots[index];
            if slot.generation == token.generation && slot.stage == Stage::Exchanging {
                self.send_request(index);
                // Said on a new connection before anybody asked.
                if self.slots[index].tls.as_mut().is_some_and(|tls| !tls.is_quiet()) {
                    self.hear_answer(index, self.now(), None);
                }
            }
        }
        self.unsealed.clear();
    }

    fn send_request(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let (Some(socket), Some(tls)) = (&slot.socket, &mut slot.tls) else { return };
        let attempt = &mut slot.talk.attempt;
        let request = &self.shared.prepared.request;
        match tls.send(socket.as_fd(), &request[attempt.written..]) {
            Ok(Sent { taken, flushed }) => {
                attempt.written += taken;
                attempt.flushed = flushed;
                self.recorder.sent(attempt.measured, taken);
                if !flushed {
                    self.await_room(index);
                }
            }
            Err(error) => {
                attempt.write_error = Some(error);
                self.doubtful.push(index);
            }
        }
    }

    fn await_room(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(socket) = slot.socket.as_ref().filter(|_| !slot.sending) else { return };
        slot.sending = true;
        slot.queued = self.ring.await_room(socket.as_fd(), slot.token(index));
    }

    /// Sends what TLS itself has to say.
    fn flush(&mut self, index: usize) -> io::Result<()> {
        let slot = &mut self.slots[index];
        let (Some(socket), Some(tls)) = (&slot.socket, &mut slot.tls) else { return Ok(()) };
        if !tls.flush(socket.as_fd())? {
            self.await_room(index);
        }
        Ok(())
    }

    /// The socket of slot `index` takes more, or is broken.
    #[cold]
    pub(super) fn has_room(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.sending = false;
        match slot.stage {
            Stage::Exchanging if slot.talk.attempt.write_error.is_some() => {}
            Stage::Exchanging => self.send_request(index),
            Stage::Preconnecting | Stage::Connecting => {
                if let Err(error) = self.flush(index) {
                    self.not_agreed(index, &error);
                }
            }
            // What is wrong, receiving will tell.
            _ => drop(self.flush(index)),
        }
    }

    /// Bytes, the end or an error of a connection under TLS.
    pub(super) fn received_sealed(&mut self, index: usize, done: &Done) {
        if done.result == Err(Errno::NOBUFS) {
            return self.receive(index);
        }
        match self.slots[index].stage {
            Stage::Preconnecting | Stage::Connecting => self.shake(index, done),
            Stage::Exchanging if self.is_overtaken(index, done) => {
                self.take_unasked(index, done);
                match self.heard(index) {
                    Look::Nothing => self.receive(index),
                    found => self.ask_anew(index, matches!(found, Look::Bytes)),
                }
            }
            Stage::Exchanging => {
                let attempt = &self.slots[index].talk.attempt;
                if attempt.written == 0 && attempt.write_error.is_none() {
                    // Nothing is an answer before there is a question. One that
                    // has failed is not sealed twice.
                    self.send_request(index);
                }
                self.answered_sealed(index, done);
            }
            _ => {
                self.take_unasked(index, done);
                self.heed(index);
            }
        }
    }

    /// A part of the handshake.
    fn shake(&mut self, index: usize, done: &Done) {
        let slot = &mut self.slots[index];
        let Some(tls) = &mut slot.tls else { return };
        let shaken = match (&done.result, &done.buffer) {
            (Err(errno), _) => Err(io::Error::from(*errno)),
            (Ok(_), Some(lent)) => tls.take_unasked(self.ring.filled(lent)),
            (Ok(_), None) => tls.end(),
        };
        let over = done.buffer.is_none();
        let shaken = match shaken {
            Ok(()) if tls.is_shaking() && over => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(()) if tls.is_shaking() => self.flush(index),
            Ok(()) => return self.agreed(index),
            Err(error) => {
                // It may tell the server why.
                drop(self.flush(index));
                Err(error)
            }
        };
        match shaken {
            Ok(()) => self.receive(index),
            Err(error) => self.not_agreed(index, &error),
        }
    }

    /// The handshake of slot `index` is done.
    fn agreed(&mut self, index: usize) {
        let now = self.now();
        let slot = &mut self.slots[index];
        let Some(tls) = &mut slot.tls else { return };
        let handshake = Handshake { lasted: now - tls.since, resumed: tls.is_resumed() };
        let connect = tls.connect;
        if slot.stage == Stage::Preconnecting {
            // Otherwise it goes out with the request.
            if let Err(error) = self.flush(index) {
                return self.not_agreed(index, &error);
            }
        }
        self.receive(index);
        self.established(index, now, connect, Some(handshake));
    }

    #[cold]
    fn not_agreed(&mut self, index: usize, error: &io::Error) {
        if self.slots[index].stage == Stage::Preconnecting {
            self.disconnect(index);
            return self.opened_ahead(index);
        }
        let failure = Failure::new(Outcome::Tls, crate::tls::reason(error));
        self.give_up_on(index, &failure);
    }

    /// A part of the answer that slot `index` waits for.
    fn answered_sealed(&mut self, index: usize, done: &Done) {
        let slot = &mut self.slots[index];
        let Some(tls) = &mut slot.tls else { return };
        let failed = match (&done.result, &done.buffer) {
            (Err(errno), _) => Some(io::Error::from(*errno)),
            (Ok(_), Some(_)) => None,
            (Ok(_), None) => tls.end().err(),
        };
        match failed {
            Some(error) => {
                let failure = slot.talk.broken(&error);
                self.failed(index, &failure);
            }
            None => self.hear_answer(index, done.at, done.buffer.as_ref()),
        }
    }

    /// Hears what there is of the answer to slot `index`, and what `lent` adds.
    fn hear_answer(&mut self, index: usize, now: Nanos, lent: Option<&Lent>) {
        let Self { slots, ring, recorder, heads, shared, .. } = self;
        let slot = &mut slots[index];
        let (Some(socket), Some(tls)) = (&slot.socket, &mut slot.tls) else { return };
        // What has come unasked may have come before the attempt began.
        let now = now.max(slot.talk.attempt.sent);
        let mut bytes = lent.map_or(&[][..], |lent| ring.filled(lent));
        let ended = loop {
            match tls.heard() {
                Heard::Bytes(plain) => {
                    let length = plain.len();
                    recorder.received(slot.talk.attempt.measured, length);
                    let taken = slot.talk.take(shared, heads, plain, now);
                    tls.consume(length);
                    if let Some(ended) = taken {
                        break ended;
                    }
                }
                Heard::End => break slot.talk.end(shared, now),
                Heard::Broken(error) => break Err(slot.talk.broken(&error)),
                Heard::Nothing if bytes.is_empty() => {
                    // TLS may owe the server a word that it waits for. If that
                    // fails, receiving will tell.
                    drop(self.flush(index));
                    return self.receive(index);
                }
                Heard::Nothing => {
                    if let Err(error) = tls.take(&mut bytes) {
                        // It may tell the server why.
                        drop(tls.flush(socket.as_fd()));
                        // What came whole before it is heard first.
                        tls.lose(error);
                        bytes = &[];
                    }
                }
            }
        };
        match ended {
            Ok(exchange) => {
                if let Err(error) = tls.take_unasked(bytes) {
                    tls.lose(error);
                }
                self.completed(index, &exchange, true);
            }
            Err(failure) => self.failed(index, &failure),
        }
    }

    /// Takes what nobody waits for.
    fn take_unasked(&mut self, index: usize, done: &Done) {
        let Some(tls) = &mut self.slots[index].tls else { return };
        let taken = match (&done.result, &done.buffer) {
            (Err(errno), _) => Err((*errno).into()),
            (Ok(_), Some(lent)) => tls.take_unasked(self.ring.filled(lent)),
            (Ok(_), None) => tls.end(),
        };
        if let Err(error) = taken {
            tls.lose(error);
        }
    }

    /// What has come on the connection of slot `index` and is not yet read.
    pub(super) fn heard(&mut self, index: usize) -> Look {
        match self.slots[index].tls.as_mut().map_or(Heard::Nothing, |tls| tls.heard()) {
            Heard::Nothing => Look::Nothing,
            Heard::Bytes(_) => Look::Bytes,
            Heard::End => Look::End,
            Heard::Broken(error) => Look::Broken(error),
        }
    }

    /// Does what follows from what has come while nobody waits for an answer.
    pub(super) fn heed(&mut self, index: usize) {
        let found = self.heard(index);
        let unasked = matches!(found, Look::Bytes);
        match self.slots[index].stage {
            _ if matches!(found, Look::Nothing) => self.receive(index),
            Stage::Parting if unasked => {
                self.recorder.note(UNASKED.to_owned());
                self.parted(index);
            }
            Stage::Parting => {
                self.fins_missed = 0;
                self.parted(index);
            }
            Stage::Free(_) => self.drop_idle(index, self.now(), unasked),
            // The next attempt will find it.
            _ => {}
        }
    }
}
