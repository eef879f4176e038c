//! One user, as data: what it is doing, its connection, its talk.

use super::completion::Token;
use super::session::Session;
use crate::clock::Nanos;
use crate::driver::talk::Talk;
use std::os::fd::OwnedFd;

/// What a slot is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for the window.
    #[default]
    Waiting,
    /// It opens its connection ahead of time, which includes TLS.
    Preconnecting,
    /// It is free since then: an open loop has no request due for it.
    Free(Nanos),
    /// It opens a connection for its attempt, which includes TLS.
    Connecting,
    /// Its request is under way.
    Exchanging,
    /// Its last response was complete; the server is to close.
    Parting,
    /// It waits after an attempt that found no connection.
    BackingOff,
    /// It has nothing more to do.
    Resting,
}

impl Stage {
    /// True when an attempt is in flight.
    pub(super) const fn in_flight(self) -> bool {
        matches!(self, Self::Connecting | Self::Exchanging)
    }
}

/// One user: of a closed loop, or a connection of an open one's pool.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) stage: Stage,
    pub(super) socket: Option<OwnedFd>,
    /// Changes with every connection.
    pub(super) generation: u32,
    /// Connections opened so far: the next route to take.
    pub(super) opened: usize,
    /// Attempts in a row that found no connection.
    pub(super) refusals: u32,
    /// When connecting began.
    pub(super) begun: Nanos,
    /// The ring's round in which the request was queued.
    pub(super) asked: u64,
    /// The ring's round in which anything for the connection was.
    pub(super) queued: u64,
    /// The connection is open and counted.
    pub(super) established: bool,
    /// Requests to the kernel that are under way for the connection.
    pub(super) connecting: bool,
    pub(super) receiving: bool,
    pub(super) sending: bool,
    /// TLS on the connection, from its first byte on.
    pub(super) tls: Option<Box<Session>>,
    pub(super) talk: Talk,
}

impl Slot {
    /// Marks requests of slot `index` for its present connection.
    #[inline]
    pub(super) fn token(&self, index: usize) -> Token {
        Token { slot: index as u32, generation: self.generation }
    }
}

#[cfg(test)]
mod tests {
    use super::Slot;

    #[test]
    fn a_connection_costs_little_memory() {
        assert!(size_of::<Slot>() <= 320, "{} bytes", size_of::<Slot>());
    }
}
