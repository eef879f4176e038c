//! Opening, looking at and closing connections.

use super::completion::{Done, Token};
use super::load::Load;
use super::slot::Stage;
use crate::clock::{NEVER, Nanos};
use crate::driver::failure::{Failure, UNASKED, met_itself};
use crate::endpoint::{self, Endpoint, Route};
use crate::record::Handshake;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, Shutdown, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

/// What a look at a connection found.
#[derive(Debug)]
pub(super) enum Look {
    /// Nothing has come.
    Nothing,
    /// The peer has closed it.
    End,
    /// Bytes are there to be read.
    Bytes,
    /// It is broken.
    Broken(io::Error),
}

impl Load {
    /// Begins to open the connection of slot `index` before the window.
    pub(super) fn open_ahead(&mut self, index: usize) {
        self.slots[index].stage = Stage::Preconnecting;
        self.deadlines[index] = self.now().saturating_add(self.timeout);
        if self.shared.gauge.is_unresponsive() || self.open(index).is_err() {
            self.opened_ahead(index);
        }
    }

    /// Opening ahead of time has ended, well or not. A failure says nothing
    /// yet: the first attempt will meet it again and count it.
    pub(super) fn opened_ahead(&mut self, index: usize) {
        self.deadlines[index] = NEVER;
        self.slots[index].stage = Stage::Waiting;
        if self.window.is_some() {
            return self.next(index, self.now());
        }
        self.permits += 1;
        self.busy -= 1;
    }

    /// Opens the connection that the attempt of slot `index` needs.
    pub(super) fn connect_for_attempt(&mut self, index: usize) {
        self.slots[index].stage = Stage::Connecting;
        if let Err(failure) = self.open(index) {
            self.give_up_on(index, &failure);
        }
    }

    /// Begins to connect slot `index`, which has no connection.
    pub(super) fn open(&mut self, index: usize) -> Result<(), Failure> {
        let number = self.first + index + self.slots[index].opened;
        let route = self.shared.prepared.route(number);
        self.slots[index].opened += 1;
        self.slots[index].talk.endpoint = route.endpoint;
        if !self.shared.gauge.take_socket(self.shared.descriptors.for_connections) {
            return Err(Failure::no_descriptor(&self.shared, &mut self.recorder, route.endpoint));
        }
        let begun = self.now();
        let socket = match self.socket(route) {
            Ok(socket) => socket,
            Err(error) => {
                self.shared.gauge.give_socket();
                return Err(self.unconnected(index, &error));
            }
        };
        let slot = &mut self.slots[index];
        slot.begun = begun;
        slot.connecting = true;
        let socket = slot.socket.insert(socket);
        let token = Token { slot: index as u32, generation: slot.generation };
        if self.shared.prepared.endpoint(route.endpoint).is_unix() {
            self.opened(index, self.now());
        } else {
            slot.queued = self.ring.connect(socket.as_fd(), route.endpoint, token);
        }
        Ok(())
    }

