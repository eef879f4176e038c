//! Opening, looking at and closing connections.

use super::load::Load;
use super::ring::{Done, Token};
use super::slot::Stage;
use crate::driver::failure::{Failure, met_itself};
use crate::endpoint::{self, Endpoint, Route};
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
        slot.unread = true;
        slot.queued = self.ring.round();
        let socket = slot.socket.insert(socket);
        let token = Token { slot: index as u32, generation: slot.generation };
        if self.shared.prepared.endpoint(route.endpoint).is_unix() {
            self.established(index);
        } else {
            self.ring.connect(socket.as_fd(), route.endpoint, token);
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
        if !self.small {
            // Its last piece must not wait until the others are acknowledged.
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
        self.established(index);
    }

    /// The connection of slot `index` is open.
    fn established(&mut self, index: usize) {
        let now = self.now();
        let slot = &mut self.slots[index];
        slot.connecting = false;
        slot.established = true;
        slot.refusals = 0;
        slot.talk.used = false;
        self.recorder.connected(slot.talk.endpoint, now, now - slot.begun, None);
        self.open.set(self.open.get() + 1);
        self.shared.gauge.established();
        if slot.stage == Stage::Preconnecting {
            return self.opened_ahead(index);
        }
        slot.talk.attempt.sent = now;
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

    /// Closes the connection of slot `index`, if it has one; whatever is under
    /// way for it will be ignored.
    pub(super) fn disconnect(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(socket) = slot.socket.take() else { return };
        slot.generation = Token::next_generation(slot.generation);
        let queued = slot.queued == self.ring.round();
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
        self.shared.gauge.give_socket();
        if std::mem::take(&mut slot.established) {
            self.open.set(self.open.get() - 1);
            self.shared.gauge.closed();
        }
    }
}
