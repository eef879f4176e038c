//! The ring of one thread: requests to the kernel go in, completions come out.
//! It owns everything that the kernel reads or writes on its own account, so
//! that its methods are safe to call; what a completion means it does not know.

use super::buffers::{Buffers, GROUP, Lent, Region};
use super::completion::{Done, Op, Reaped, Token};
use super::setup::set_up;
use crate::clock::Nanos;
use crate::endpoint::Endpoint;
use crate::shared::Shared;
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny};
use std::collections::VecDeque;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Requests that may wait for submission. Few, since both rings are gone through
/// from end to end all the time.
pub(super) const SUBMISSIONS: u32 = 64;

/// Completions that may wait for us; more are kept by the kernel.
pub(super) const COMPLETIONS: u32 = 1024;

/// Completions that wait to be handled, at which no more are asked for.
const PLENTY: usize = 16;

/// The most that one receive throws away.
const DISCARD_AT_ONCE: usize = 1 << 20;

/// Flags of receives, as io_uring names them: do not try before the socket has
/// something; complete again and again.
const POLL_FIRST: u16 = 1;
const MULTISHOT: u16 = 2;

/// Waits for requests to come back before the buffers are freed; each brings
/// at least one.
const MOST_ROUNDS: u32 = 1_000_000;

const NOSIGNAL: u32 = SendFlags::NOSIGNAL.bits();

/// How long to wait for a completion.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    Not,
    ForCompletion,
    /// For one, but no longer than until then.
    Until(Nanos),
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
    /// What waits to be handled, stamped already.
    reaped: VecDeque<Reaped>,
    /// Counts how often all that was queued was handed to the kernel.
    round: u64,
    /// Requests that will complete at least once more.
    outstanding: usize,
}

