//! Reported times as in `latencies`, in open loops, where a time may count from when a request was due.

use crate::latencies::{Bounds, Seen, all_seen, assert_bounded, late_server};
use crate::open_loop::at;
use crate::support::{Measured, load_until, plan};
use benchd_engine::{Plan, Progress, Stop};
use benchd_model::job::Phase;
use benchd_model::{Histogram, Outcome};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The first request is due so long after the connections are open.
const LEAD: Duration = Duration::from_millis(20);

/// When requests were due, as far as it is certain without asking the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// The first one: at the earliest and at the latest.
    first: [Instant; 2],
    /// A whole number of nanoseconds.
    gap: Duration,
}

impl Due {
    /// Of a run that began to prepare at `begun`, by when its requests were read.
    fn new(begun: Instant, gap: Duration, seen: &[Seen]) -> Self {
        let mut reads: Vec<Instant> = seen.iter().map(|seen| seen.read).collect();
        reads.sort_unstable();
        // When n requests have been sent, the n-th has been due.
        let latest = (0..).zip(reads).map(|(number, read)| read - gap * number);
        Self { first: [begun + LEAD, latest.min().unwrap()], gap }
    }

    /// Request `number`, at the earliest and at the latest.
    fn of(&self, number: usize) -> [Instant; 2] {
        self.first.map(|first| first + self.gap * number as u32)
    }

    /// Every percentile of `run` lies within what the server saw of the requests,
    /// which are in the order in which they were due.
    #[track_caller]
    pub(crate) fn assert_of_each(&self, run: &Measured, seen: &[Seen]) {
        let [mut response, mut service, mut lateness] = [(); 3].map(|()| Bounds::default());
        for (number, seen) in seen.iter().enumerate() {
            let due = self.of(number);
            let sent = [seen.before.max(due[0]), seen.read];
            let done = [seen.answered, seen.after];
            response.add(due, done);
            service.add(sent, done);
            lateness.add(due, sent);
        }
        assert_bounded(&run.total.latency, &response);
        assert_bounded(&run.total.service, &service);
        assert_bounded(&run.total.lateness, &lateness);
    }

    /// The times of all requests together, whichever was on which connection.
    #[track_caller]
    fn assert_of_all(&self, run: &Measured, seen: &[Seen]) {
        let nanos = |end: &dyn Fn(&Seen) -> Instant, first: Instant| {
            let due = (0..seen.len() as u32).map(|number| first + self.gap * number);
            let since = |at: Instant| at.duration_since(self.first[0]).as_nanos() as i128;
            seen.iter().map(|seen| since(end(seen))).sum::<i128>() - due.map(since).sum::<i128>()
        };
        let within = |times: &Histogram, ends: [&dyn Fn(&Seen) -> Instant; 2]| {
            let (sum, cut) = (i128::from(times.sum_us()), i128::from(times.len()));
            let [least, most] = [nanos(ends[0], self.first[1]), nanos(ends[1], self.first[0])];
            let bounds = least / 1000 - cut..=most / 1000 + cut;
            assert!(bounds.contains(&sum), "the sum {sum} is not in {bounds:?}");
        };
        within(&run.total.latency, [&|seen| seen.answered, &|seen| seen.after]);
        within(&run.total.lateness, [&|seen| seen.before, &|seen| seen.read]);
    }
}

/// Runs `requests` at `per_second`, or what `change` makes of the plan.
pub(crate) fn load_at(
    address: SocketAddr,
    per_second: u32,
    change: impl FnOnce(&mut Plan),
) -> (Measured, impl FnOnce(&[Seen]) -> Due) {
    let mut plan = plan(address);
    at(&mut plan, per_second.into());
    change(&mut plan);
    let mut begun = None;
    let run = load_until(&plan, &Stop::default(), &mut |progress| {
        if matches!(progress, Progress::Phase(Phase::Preparing)) {
            begun = Some(Instant::now());
        }
    });
    run.all(Outcome::Ok, plan.requests.unwrap());
    let (begun, gap) = (begun.unwrap(), Duration::from_secs(1) / per_second);
    (run, move |seen| Due::new(begun, gap, seen))
}

#[test]
fn times_at_a_rate_are_those_of_the_server_with_one_connection() {
    // On average an answer takes 8.85 ms: a rate that it can follow, and one that
    // it falls behind.
    for (per_second, requests) in [(80, 100), (125, 200)] {
        let (server, seen) = late_server();
        let (run, due) = load_at(server.address, per_second, |plan| plan.requests = Some(requests));
        let seen = all_seen(&seen, requests);
        let due = due(&seen);
        due.assert_of_each(&run, &seen);
        due.assert_of_all(&run, &seen);
        // However slow the machine, 5 in 100 took 100 ms, and delayed the next one.
        assert!(run.total.service.percentile_us(96.0).unwrap() >= 100_000);
        assert!(run.total.latency.percentile_us(91.0).unwrap() >= 85_000);
    }
}

#[test]
fn times_at_a_rate_are_those_of_the_server_on_several_threads() {
    let (server, seen) = late_server();
    let (run, due) = load_at(server.address, 800, |plan| {
        (plan.threads, plan.connections, plan.requests) = (3, 6, Some(900));
    });
    let seen = all_seen(&seen, 900);
    due(&seen).assert_of_all(&run, &seen);
    let mut service = Bounds::default();
    for request in &seen {
        service.add([request.before, request.read], [request.answered, request.after]);
    }
    assert_bounded(&run.total.service, &service);
}
