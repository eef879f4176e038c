//! Reported times against a server that knows better: it delays its answers on
//! purpose and keeps, for each request, bounds that no scheduling can break.

use crate::support::{Measured, Peer, Server, load};
use benchd_model::{Histogram, Outcome};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Of 20 answers in a row: 12 after 1 ms, 5 after 5 ms, 2 after 20 ms, one
/// after 100 ms.
const DELAYS_MS: [u64; 20] = [1, 5, 1, 1, 20, 1, 1, 5, 1, 100, 1, 5, 1, 20, 5, 1, 1, 5, 1, 1];

/// How long the server lets request `number` wait.
pub(crate) fn delay(number: usize) -> Duration {
    Duration::from_millis(DELAYS_MS[number % DELAYS_MS.len()])
}

/// What the server saw of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Before the client can have sent it.
    pub(crate) before: Instant,
    /// It was read: the client had sent it.
    pub(crate) read: Instant,
    /// Its answer was begun: the client had not got it yet.
    pub(crate) answered: Instant,
    /// The client had got the answer.
    pub(crate) after: Instant,
}

/// What the server knows of the time of every request, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    /// It took the client longer.
    least: Vec<u64>,
    /// It took the client less.
    most: Vec<u64>,
}

impl Bounds {
    /// A time that lasted from `start` (at the earliest, at the latest) to `end`.
    pub(crate) fn add(&mut self, start: [Instant; 2], end: [Instant; 2]) {
        self.least.push(micros(end[0].saturating_duration_since(start[1])));
        self.most.push(micros(end[1].saturating_duration_since(start[0])) + 1);
    }

    fn sorted(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut least, mut most) = (self.least.clone(), self.most.clone());
        // What holds for each holds for each rank.
        least.sort_unstable();
        most.sort_unstable();
        (least, most)
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// A server that answers every request after the delay that its number of all has,
/// and what it sees of them.
pub(crate) fn late_server() -> (Server, Arc<Mutex<Vec<Seen>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (kept, numbers, begun) = (seen.clone(), AtomicUsize::new(0), Instant::now());
    let server = Server::start(move |peer| answer_late(peer, begun, &numbers, &kept));
    (server, seen)
}

fn answer_late(mut peer: Peer, begun: Instant, numbers: &AtomicUsize, seen: &Mutex<Vec<Seen>>) {
    let mut before = begun;
    let mut asked = peer.request();
    while asked.is_some() {
        let read = Instant::now();
        std::thread::sleep(delay(numbers.fetch_add(1, Ordering::SeqCst)));
        let answered = Instant::now();
        peer.send(HELLO);
        // Or the end of the connection, which comes after the answer, too.
        asked = peer.request();
        seen.lock().unwrap().push(Seen { before, read, answered, after: Instant::now() });
        before = answered;
    }
}

/// Waits until the server has seen the end of so many requests.
pub(crate) fn all_seen(seen: &Mutex<Vec<Seen>>, requests: u64) -> Vec<Seen> {
    while seen.lock().unwrap().len() < requests as usize {
        std::thread::yield_now();
    }
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Loads the server in a closed loop.
fn measured(threads: u32, requests: u64) -> (Measured, Bounds) {
    let (server, seen) = late_server();
    let run = load(server.address, |plan| {
        (plan.threads, plan.connections, plan.requests) = (threads, 6, Some(requests));
    });
    run.all(Outcome::Ok, requests);
    let mut bounds = Bounds::default();
    for request in all_seen(&seen, requests) {
        bounds.add([request.before, request.read], [request.answered, request.after]);
    }
    (run, bounds)
}

/// Every percentile lies between those of the bounds, within three digits.
#[track_caller]
pub(crate) fn assert_bounded(reported: &Histogram, bounds: &Bounds) {
    let (least, most) = bounds.sorted();
    assert_eq!(reported.len() as usize, least.len());
    for percent in [0.1, 1.0, 10.0, 50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.9, 100.0] {
        let rank = (percent / 100.0 * least.len() as f64 - 1e-9).ceil() as usize - 1;
        let value = reported.percentile_us(percent).unwrap();
        let highest = most[rank] + most[rank] / 1000 + 1;
        let bounds = least[rank]..=highest;
        assert!(bounds.contains(&value), "p{percent}: {value} is not in {bounds:?}");
    }
    let (sum, most) = (reported.sum_us(), most.iter().sum::<u64>());
    let least = least.iter().sum::<u64>();
    assert!((least..=most).contains(&sum), "the sum {sum} is not in {least}..={most}");
}

#[test]
fn reported_times_are_those_of_the_server_on_one_and_on_several_threads() {
    for threads in [1, 3] {
        let (run, bounds) = measured(threads, 900);
        assert_bounded(&run.total.latency, &bounds);
        assert_bounded(&run.total.service, &bounds);
        assert!(run.total.ttfb.sum_us() <= run.total.service.sum_us());
        // Each sample once, and in its second: what seconds hold is the whole.
        assert!(run.seconds.len() > 1, "the run was to last longer than a second");
        let mut merged = Histogram::new();
        run.seconds.iter().for_each(|second| merged.merge(&second.tally.latency));
        assert_eq!(merged, run.total.latency);
        assert_eq!(merged.summary(), run.total.latency.summary());
        for second in &run.seconds {
            assert_eq!(second.tally.latency.len(), second.tally.counts.ok);
            let ended = |row: &&benchd_engine::Row| {
                let done = row.start_us + u64::from(row.total_us);
                done / 1_000_000 == u64::from(second.index)
            };
            // Rows are cut to the microsecond, so one may stand on an edge.
            let rows = run.rows.iter().filter(ended).count() as u64;
            assert!(rows.abs_diff(second.tally.counts.ok) <= 2, "{rows} in {}", second.index);
        }
        let mut raw = Bounds::default();
        for row in &run.rows {
            raw.least.push(u64::from(row.total_us));
            raw.most.push(u64::from(row.total_us) + 1);
        }
        assert_bounded(&run.total.latency, &raw);
    }
}

#[test]
fn delays_that_differ_by_their_size_keep_their_places() {
    let (run, _) = measured(2, 300);
    // However slow the machine, 15 of 300 took 100 ms, 45 took 20 ms or more.
    let at_least = |percent: f64, ms: u64| {
        let value = run.total.latency.percentile_us(percent).unwrap();
        assert!(value >= ms * 1000, "p{percent} is {value} us");
    };
    at_least(0.1, 1);
    at_least(61.0, 5);
    at_least(86.0, 20);
    at_least(96.0, 100);
}
