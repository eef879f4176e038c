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

/// What the server knows of the time of every request, in microseconds.
#[derive(Debug, Default)]
struct Bounds {
    /// From the request read to the answer begun: it took the client longer.
    least: Vec<u64>,
    /// From the answer before to the next request read: the client was quicker.
    most: Vec<u64>,
}

impl Bounds {
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

/// Answers every request after the delay that its number of all has.
fn answer_late(mut peer: Peer, begun: Instant, numbers: &AtomicUsize, bounds: &Mutex<Bounds>) {
    let mut before = begun;
    let mut asked = peer.request();
    while asked.is_some() {
        let read = Instant::now();
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(DELAYS_MS[number % DELAYS_MS.len()]));
        let answered = Instant::now();
        peer.send(HELLO);
        // Or the end of the connection, which comes after the answer, too.
        asked = peer.request();
        let mut bounds = bounds.lock().unwrap();
        bounds.least.push(micros(answered - read));
        bounds.most.push(micros(before.elapsed()) + 1);
        before = answered;
    }
}

/// Loads the server and waits until it has seen the end of every connection.
fn measured(threads: u32, requests: u64) -> (Measured, Bounds) {
    let bounds = Arc::new(Mutex::new(Bounds::default()));
    let (kept, numbers, begun) = (bounds.clone(), AtomicUsize::new(0), Instant::now());
    let server = Server::start(move |peer| answer_late(peer, begun, &numbers, &kept));
    let run = load(server.address, |plan| {
        (plan.threads, plan.connections, plan.requests) = (threads, 6, Some(requests));
    });
    run.all(Outcome::Ok, requests);
    while bounds.lock().unwrap().most.len() < requests as usize {
        std::thread::yield_now();
    }
    let bounds = std::mem::take(&mut *bounds.lock().unwrap());
    (run, bounds)
}

/// Every percentile lies between those of the bounds, within three digits.
#[track_caller]
fn assert_bounded(reported: &Histogram, bounds: &Bounds) {
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
