use super::{Exchange, Nanos, Recorder, SECOND};
use crate::driver::{Report, Reporter};
use crate::http1::Completed;
use crate::shared::{Shared, Window};
use benchd_model::Outcome;
use std::sync::mpsc::channel;

/// What the seconds say after `recorded`: the window goes from second 1 to
/// second 3.
fn seconds(recorded: impl FnOnce(&mut Recorder), stopped_at: Option<Nanos>) -> Vec<(u64, u64)> {
    let shared = Shared::for_test("127.0.0.1:1".parse().unwrap());
    let (reporting, reports) = channel();
    let mut recorder = Recorder::new(shared, Reporter::new(0, reporting), Default::default());
    let window = Window { start: SECOND, end: 3 * SECOND, grace_end: 9 * SECOND };
    recorder.begin(window, 0);
    recorded(&mut recorder);
    recorder.finish(stopped_at.unwrap_or(9 * SECOND), stopped_at.is_some());
    drop(recorder);
    let seconds = reports.iter().filter_map(|(_, report)| match report {
        Report::Second(second) => Some((second.tally.span_us, second.tally.in_flight_us)),
        _ => None,
    });
    seconds.collect()
}

fn time_out(recorder: &mut Recorder, start: Nanos, end: Nanos) {
    recorder.failed(0, Outcome::Timeout, "no response", start, end);
}

fn complete(recorder: &mut Recorder, start: Nanos, done: Nanos) {
    let completed = Completed { status: 200, body: 0, keep: true, excess: false };
    let (reused, kept) = (true, true);
    recorder.complete(&Exchange {
        endpoint: 0,
        start,
        sent: start,
        first_byte: done,
        done,
        completed,
        reused,
        kept,
    });
}

#[test]
fn a_timeout_in_the_grace_was_in_flight_in_every_second_of_the_window() {
    let hung = |recorder: &mut Recorder| {
        recorder.begins(SECOND);
        time_out(recorder, SECOND, 4 * SECOND);
    };
    assert_eq!(seconds(hung, None), [(1_000_000, 1_000_000), (1_000_000, 1_000_000)]);
}

#[test]
fn a_timeout_is_in_flight_beside_answers_that_extend_the_window() {
    let late = |recorder: &mut Recorder| {
        recorder.begins(SECOND);
        recorder.begins(SECOND + SECOND / 2);
        time_out(recorder, SECOND, 3 * SECOND + SECOND / 4);
        complete(recorder, SECOND + SECOND / 2, 3 * SECOND + SECOND / 2);
    };
    let expected = [(1_000_000, 1_500_000), (1_000_000, 2_000_000), (500_000, 750_000)];
    assert_eq!(seconds(late, None), expected);
}

#[test]
fn what_is_cut_off_or_warms_up_is_in_flight_for_its_part() {
    let cut_off = |recorder: &mut Recorder| {
        recorder.begins(SECOND / 2);
        recorder.begins(SECOND / 2);
        recorder.warmed_up(Outcome::Ok, SECOND - 1);
        recorder.warmed_up(Outcome::Ok, SECOND + SECOND / 4);
        recorder.begins(2 * SECOND + SECOND / 4);
        recorder.abort(1, 0);
    };
    assert_eq!(seconds(cut_off, None), [(1_000_000, 250_000), (1_000_000, 750_000)]);
    let stopped = seconds(cut_off, Some(2 * SECOND + SECOND / 2));
    assert_eq!(stopped, [(1_000_000, 250_000), (500_000, 250_000)]);
}

#[test]
fn the_span_of_a_stopped_run_ends_when_it_was_stopped() {
    let idle = |recorder: &mut Recorder| {
        recorder.begins(SECOND);
        complete(recorder, SECOND, SECOND + SECOND / 4);
    };
    assert_eq!(seconds(idle, Some(SECOND + SECOND / 2)), [(500_000, 250_000)]);
}
