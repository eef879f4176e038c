//! Opening, looking at and closing connections.

use super::load::Load;
use super::ring::{Done, Token};
use super::slot::Stage;
use crate::driver::failure::Failure;
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
        let addresses = &self.shared.prepared.plan.addresses;
        let (number, address) = (number % addresses.len(), addresses[number % addresses.len()]);
        self.slots[index].opened += 1;
        if !self.shared.gauge.take_socket(self.shared.descriptors.for_connections) {
            return Err(Failure::no_descriptor(&self.shared, &mut self.recorder));
        }
        let begun = self.now();
        let socket = match socket(address) {
            Ok(socket) => socket,
            Err(error) => {
                self.shared.gauge.give_socket();
                return Err(self.unconnected(error));
            }
        };
        let slot = &mut self.slots[index];
        slot.begun = begun;
        slot.connecting = true;
        let socket = slot.socket.insert(socket);
        let token = Token { slot: index as u32, generation: slot.generation };
        self.ring.connect(socket.as_fd(), number, token);
        Ok(())
    }

    fn unconnected(&mut self, errno: Errno) -> Failure {
        Failure::unconnected(&self.shared, &mut self.recorder, &errno.into())
    }

    /// Connecting has ended.
    pub(super) fn connected(&mut self, index: usize, done: &Done) {
        let now = self.now();
        self.slots[index].connecting = false;
        let connected = done.result.and_then(|_| self.meets_another(index));
        if let Err(errno) = connected {
            let failure = self.unconnected(errno);
            if self.slots[index].stage == Stage::Preconnecting {
                self.disconnect(index);
                return self.opened_ahead(index);
            }
            return self.give_up_on(index, &failure);
        }
        let slot = &mut self.slots[index];
        slot.established = true;
        slot.refusals = 0;
        slot.talk.used = false;
        self.recorder.connected(now, now - slot.begun, None);
        self.open.set(self.open.get() + 1);
        self.shared.gauge.established();
        if slot.stage == Stage::Preconnecting {
            return self.opened_ahead(index);
        }
        slot.talk.attempt.sent = now;
        self.exchange(index);
    }

    /// On loopback a connect to a closed port can meet itself when the kernel
    /// picks that very port as the local one.
    fn meets_another(&self, index: usize) -> Result<(), Errno> {
        let slot = &self.slots[index];
        let addresses = &self.shared.prepared.plan.addresses;
        // `opened` has moved on to the next address.
        let address = addresses[(self.first + index + slot.opened - 1) % addresses.len()];
        let Some(socket) = slot.socket.as_ref().filter(|_| address.ip().is_loopback()) else {
            return Ok(());
        };
        let local = SocketAddr::try_from(rustix::net::getsockname(socket)?)?;
        if local == address { Err(Errno::CONNREFUSED) } else { Ok(()) }
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
        if slot.connecting || slot.receiving || slot.sending {
            // They hold the socket, and come back once it is shut down. To
            // cancel them by descriptor would search all requests there are.
            rustix::net::shutdown(&socket, Shutdown::Both).ok();
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

fn socket(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}
