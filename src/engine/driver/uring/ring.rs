//! The ring of one thread: requests to the kernel go in, completions come out.
//! It owns everything that the kernel reads or writes on its own account, so
//! that its methods are safe to call; what a completion means it does not know.

use super::buffers::{Buffers, GROUP, Lent, Region};
use crate::endpoint::Endpoint;
use crate::shared::Shared;
use io_uring::types::{CancelBuilder, Fd, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Requests that may wait for submission.
const SUBMISSIONS: u32 = 512;

/// Completions that may wait for us; more are kept by the kernel.
const COMPLETIONS: u32 = 8192;

/// The most that one receive throws away.
const DISCARD_AT_ONCE: usize = 1 << 20;

/// Flags of receives, as io_uring names them: do not try before the socket has
/// something; complete again and again.
const POLL_FIRST: u16 = 1;
const MULTISHOT: u16 = 2;

/// Waits for requests to come back before the buffers are freed; each brings
/// at least one.
const MOST_ROUNDS: u32 = 1_000_000;

const NOTHING: u32 = u32::MAX;

const NOSIGNAL: u32 = SendFlags::NOSIGNAL.bits();

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
    Tick,
}

impl Op {
    /// False for what is done with when it is submitted, and silent then.
    const fn always_completes(self) -> bool {
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
    const NONE: Self = Self { slot: NOTHING, generation: 0 };

    const fn tagged(self, op: Op) -> u64 {
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
}

/// The ring of one thread.
pub(super) struct Ring {
    // Dropped by hand: the ring before what it uses.
    uring: ManuallyDrop<IoUring>,
    buffers: ManuallyDrop<Buffers>,
    /// Where the kernel would write what it is to throw away, if it did.
    waste: ManuallyDrop<Region>,
    shared: ManuallyDrop<Arc<Shared>>,
    addresses: Vec<SocketAddrAny>,
    /// Boxed: the kernel gets its address.
    period: Box<Timespec>,
    batch: Vec<cqueue::Entry>,
    /// Where in the batch the next completion is.
    next: usize,
    /// Counts the batches; wraps.
    round: u32,
    /// Requests that will complete at least once more.
    outstanding: usize,
}

impl Ring {
    /// Sets a ring up on this thread, which must be the only one to use it.
    pub(super) fn new(shared: &Arc<Shared>, period: Duration) -> io::Result<Self> {
        let uring = set_up()?;
        let buffers = Buffers::register(&uring)?;
        let endpoints = &shared.prepared.plan.endpoints;
        let mut ring = Self {
            uring: ManuallyDrop::new(uring),
            buffers: ManuallyDrop::new(buffers),
            waste: ManuallyDrop::new(Region::untouched(DISCARD_AT_ONCE)?),
            shared: ManuallyDrop::new(shared.clone()),
            addresses: endpoints.iter().map(Endpoint::as_any).collect::<io::Result<_>>()?,
            period: Box::new(Timespec::from(period)),
            batch: Vec::with_capacity(COMPLETIONS as usize),
            next: 0,
            round: 0,
            outstanding: 0,
        };
        ring.tick();
        Ok(ring)
    }

    /// Completes once when the period is over.
    pub(super) fn tick(&mut self) {
        let entry = opcode::Timeout::new(&raw const *self.period).build();
        self.push(entry, Op::Tick, Token::NONE);
    }

    /// The address of the endpoint of that number.
    pub(super) fn address(&self, endpoint: u32) -> &SocketAddrAny {
        &self.addresses[endpoint as usize]
    }

    /// Connects to the endpoint of that number.
    pub(super) fn connect(&mut self, socket: BorrowedFd<'_>, endpoint: u32, token: Token) {
        let address = &self.addresses[endpoint as usize];
        let (start, length) = (address.as_ptr().cast(), address.addr_len());
        let entry = opcode::Connect::new(Fd(socket.as_raw_fd()), start, length).build();
        self.push(entry, Op::Connect, token);
    }

    /// Sends the whole request at once, and completes only when the socket
    /// does not take it.
    #[inline]
    pub(super) fn send_whole(&mut self, socket: BorrowedFd<'_>, token: Token) {
        let request = &self.shared.prepared.request;
        let (start, length) = (request.as_ptr(), request.len() as u32);
        let flags = NOSIGNAL | SendFlags::DONTWAIT.bits() | RecvFlags::WAITALL.bits();
        let send = opcode::Send::new(Fd(socket.as_raw_fd()), start, length).flags(flags as i32);
        self.push(send.build().flags(squeue::Flags::SKIP_SUCCESS), Op::SendWhole, token);
    }

    /// Sends what the socket takes of the request from `from` on.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, from: usize, token: Token) {
        let rest = &self.shared.prepared.request[from..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let send = opcode::Send::new(Fd(socket.as_raw_fd()), rest.as_ptr(), length);
        let entry = send.flags(NOSIGNAL as i32).build();
        self.push(entry, Op::Send, token);
    }

    /// Receives whatever comes, until it completes without `more`.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, token: Token) {
        self.receive_buffered(socket, MULTISHOT | POLL_FIRST, 0, token);
    }

    /// Receives once, and no more than `length` bytes.
    pub(super) fn receive_once(&mut self, socket: BorrowedFd<'_>, length: u32, token: Token) {
        self.receive_buffered(socket, POLL_FIRST, length, token);
    }

    fn receive_buffered(&mut self, socket: BorrowedFd<'_>, how: u16, length: u32, token: Token) {
        let receive = opcode::Recv::new(Fd(socket.as_raw_fd()), std::ptr::null_mut(), length);
        let entry = receive.ioprio(how).buf_group(GROUP).build();
        self.push(entry.flags(squeue::Flags::BUFFER_SELECT), Op::Receive, token);
    }

    /// Takes what comes off a TCP socket, at most `length` bytes, and throws it
    /// away; TCP does not even copy it.
    pub(super) fn discard(&mut self, socket: BorrowedFd<'_>, length: u64, token: Token) {
        let length = length.min(DISCARD_AT_ONCE as u64) as u32;
        let receive = opcode::Recv::new(Fd(socket.as_raw_fd()), self.waste.start(), length);
        // Not to be joined with WAITALL: the kernel counts what is left by what
        // it has copied.
        let entry = receive.flags(RecvFlags::TRUNC.bits() as i32).build();
        self.push(entry, Op::Discard, token);
    }

    /// Submits, and waits for a completion if `block`.
    pub(super) fn enter(&mut self, block: bool) -> io::Result<()> {
        let entered = self.enter_kernel(block);
        self.reap();
        self.round = self.round.wrapping_add(1);
        match entered {
            Ok(_) => Ok(()),
            // Interrupted, or to be tried again once completions are taken.
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    #[inline]
    #[expect(unsafe_code, reason = "io_uring_enter is raw")]
    fn enter_kernel(&mut self, block: bool) -> io::Result<usize> {
        const GET_EVENTS: u32 = 1;
        let waiting = self.uring.submission().len() as u32;
        // SAFETY: every waiting entry was made by `push`, whose callers point
        // at memory that this ring owns; there is no argument.
        unsafe { self.uring.submitter().enter::<u8>(waiting, u32::from(block), GET_EVENTS, None) }
    }

    /// The next completion of the batch.
    #[inline]
    pub(super) fn completion(&mut self) -> Option<Done> {
        let Some(entry) = self.batch.get(self.next) else {
            self.batch.clear();
            self.next = 0;
            return None;
        };
        self.next += 1;
        let (data, flags) = (entry.user_data(), entry.flags());
        let result = match entry.result() {
            result @ 0.. => Ok(result as usize),
            error => Err(Errno::from_raw_os_error(-error)),
        };
        let more = cqueue::more(flags);
        let op = match data >> 56 {
            0 => Op::Connect,
            1 => Op::SendWhole,
            2 => Op::Send,
            3 => Op::Receive,
            4 => Op::Discard,
            _ => Op::Tick,
        };
        self.outstanding -= usize::from(!more && op.always_completes());
        let generation = (data >> 32) as u32 & 0xff_ffff;
        let token = Token { slot: data as u32, generation };
        let lend = |buffer| Buffers::lent(buffer, result.unwrap_or(0));
        let buffer = cqueue::buffer_select(flags).map(lend);
        Some(Done { op, token, result, more, unread: cqueue::sock_nonempty(flags), buffer })
    }

    /// Which batch of completions is being taken. Nothing in it answers a
    /// request that was queued in the same round.
    #[inline]
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// What the kernel has received into a buffer.
    #[inline]
    pub(super) fn filled(&self, lent: &Lent) -> &[u8] {
        self.buffers.filled(lent)
    }

    /// Hands a buffer back that has been read.
    #[inline]
    pub(super) fn take_back(&mut self, lent: Lent) {
        self.buffers.take_back(lent);
    }

    /// Queues an entry. Callers point it at memory that this ring owns and
    /// does not move: the request, the buffers, the waste, or, read at
    /// submission, an address or the period.
    #[inline]
    #[expect(unsafe_code, reason = "entries hold raw pointers")]
    fn push(&mut self, entry: squeue::Entry, op: Op, token: Token) {
        self.outstanding += usize::from(op.always_completes());
        let entry = entry.user_data(token.tagged(op));
        loop {
            // SAFETY: as said above. What the kernel may use later is kept
            // until every request that is not done with at its submission has
            // completed, and for ever when one does not: see `drop`.
            if unsafe { self.uring.submission().push(&entry) }.is_ok() {
                return;
            }
            self.submit();
        }
    }

    /// Hands what is queued to the kernel.
    #[cold]
    pub(super) fn submit(&mut self) {
        if let Err(error) = self.uring.submit() {
            assert!(is_passing(&error), "the ring takes no requests: {error}");
            self.reap();
            self.round = self.round.wrapping_add(1);
        }
    }

    /// Moves completions into the batch, so that their places are free.
    #[inline]
    fn reap(&mut self) {
        self.batch.extend(self.uring.completion());
    }

    /// Waits until every request has come back. Sockets that are shut down
    /// return theirs alone; what does not come is cancelled, which costs the
    /// kernel the square of their number.
    fn drain(&mut self) -> io::Result<()> {
        let mut before = usize::MAX;
        for _ in 0..MOST_ROUNDS {
            while self.completion().is_some() {}
            if self.outstanding == 0 {
                return Ok(());
            }
            if self.outstanding >= before {
                let cancel = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
                self.push(cancel, Op::Tick, Token::NONE);
            }
            before = self.outstanding;
            self.enter(true)?;
        }
        Err(io::Error::from(io::ErrorKind::TimedOut))
    }
}

impl Drop for Ring {
    #[expect(unsafe_code, reason = "memory must stay while the kernel may use it")]
    fn drop(&mut self) {
        let drained = self.drain();
        // SAFETY: the ring is not used again.
        unsafe { ManuallyDrop::drop(&mut self.uring) };
        match drained {
            // SAFETY: none is used again, and no request refers to them.
            Ok(()) => unsafe {
                ManuallyDrop::drop(&mut self.buffers);
                ManuallyDrop::drop(&mut self.waste);
                ManuallyDrop::drop(&mut self.shared);
            },
            // Better a leak than a write to memory that is somebody else's.
            Err(error) => tracing::warn!(%error, "a ring's requests did not come back"),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::INTR | Errno::AGAIN | Errno::BUSY | Errno::TIME))
}

/// A ring that does deferred work only when it is waited on, or, before
/// Linux 6.1, when the thread enters the kernel anyway.
fn set_up() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_clamp().setup_submit_all().setup_single_issuer().setup_cqsize(COMPLETIONS);
    let mut deferring = builder.clone();
    let uring = match deferring.setup_defer_taskrun().build(SUBMISSIONS) {
        Ok(uring) => uring,
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            builder.setup_coop_taskrun().build(SUBMISSIONS)?
        }
        Err(error) => return Err(error),
    };
    let parameters = uring.params();
    let suffices = parameters.is_feature_nodrop()
        && parameters.is_feature_submit_stable()
        && parameters.is_feature_skip_cqe_on_success();
    if suffices { Ok(uring) } else { Err(io::Error::from(io::ErrorKind::Unsupported)) }
}

/// Says whether this kernel grants what the driver needs.
pub(super) fn probe() -> io::Result<()> {
    let uring = set_up()?;
    // Dropped after the ring.
    let buffers = Buffers::register(&uring)?;
    drop(uring);
    drop(buffers);
    Ok(())
}

#[cfg(test)]
mod tests;