    /// A socket that is ready to connect or, in the file system, where nothing
    /// is ever awaited, connected already.
    fn socket(&self, route: Route) -> io::Result<OwnedFd> {
        let family = match self.shared.prepared.endpoint(route.endpoint) {
            Endpoint::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Endpoint::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Endpoint::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        if family == AddressFamily::UNIX {
            rustix::net::connect(&socket, self.ring.address(route.endpoint))?;
            return Ok(socket);
        }
        if !self.small || self.shared.prepared.tls.is_some() {
            // The last piece must not wait until the others are acknowledged, nor
            // a request for what TLS has said before.
            rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
        }
        if let Some(source) = route.source {
            endpoint::bind(&socket, source)?;
        }
        Ok(socket)
    }

    fn unconnected(&mut self, index: usize, error: &io::Error) -> Failure {
        let endpoint = self.slots[index].talk.endpoint;
        Failure::unconnected(&self.shared, &mut self.recorder, endpoint, error)
    }

    /// Connecting has ended.
    pub(super) fn connected(&mut self, index: usize, done: &Done) {
        let connected = done.result.map_err(io::Error::from);
        if let Err(error) = connected.and_then(|_| self.meets_another(index)) {
            let failure = self.unconnected(index, &error);
            self.slots[index].connecting = false;
            if self.slots[index].stage == Stage::Preconnecting {
                self.disconnect(index);
                return self.opened_ahead(index);
            }
            return self.give_up_on(index, &failure);
        }
        self.opened(index, done.at);
    }

    /// The connection of slot `index` is there since `at`.
    fn opened(&mut self, index: usize, at: Nanos) {
        if !self.begin_handshake(index, at) {
            self.established(index, at, at - self.slots[index].begun, None);
        }
    }

    /// The connection of slot `index`, which took `connect` to be there, is ready
    /// since `at`.
    pub(super) fn established(
        &mut self,
        index: usize,
        at: Nanos,
        connect: Nanos,
        tls: Option<Handshake>,
    ) {
        let slot = &mut self.slots[index];
        slot.connecting = false;
        slot.established = true;
        slot.refusals = 0;
        slot.talk.used = false;
        self.recorder.connected(slot.talk.endpoint, at, connect, tls);
        self.open.set(self.open.get() + 1);
        self.shared.gauge.established();
        if slot.stage == Stage::Preconnecting {
            return self.opened_ahead(index);
        }
        self.slots[index].talk.attempt.sent = self.now();
        self.goes_out(index);
        self.exchange(index);
    }

    fn meets_another(&self, index: usize) -> io::Result<()> {
        let slot = &self.slots[index];
        let (Some(socket), Endpoint::Tcp(address)) =
            (&slot.socket, self.shared.prepared.endpoint(slot.talk.endpoint))
        else {
            return Ok(());
        };
        if !address.ip().is_loopback() {
            return Ok(());
        }
        let local = SocketAddr::try_from(rustix::net::getsockname(socket)?)?;
        if local == *address { Err(met_itself()) } else { Ok(()) }
    }

    /// Looks at the connection of slot `index` and takes no byte away.
    pub(super) fn look(&self, index: usize) -> Look {
        let Some(socket) = &self.slots[index].socket else { return Look::End };
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(socket, &mut [0], flags) {
            Ok((_, 0)) => Look::End,
            Ok(_) => Look::Bytes,
            Err(Errno::AGAIN | Errno::INTR) => Look::Nothing,
            Err(errno) => Look::Broken(errno.into()),
        }
    }

    /// Looks whether a connection has been given up by the server while
    /// nothing was received on it.
    #[cold]
    pub(super) fn drop_if_closed(&mut self, index: usize, now: Nanos) {
        let used = self.slots[index].talk.used;
        let sealed = self.slots[index].tls.is_some();
        let found = match self.heard(index) {
            Look::Nothing => match self.look(index) {
                // Records that may say nothing.
                Look::Bytes if sealed => Look::Nothing,
                found => found,
            },
            found => found,
        };
        match found {
            Look::Nothing => {}
            // What a server says unasked on a new connection, the exchange will
            // read and judge: a greeting tells which protocol it speaks.
            Look::Bytes if !used => {}
            Look::Bytes => self.drop_idle(index, now, true),
            Look::End | Look::Broken(_) => self.drop_idle(index, now, false),
        }
    }

    /// Drops a kept connection that the server has given up.
    #[cold]
    pub(super) fn drop_idle(&mut self, index: usize, now: Nanos, unasked: bool) {
        self.disconnect(index);
        if unasked {
            self.recorder.note(UNASKED.to_owned());
        }
        self.recorder.idle_closed(self.window.is_some_and(|window| now >= window.start));
    }

    /// Closes the connection of slot `index`, if it has one; whatever is under
    /// way for it will be ignored.
    pub(super) fn disconnect(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(socket) = slot.socket.take() else { return };
        slot.generation = Token::next_generation(slot.generation);
        let queued = self.ring.holds(slot.queued);
        if queued || slot.connecting || slot.receiving || slot.sending {
            // They hold the socket, and come back once it is shut down. To
            // cancel them by descriptor would search all requests there are.
            rustix::net::shutdown(&socket, Shutdown::Both).ok();
        }
        if queued {
            // What the kernel has not seen would find the next socket of that
            // number.
            self.ring.submit();
        }
        drop(socket);
        (slot.connecting, slot.receiving, slot.sending) = (false, false, false);
        slot.tls = None;
        self.shared.gauge.give_socket();
        if std::mem::take(&mut slot.established) {
            self.open.set(self.open.get() - 1);
            self.shared.gauge.closed();
        }
    }
}
