use super::{Losses, News, Schedule, Taken};
use crate::clock::NEVER;
use crate::plan::Rate;
use crate::shared::Window;
use benchd_model::spec::Arrivals;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// One request every millisecond from 0 on, each with 100 ms of patience.
fn every_ms(max_queued: u64, window: std::ops::Range<u64>, requests: Option<u64>) -> Schedule {
    let rate = Rate { per_second: 1000.0, arrivals: Arrivals::Constant, max_queued, seed: 0 };
    let window = Window { start: window.start, end: window.end, grace_end: NEVER };
    Schedule::new(&rate, 0, window, requests, 100 * MS)
}

fn due(ms: u64) -> Option<Taken> {
    Some(Taken::Due(ms * MS))
}

fn claim(ms: u64) -> Option<Taken> {
    Some(Taken::Claim(ms * MS))
}

#[test]
fn a_free_connection_claims_the_next_request_and_a_late_one_takes_what_waits() {
    let mut schedule = every_ms(9, 0..NEVER, None);
    assert_eq!(schedule.take(0, 0), due(0));
    assert_eq!(schedule.take(0, 0), claim(1), "by the first thread");
    assert_eq!(schedule.take(0, 0), claim(2), "by the second");
    assert!(schedule.redeem(MS, MS) && schedule.redeem(2 * MS, 2 * MS));
    // All are taken until 5.5 ms: 3, 4 and 5 wait, and go out oldest first.
    let late = 5 * MS + MS / 2;
    assert_eq!([0; 4].map(|idle| schedule.take(late, idle)), [due(3), due(4), due(5), claim(6)]);
    assert_eq!(schedule.news(), News { due: 6, ..News::default() });
}

#[test]
fn a_thread_whose_clock_was_read_earlier_takes_what_another_found_due() {
    let mut schedule = every_ms(9, 0..NEVER, None);
    schedule.settle(2 * MS, 0);
    assert_eq!([0; 4].map(|idle| schedule.take(MS, idle)), [due(0), due(1), due(2), claim(3)]);
}

#[test]
fn what_finds_the_queue_full_is_dropped_and_what_waited_before_it_is_not() {
    let mut schedule = every_ms(2, 0..NEVER, None);
    schedule.settle(4 * MS, 0);
    let measured = Losses { crowded_out: 3, ..Losses::default() };
    assert_eq!(schedule.news(), News { due: 5, measured, ..News::default() });
    assert_eq!([0; 3].map(|idle| schedule.take(4 * MS, idle)), [due(0), due(1), claim(5)]);
}

#[test]
fn nothing_is_dropped_while_a_connection_is_free() {
    let mut late = every_ms(0, 0..NEVER, None);
    assert_eq!(late.take(0, 1), due(0));
    assert_eq!(late.take(0, 0), claim(1), "and the thread sleeps too long");
    // Another thread, whose connections are all taken, looks meanwhile.
    late.settle(4 * MS, 0);
    assert!(late.redeem(MS, 5 * MS));
    assert_eq!([4, 3, 2, 1].map(|idle| late.take(5 * MS, idle)), [2, 3, 4, 5].map(due));
    assert_eq!(late.news().measured, Losses::default());

    let mut own = every_ms(0, 0..NEVER, None);
    assert_eq!(own.take(2 * MS, 3), due(0), "as many as there are connections");
    assert_eq!(own.news().measured, Losses::default());
    let mut taken = every_ms(0, 0..NEVER, None);
    assert_eq!(taken.take(2 * MS, 0), claim(3));
    assert_eq!(taken.news().measured.crowded_out, 3);
}

#[test]
fn nobody_waits_longer_than_a_request_may_take() {
    let mut schedule = every_ms(1000, 0..NEVER, None);
    assert_eq!(schedule.take(150 * MS, 0), due(51));
    assert_eq!(schedule.news().measured, Losses { outwaited: 51, ..Losses::default() });
    // Those whose patience has ended leave room for those that come then.
    let mut full = every_ms(100, 0..NEVER, None);
    full.settle(300 * MS, 0);
    assert_eq!(full.news().measured, Losses { outwaited: 201, ..Losses::default() });
    let mut claimed = every_ms(9, 0..NEVER, None);
    assert_eq!([0; 2].map(|idle| claimed.take(0, idle)), [due(0), claim(1)]);
    assert!(!claimed.redeem(MS, 101 * MS), "too late to begin it");
    assert_eq!(claimed.news().measured.outwaited, 1);
}

