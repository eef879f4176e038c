//! Waking those who wait.

use crate::backends::{Backend, on_both};
use crate::samples::{LEASE, at, claim, finish, queue, running};
use benchd_model::event::JobEventKind;
use benchd_model::{JobState, Phase};
use benchd_store::{Changes, Store};
use std::time::{Duration, Instant};

/// Far longer than any wake-up takes, far shorter than a test may hang.
const LONG: Duration = Duration::from_secs(60);

on_both!(
    every_change_wakes_a_waiter_of_this_process,
    a_change_before_the_wait_is_not_slept_over,
    waiting_ends_in_time_without_a_change,
);

async fn woken(changes: &mut Changes) {
    let begun = Instant::now();
    changes.wait(LONG).await;
    assert!(begun.elapsed() < LONG, "slept over a change");
}

async fn every_change_wakes_a_waiter_of_this_process(_: Backend, store: Store) {
    let mut changes = store.changes();
    let id = queue(&store, "a").await;
    woken(&mut changes).await;
    let lease = claim(&store).await.unwrap();
    woken(&mut changes).await;
    store.cancel(id, at(2)).await.unwrap();
    woken(&mut changes).await;
    let kind = JobEventKind::Phase { trial: 1, phase: Phase::Measuring };
    store.emit(&lease, at(2), kind).await.unwrap();
    woken(&mut changes).await;
    finish(&store, &lease, JobState::Cancelled, 3).await;
    woken(&mut changes).await;
    store.delete(id).await.unwrap();
    woken(&mut changes).await;
}

async fn a_change_before_the_wait_is_not_slept_over(_: Backend, store: Store) {
    let mut changes = store.changes();
    queue(&store, "a").await;
    woken(&mut changes).await;
    let (waiter, changer) = (store.clone(), store.clone());
    let waiting = tokio::spawn(async move { waiter.changed(LONG).await });
    // Until the waiter is known to wait, change again and again.
    while !waiting.is_finished() {
        queue(&changer, "a").await;
    }
    waiting.await.unwrap();
}

async fn waiting_ends_in_time_without_a_change(_: Backend, store: Store) {
    let at_most = Duration::from_millis(20);
    let begun = Instant::now();
    let mut changes = store.changes();
    for _ in 0..20 {
        changes.wait(at_most).await;
        if begun.elapsed() >= at_most {
            return;
        }
    }
    panic!("woken again and again by nothing");
}

#[test]
fn postgres_tells_other_processes() {
    Backend::postgres().run(async |backend: Backend, here: Store| {
        let there = backend.open().await;
        let mut changes = there.changes();
        // The listener announces itself once when it begins to listen, and may
        // bundle what comes close together: wait until each change is visible.
        let lease = running(&here, "a").await;
        for _ in 0..100 {
            if there.job(lease.job).await.unwrap().is_some() && !changes_left(&mut changes).await {
                break;
            }
        }
        let told = async {
            for _ in 0..100 {
                woken(&mut changes).await;
                if there.events_after(lease.job, 2, 9).await.unwrap().len() == 1 {
                    return true;
                }
            }
            false
        };
        let kind = JobEventKind::Phase { trial: 1, phase: Phase::Measuring };
        let (told, emitted) = tokio::join!(told, here.emit(&lease, at(2), kind));
        assert!(told && emitted.is_ok());
        // A wish to cancel makes no event, and is told all the same.
        let mut changes = there.changes();
        here.cancel(lease.job, at(3)).await.unwrap();
        woken(&mut changes).await;
        let beat = there.heartbeat(&lease, at(4), LEASE, None, &Default::default()).await;
        assert!(beat.unwrap().cancel_requested);
    });
}

/// True when something changed within a moment.
async fn changes_left(changes: &mut Changes) -> bool {
    let moment = Duration::from_millis(50);
    let begun = Instant::now();
    changes.wait(moment).await;
    begun.elapsed() < moment
}
