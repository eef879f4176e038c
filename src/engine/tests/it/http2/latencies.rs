//! Reported times of streams that overlap, against a server that knows better: it
//! follows each answer by a PING, whose ACK tells that the client has got it.

use super::frames::{ACK, DATA, END_HEADERS, END_STREAM, HEADERS, Http2, OK, PING, frame};
use crate::latencies::{Seen, all_seen, delay};
use crate::latencies_open_loop::load_at;
use crate::support::Server;
use benchd_model::spec::Protocol;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Answers `stream` after its delay, between frames of others.
fn answer_late(stream: u32, writer: &Mutex<TcpStream>) -> Instant {
    // A client's streams have the odd numbers.
    std::thread::sleep(delay(stream as usize / 2));
    let answer = [
        frame(HEADERS, END_HEADERS, stream, OK),
        frame(DATA, END_STREAM, stream, b"hello"),
        frame(PING, 0, 0, &u64::from(stream).to_be_bytes()),
    ];
    let mut writer = writer.lock().unwrap();
    let answered = Instant::now();
    writer.write_all(&answer.concat()).ok();
    answered
}

/// Answers each request on a thread of its own.
fn answer_all_late(mut http2: Http2, begun: Instant, seen: &Arc<Mutex<Vec<Seen>>>) {
    let writer = Arc::new(Mutex::new(http2.peer.stream.try_clone().unwrap()));
    let mut answers = BTreeMap::new();
    while let Some(frame) = http2.frame() {
        match frame.kind {
            HEADERS => {
                let (read, stream, writer) = (Instant::now(), frame.stream, writer.clone());
                let answer = std::thread::spawn(move || answer_late(stream, &writer));
                answers.insert(u64::from(stream), (read, answer));
            }
            PING if frame.flags & ACK != 0 => {
                let after = Instant::now();
                let stream = u64::from_be_bytes(frame.payload.try_into().unwrap());
                let (read, answer) = answers.remove(&stream).unwrap();
                let answered = answer.join().unwrap();
                seen.lock().unwrap().push(Seen { before: begun, read, answered, after });
            }
            _ => {}
        }
    }
    // The end of the run may have cut the last ACKs off.
    for (read, answer) in answers.into_values() {
        let answered = answer.join().unwrap();
        seen.lock().unwrap().push(Seen { before: begun, read, answered, after: Instant::now() });
    }
}

#[test]
fn times_of_streams_at_a_rate_are_those_of_the_server() {
    // At most so many streams: enough for the rate, and so few that requests wait.
    for streams in [60, 2] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, begun) = (seen.clone(), Instant::now());
        let server = Server::start(move |peer| {
            if let Some(http2) = Http2::greet(peer, &[]) {
                answer_all_late(http2, begun, &kept);
            }
        });
        let (run, due) = load_at(server.address, 250, |plan| {
            (plan.protocol, plan.streams, plan.requests) = (Protocol::H2, streams, Some(300));
        });
        let mut seen = all_seen(&seen, 300);
        seen.sort_unstable_by_key(|seen| seen.read);
        // A request beyond the streams was sent when so many had been answered that
        // one was free for it.
        let mut answered: Vec<Instant> = seen.iter().map(|seen| seen.answered).collect();
        answered.sort_unstable();
        for (seen, answered) in seen[streams as usize..].iter_mut().zip(answered) {
            seen.before = answered;
        }
        due(&seen).assert_of_each(&run, &seen);
    }
}