#[test]
fn the_schedule_ends_with_its_window_or_its_count() {
    let all = |mut schedule: Schedule| {
        std::iter::from_fn(|| schedule.take(NEVER / 2, usize::MAX)).count() + {
            let News { measured, warmup, .. } = schedule.news();
            (measured.outwaited + warmup.outwaited) as usize
        }
    };
    assert_eq!(all(every_ms(9, 0..10 * MS, None)), 10, "none at the very end");
    assert_eq!(all(every_ms(9, 0..NEVER, Some(7))), 7);
    assert_eq!(all(every_ms(9, 5 * MS..NEVER, Some(7))), 12, "the warm-up comes before");
    assert_eq!(all(every_ms(9, 5 * MS..8 * MS, Some(7))), 8);
    assert_eq!(all(every_ms(9, 0..NEVER, Some(0))), 0);
}

#[test]
fn the_first_thread_to_see_the_end_ends_it_for_all() {
    let mut schedule = every_ms(99, 2 * MS..NEVER, None);
    assert_eq!([0; 2].map(|idle| schedule.take(0, idle)), [due(0), claim(1)]);
    schedule.close(5 * MS, None, std::iter::empty());
    assert_eq!(schedule.take(9 * MS, 0), None);
    schedule.close(9 * MS, Some(MS), [7].into_iter());
    let measured = Losses { left_over: 4, ..Losses::default() };
    let warmup = Losses { left_over: 2, ..Losses::default() };
    assert_eq!(schedule.news(), News { due: 4, measured, warmup });
}

proptest! {
    /// Some threads with some connections, in any interleaving: every request
    /// that comes due is begun or lost, once; none is begun early, and none is
    /// lost for want of room as long as there is room.
    #[test]
    fn every_request_is_begun_or_lost_once(
        steps in prop::collection::vec(
            (0usize..3, 0u64..30 * MS, 0u64..5 * MS, any::<bool>()), 1..200
        ),
        max_queued in 0u64..40,
        requests in prop::option::of(0u64..300),
        poisson: bool,
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let rate = Rate { per_second: 1000.0, arrivals, max_queued, seed: 3 };
        let window = Window { start: 20 * MS, end: 900 * MS, grace_end: NEVER };
        let mut schedule = Schedule::new(&rate, 0, window, requests, 100 * MS);
        let mut claims = [None; 3];
        let (mut now, mut begun, mut news) = (0, Vec::new(), Vec::new());
        for (thread, later, stale, settles) in steps {
            now += later;
            // The thread has read its clock a while ago.
            let seen: u64 = now - stale.min(now);
            if settles {
                schedule.settle(seen, 0);
            } else if let Some(claimed) = claims[thread] {
                if claimed <= seen {
                    claims[thread] = None;
                    if schedule.redeem(claimed, seen) {
                        begun.push((claimed, now));
                    }
                }
            } else {
                match schedule.take(seen, 0) {
                    Some(Taken::Due(due)) => begun.push((due, now)),
                    Some(Taken::Claim(claimed)) => claims[thread] = Some(claimed),
                    None => {}
                }
            }
            news.push(schedule.news());
        }
        for claimed in claims {
            schedule.close(now, claimed, std::iter::empty());
        }
        news.push(schedule.news());
        let lost = |losses: Losses| losses.crowded_out + losses.outwaited + losses.left_over;
        let measured = begun.iter().filter(|(due, _)| *due >= window.start).count() as u64;
        let due: u64 = news.iter().map(|news| news.due).sum();
        prop_assert_eq!(due, measured + news.iter().map(|news| lost(news.measured)).sum::<u64>());
        if !poisson {
            let in_all = now.min(window.end - 1) / MS + 1;
            let expected = in_all.saturating_sub(20);
            prop_assert_eq!(due, requests.map_or(expected, |most| most.min(expected)));
            let warmup = news.iter().map(|news| lost(news.warmup)).sum::<u64>();
            let warming = begun.len() as u64 - measured + warmup;
            prop_assert_eq!(warming, in_all.min(20));
        }
        for (due, begun) in &begun {
            prop_assert!(due <= begun && *begun < due + 105 * MS);
        }
        let mut starts: Vec<u64> = begun.iter().map(|(due, _)| *due).collect();
        starts.sort_unstable();
        starts.dedup();
        prop_assert_eq!(starts.len(), begun.len(), "each once");
    }
}
