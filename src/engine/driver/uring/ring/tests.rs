use super::{COMPLETIONS, Done, Op, Ring, SUBMISSIONS, Token, Wait};
use crate::driver::uring::probe;
use crate::shared::Shared;
use rustix::io::Errno;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// A ring whose period is over, where the kernel grants one.
fn ring() -> Option<Ring> {
    probe().ok()?;
    let shared = Shared::for_test("127.0.0.1:9".parse().unwrap());
    let mut ring = Ring::new(&shared, Duration::from_millis(1)).unwrap();
    ring.enter(Wait::ForCompletion).unwrap();
    assert!(matches!(ring.completion(), Some(Done { op: Op::Tick, .. })));
    assert!(ring.completion().is_none());
    Some(ring)
}

/// Two ends of one connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (ours, listener.accept().unwrap().0)
}

const fn token(slot: usize) -> Token {
    Token { slot: slot as u32, generation: 0 }
}

#[test]
fn more_bytes_than_all_buffers_hold_arrive_whole() {
    const EACH: usize = 48 * 1024;
    const CONNECTIONS: usize = 120;
    let Some(mut ring) = ring() else { return };
    let mut pairs: Vec<_> = (0..CONNECTIONS).map(|_| pair()).collect();
    let bytes: Vec<u8> = (0..EACH).map(|at| (at % 251) as u8).collect();
    for (ours, theirs) in &mut pairs {
        theirs.write_all(&bytes).unwrap();
        // All of them are there before the ring looks for the first.
        let mut there = vec![0; EACH];
        assert!((0..10_000).any(|_| matches!(ours.peek(&mut there), Ok(EACH))));
    }
    for (slot, (ours, _)) in pairs.iter().enumerate() {
        ring.receive(ours.as_fd(), token(slot));
    }
    let mut received = vec![Vec::new(); CONNECTIONS];
    let (mut refused, mut held) = (0, Vec::new());
    while received.iter().any(|received| received.len() < EACH) {
        ring.enter(Wait::ForCompletion).unwrap();
        while let Some(done) = ring.completion() {
            let slot = done.token.slot as usize;
            match done.result {
                Err(Errno::NOBUFS) => {
                    refused += 1;
                    held.drain(..).for_each(|lent| ring.take_back(lent));
                }
                result => assert!(matches!(result, Ok(1..)), "{result:?}"),
            }
            if let Some(lent) = done.buffer {
                received[slot].extend_from_slice(ring.filled(&lent));
                held.push(lent);
            }
            if !done.more {
                ring.receive(pairs[slot].0.as_fd(), token(slot));
            }
        }
    }
    // One request is still queued, and must not find another test's socket under
    // the number of this one.
    ring.submit();
    assert!(refused > 0, "the buffers were never used up");
    assert!(received.iter().all(|received| *received == bytes));
}

#[test]
fn no_completion_is_lost_when_more_come_than_there_is_room_for() {
    let Some(mut ring) = ring() else { return };
    let (ours, mut theirs) = pair();
    std::thread::spawn(move || while matches!(theirs.read(&mut [0; 1 << 16]), Ok(1..)) {});
    let sends = 2 * COMPLETIONS as usize + SUBMISSIONS as usize;
    // Submitted whenever the queue is full, and none reaped meanwhile.
    for slot in 0..sends {
        ring.send(ours.as_fd(), 0, token(slot));
    }
    let mut seen = vec![false; sends];
    while seen.contains(&false) {
        ring.enter(Wait::ForCompletion).unwrap();
        while let Some(done) = ring.completion() {
            assert!(matches!(done.result, Ok(1..)), "{done:?}");
            let slot = done.token.slot as usize;
            assert!(!std::mem::replace(&mut seen[slot], true), "{slot} came twice");
        }
    }
}

#[test]
fn what_is_thrown_away_is_counted_and_nothing_else_is_taken() {
    let Some(mut ring) = ring() else { return };
    let (ours, mut theirs) = pair();
    theirs.write_all(b"headbodynext").unwrap();
    let mut there = [0; 12];
    assert!((0..10_000).any(|_| matches!(ours.peek(&mut there), Ok(12))));
    let next = |ring: &mut Ring| {
        ring.enter(Wait::ForCompletion).unwrap();
        let done = ring.completion().unwrap();
        assert!(ring.completion().is_none());
        let bytes = done.buffer.map(|lent| {
            let bytes = ring.filled(&lent).to_vec();
            ring.take_back(lent);
            bytes
        });
        (done.result, done.unread, bytes)
    };
    ring.receive_once(ours.as_fd(), 4, token(0));
    assert_eq!(next(&mut ring), (Ok(4), true, Some(b"head".to_vec())));
    ring.discard(ours.as_fd(), 4, token(0));
    assert_eq!(next(&mut ring), (Ok(4), true, None));
    ring.receive_once(ours.as_fd(), 0, token(0));
    assert_eq!(next(&mut ring), (Ok(4), false, Some(b"next".to_vec())));
    // The end counts as something to be read.
    theirs.write_all(b"tail").unwrap();
    theirs.shutdown(Shutdown::Write).unwrap();
    let mut there = [0; 5];
    assert!((0..10_000).any(|_| matches!(ours.peek(&mut there), Ok(4))));
    ring.discard(ours.as_fd(), 100, token(0));
    assert_eq!(next(&mut ring).0, Ok(4));
    ring.discard(ours.as_fd(), 100, token(0));
    assert_eq!(next(&mut ring), (Ok(0), true, None));
}

#[test]
fn completions_taken_in_out_of_turn_are_the_next_round_s() {
    let Some(mut ring) = ring() else { return };
    let (ours, mut theirs) = pair();
    theirs.write_all(b"answer").unwrap();
    let asked = ring.receive_once(ours.as_fd(), 0, token(0));
    // As when the kernel takes no more requests for now.
    while !ring.reaped.iter().any(|one| one.entry.user_data() == token(0).tagged(Op::Receive)) {
        ring.uring.submit_and_wait(1).unwrap();
        ring.reap();
    }
    assert!(ring.holds(asked));
    // What has come answers no request that is yet to go out, and nothing else
    // is under way: waiting for one more would be for ever.
    ring.enter(Wait::ForCompletion).unwrap();
    let later = ring.receive_once(ours.as_fd(), 0, token(0));
    // One request is still queued, and must not find another test's socket under
    // the number of this one.
    ring.submit();
    let done = std::iter::from_fn(|| ring.completion()).find(|done| done.op == Op::Receive);
    let round = done.unwrap().round;
    assert!(asked < round && round <= later, "{asked} {round} {later}");
}

#[test]
fn what_has_come_is_stamped_before_it_is_handled() {
    let Some(mut ring) = ring() else { return };
    let before = ring.shared.clock.now();
    ring.tick();
    ring.enter(Wait::ForCompletion).unwrap();
    let after = ring.shared.clock.now();
    while ring.shared.clock.now() == after {}
    let done = ring.completion().unwrap();
    assert!(before < done.at && done.at <= after, "{before} {} {after}", done.at);
}
