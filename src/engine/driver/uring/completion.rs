//! What the kernel says of a request: its completion, and which it was.

use super::buffers::{Buffers, Lent};
use crate::clock::Nanos;
use io_uring::cqueue;
use rustix::io::Errno;

const NOTHING: u32 = u32::MAX;

/// What a completion answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Connect,
    /// A send that only reports trouble.
    SendWhole,
    /// A send that reports what it has sent.
    Send,
    /// A receive; goes on while `more`.
    Receive,
    /// A receive that throws away what it gets.
    Discard,
    /// A wait until the socket takes more.
    Room,
    Tick,
}

impl Op {
    /// False for what is done with when it is submitted, and silent then.
    pub(super) const fn always_completes(self) -> bool {
        !matches!(self, Self::SendWhole)
    }
}

/// One use of one slot: completions of an earlier connection are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) slot: u32,
    /// 24 bits; wraps.
    pub(super) generation: u32,
}

impl Token {
    pub(super) const NONE: Self = Self { slot: NOTHING, generation: 0 };

    pub(super) const fn tagged(self, op: Op) -> u64 {
        (op as u64) << 56 | ((self.generation & 0xff_ffff) as u64) << 32 | self.slot as u64
    }

    pub(super) const fn next_generation(generation: u32) -> u32 {
        (generation + 1) & 0xff_ffff
    }
}

/// A completion.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) op: Op,
    pub(super) token: Token,
    /// What the system call would have returned, or its error.
    pub(super) result: Result<usize, Errno>,
    /// The same request will complete again.
    pub(super) more: bool,
    /// When a receive completed, the socket had more to read, or its end.
    pub(super) unread: bool,
    /// The receive buffer to read and to hand back.
    pub(super) buffer: Option<Lent>,
    /// When it was there, as near as can be told.
    pub(super) at: Nanos,
    /// The round it came in. It answers nothing that was queued in that one or
    /// later.
    pub(super) round: u64,
}

/// A completion that has been taken off the ring.
pub(super) struct Reaped {
    pub(super) entry: cqueue::Entry,
    pub(super) at: Nanos,
    pub(super) round: u64,
}

impl Done {
    /// Only once of each completion: it lends a buffer.
    #[inline]
    pub(super) fn read(reaped: &Reaped) -> Self {
        let Reaped { entry, at, round } = reaped;
        let (data, flags) = (entry.user_data(), entry.flags());
        let result = match entry.result() {
            result @ 0.. => Ok(result as usize),
            error => Err(Errno::from_raw_os_error(-error)),
        };
        let op = match data >> 56 {
            0 => Op::Connect,
            1 => Op::SendWhole,
            2 => Op::Send,
            3 => Op::Receive,
            4 => Op::Discard,
            5 => Op::Room,
            _ => Op::Tick,
        };
        let lend = |buffer| Buffers::lent(buffer, result.unwrap_or(0));
        Self {
            op,
            token: Token { slot: data as u32, generation: (data >> 32) as u32 & 0xff_ffff },
            result,
            more: cqueue::more(flags),
            unread: cqueue::sock_nonempty(flags),
            buffer: cqueue::buffer_select(flags).map(lend),
            at: *at,
            round: *round,
        }
    }
}