impl Ring {
    /// Sets a ring up on this thread, which must be the only one to use it.
    pub(super) fn new(shared: &Arc<Shared>, period: Duration) -> io::Result<Self> {
        let endpoints = &shared.prepared.plan.endpoints;
        let addresses = endpoints.iter().map(Endpoint::as_any).collect::<io::Result<_>>()?;
        let waste = Region::untouched(DISCARD_AT_ONCE)?;
        let uring = set_up()?;
        let buffers = Buffers::register(&uring)?;
        let mut ring = Self {
            uring: ManuallyDrop::new(uring),
            buffers: ManuallyDrop::new(buffers),
            waste: ManuallyDrop::new(waste),
            shared: ManuallyDrop::new(shared.clone()),
            addresses,
            period: Box::new(Timespec::from(period)),
            reaped: VecDeque::with_capacity(COMPLETIONS as usize),
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
    pub(super) fn connect(&mut self, socket: BorrowedFd<'_>, endpoint: u32, token: Token) -> u64 {
        let address = &self.addresses[endpoint as usize];
        let (start, length) = (address.as_ptr().cast(), address.addr_len());
        let entry = opcode::Connect::new(Fd(socket.as_raw_fd()), start, length).build();
        self.push(entry, Op::Connect, token)
    }

    /// Sends the whole request at once, and completes only when the socket
    /// does not take it.
    #[inline]
    pub(super) fn send_whole(&mut self, socket: BorrowedFd<'_>, token: Token) -> u64 {
        let request = &self.shared.prepared.request;
        let (start, length) = (request.as_ptr(), request.len() as u32);
        let flags = NOSIGNAL | SendFlags::DONTWAIT.bits() | RecvFlags::WAITALL.bits();
        let send = opcode::Send::new(Fd(socket.as_raw_fd()), start, length).flags(flags as i32);
        self.push(send.build().flags(squeue::Flags::SKIP_SUCCESS), Op::SendWhole, token)
    }

    /// Sends what the socket takes of the request from `from` on.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, from: usize, token: Token) -> u64 {
        let rest = &self.shared.prepared.request[from..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let send = opcode::Send::new(Fd(socket.as_raw_fd()), rest.as_ptr(), length);
        let entry = send.flags(NOSIGNAL as i32).build();
        self.push(entry, Op::Send, token)
    }

    /// Completes when the socket takes more, or is broken.
    pub(super) fn await_room(&mut self, socket: BorrowedFd<'_>, token: Token) -> u64 {
        let entry = opcode::PollAdd::new(Fd(socket.as_raw_fd()), PollFlags::OUT.bits().into());
        self.push(entry.build(), Op::Room, token)
    }

    /// Receives whatever comes, until it completes without `more`.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, token: Token) -> u64 {
        self.receive_buffered(socket, MULTISHOT | POLL_FIRST, 0, token)
    }

    /// Receives once, and no more than `length` bytes.
    pub(super) fn receive_once(
        &mut self,
        socket: BorrowedFd<'_>,
        length: u32,
        token: Token,
    ) -> u64 {
        self.receive_buffered(socket, POLL_FIRST, length, token)
    }

    fn receive_buffered(
        &mut self,
        socket: BorrowedFd<'_>,
        how: u16,
        length: u32,
        token: Token,
    ) -> u64 {
        let receive = opcode::Recv::new(Fd(socket.as_raw_fd()), std::ptr::null_mut(), length);
        let entry = receive.ioprio(how).buf_group(GROUP).build();
        self.push(entry.flags(squeue::Flags::BUFFER_SELECT), Op::Receive, token)
    }

    /// Takes what comes off a TCP socket, at most `length` bytes, and throws it
    /// away; TCP does not even copy it.
    pub(super) fn discard(&mut self, socket: BorrowedFd<'_>, length: u64, token: Token) -> u64 {
        let length = length.min(DISCARD_AT_ONCE as u64) as u32;
        let receive = opcode::Recv::new(Fd(socket.as_raw_fd()), self.waste.start(), length);
        // Not to be joined with WAITALL: the kernel counts what is left by what
        // it has copied.
        let entry = receive.flags(RecvFlags::TRUNC.bits() as i32).build();
        self.push(entry, Op::Discard, token)
    }

    /// Submits, and waits for a completion as long as said. Nothing is left to
    /// be submitted then.
    pub(super) fn enter(&mut self, wait: Wait) -> io::Result<()> {
        // Completions may be there already.
        let wait = if self.reaped.is_empty() { wait } else { Wait::Not };
        let entered = match wait {
            Wait::Not => self.enter_kernel(false),
            Wait::ForCompletion => self.enter_kernel(true),
            Wait::Until(moment) => self.enter_kernel_until(moment),
        };
        self.reap();
        match entered {
            Err(error) if !is_passing(&error) => return Err(error),
            // Interrupted, or to be tried again once completions are taken.
            _ if !self.uring.submission().is_empty() => self.submit(),
            _ => {}
        }
        self.round += 1;
        Ok(())
    }

    #[inline]
    #[expect(unsafe_code, reason = "io_uring_enter is raw")]
    fn enter_kernel(&mut self, block: bool) -> io::Result<usize> {
        // What waits here holds a buffer each, of which there are only so many.
        let get_events = u32::from(self.reaped.len() < PLENTY);
        let waiting = self.uring.submission().len() as u32;
        // SAFETY: every waiting entry was made by `push`, whose callers point
        // at memory that this ring owns; there is no argument.
        unsafe { self.uring.submitter().enter::<u8>(waiting, u32::from(block), get_events, None) }
    }

    /// As with `block`, but no longer than until `moment`.
    fn enter_kernel_until(&mut self, moment: Nanos) -> io::Result<usize> {
        let clock = self.shared.clock;
        let (time, flags) = if self.uring.params().is_feature_min_timeout() {
            let (seconds, nanos) = clock.absolute(moment);
            (Timespec::new().sec(seconds).nsec(nanos), EnterFlags::ABS_TIMER)
        } else {
            // Before Linux 6.12 waiting takes a length, which counts from when
            // all is submitted.
            self.enter_kernel(false)?;
            let left = Duration::from_nanos(moment.saturating_sub(clock.now()));
            (Timespec::from(left), EnterFlags::empty())
        };
        let until = SubmitArgs::new().timespec(&time);
        self.uring.submitter().submit_with_args_and_flags(1, &until, flags)
    }

    /// The next completion that has come.
    #[inline]
    pub(super) fn completion(&mut self) -> Option<Done> {
        let done = Done::read(&self.reaped.pop_front()?);
        if done.result == Err(Errno::NOBUFS) {
            self.buffers.double();
        }
        self.outstanding -= usize::from(!done.more && done.op.always_completes());
        Some(done)
    }

    /// The present round: what is queued now has it.
    #[inline]
    pub(super) const fn round(&self) -> u64 {
        self.round
    }

    /// True when what was queued in that round has not been handed to the
    /// kernel yet.
    #[inline]
    pub(super) fn holds(&self, round: u64) -> bool {
        self.round == round
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
    /// submission, an address or the period. Returns the round it is queued in.
    #[inline]
    #[expect(unsafe_code, reason = "entries hold raw pointers")]
    fn push(&mut self, entry: squeue::Entry, op: Op, token: Token) -> u64 {
        self.outstanding += usize::from(op.always_completes());
        let entry = entry.user_data(token.tagged(op));
        loop {
            // SAFETY: as said above. What the kernel may use later is kept
            // until every request that is not done with at its submission has
            // completed, and for ever when one does not: see `drop`.
            if unsafe { self.uring.submission().push(&entry) }.is_ok() {
                return self.round;
            }
            self.submit();
        }
    }

    /// Hands all that is queued to the kernel: what stayed behind might find
    /// another socket under its number.
    #[cold]
    pub(super) fn submit(&mut self) {
        for _ in 0..MOST_ROUNDS {
            if self.uring.submission().is_empty() {
                self.round += 1;
                return;
            }
            if let Err(error) = self.uring.submit() {
                assert!(is_passing(&error), "the ring takes no requests: {error}");
                self.reap();
            }
        }
        panic!("the ring takes no requests");
    }

    /// Takes completions off the ring. They are the next round's: they may
    /// answer what has been queued in this one.
    #[inline]
    fn reap(&mut self) {
        let completed = self.uring.completion();
        if !completed.is_empty() {
            // Only now that they are seen to be there.
            let (at, round) = (self.shared.clock.now(), self.round + 1);
            self.reaped.extend(completed.map(|entry| Reaped { entry, at, round }));
        }
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
            self.enter(Wait::ForCompletion)?;
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

#[cfg(test)]
mod tests;
