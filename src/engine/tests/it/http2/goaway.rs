//! How connections end: announced, halfway, and without a word.

use super::frames::{DATA, END_HEADERS, GOAWAY, HEADERS, OK, farewell, greeting, load_http2};
use benchd_model::Outcome;
use std::time::Duration;

#[test]
fn an_announced_end_is_no_failure() {
    let server = greeting(|mut http2| {
        for _ in 0..4 {
            let Some(stream) = http2.request() else { return };
            http2.answer(stream, b"hello");
        }
        let Some(stream) = http2.request() else { return };
        http2.send(GOAWAY, 0, 0, &farewell(stream, 0));
        http2.answer(stream, b"hello");
        http2.hold();
    });
    let run = load_http2(server.address, |plan| plan.requests = Some(23));
    run.all(Outcome::Ok, 23);
    assert_eq!((run.opened(), server.accepted()), (5, 5));
    assert_eq!((run.total.connections.reused_requests, run.total.connections.idle_closed), (18, 0));
    assert!(run.end.notes.is_empty() && run.end.failure_reasons.is_empty());
}

#[test]
fn streams_within_the_announcement_are_ended_and_those_beyond_it_count_as_not_processed() {
    let server = greeting(|mut http2| {
        let streams: Vec<u32> = (0..4).filter_map(|_| http2.request()).collect();
        let [first, second, ..] = streams[..] else { return };
        http2.send(GOAWAY, 0, 0, &farewell(second, 0));
        http2.answer(second, b"hello");
        http2.answer(first, b"hello");
        http2.hold();
    });
    let run = load_http2(server.address, |plan| {
        plan.streams = 4;
        plan.requests = Some(12);
    });
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Reset)), (6, 6), "{}", run.reasons());
    assert!(run.reasons().contains("not processed"), "{}", run.reasons());
    assert_eq!(run.opened(), 3);
}

#[test]
fn the_next_attempts_do_not_wait_for_the_old_connection() {
    // The first connection never answers the request that it has announced to
    // end; all others go out on the second one meanwhile.
    let server = greeting(|mut http2| {
        if http2.peer.number > 0 {
            return http2.answer_all(b"hello");
        }
        let (Some(first), Some(second)) = (http2.request(), http2.request()) else { return };
        http2.send(GOAWAY, 0, 0, &farewell(second, 0));
        http2.answer(first, b"hello");
        http2.hold();
    });
    let run = load_http2(server.address, |plan| {
        plan.streams = 2;
        plan.requests = Some(20);
        plan.timeout = Duration::from_millis(700);
    });
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Timeout)), (19, 1), "{}", run.reasons());
    assert_eq!((run.opened(), run.end.connections_achieved), (2, 2));
}

#[test]
fn a_graceful_shutdown_in_two_steps_loses_nothing() {
    let server = greeting(|mut http2| {
        let Some(first) = http2.request() else { return };
        http2.send(GOAWAY, 0, 0, &farewell(0x7fff_ffff, 0));
        http2.answer(first, b"hello");
        http2.send(GOAWAY, 0, 0, &farewell(first, 0));
        http2.hold();
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    assert_eq!(run.opened(), 10);
}

#[test]
fn an_error_code_is_told() {
    for (code, outcome, name) in
        [(11, Outcome::Reset, "ENHANCE_YOUR_CALM"), (1, Outcome::Protocol, "PROTOCOL_ERROR")]
    {
        let server = greeting(move |mut http2| {
            http2.request();
            http2.send(GOAWAY, 0, 0, &farewell(0, code));
        });
        let run = load_http2(server.address, |_| {});
        run.all(outcome, 10);
        assert!(run.reasons().contains(name), "{}", run.reasons());
    }
    // Taken, it says, and yet not answered.
    let server = greeting(|mut http2| {
        let stream = http2.request().unwrap_or(1);
        http2.send(GOAWAY, 0, 0, &farewell(stream, 2));
    });
    let run = load_http2(server.address, |_| {});
    run.all(Outcome::Reset, 10);
    assert!(run.reasons().contains("after GOAWAY INTERNAL_ERROR"), "{}", run.reasons());
}

#[test]
fn an_end_without_a_word_is_a_reset_before_the_response_and_truncates_it_inside() {
    let server = greeting(|mut http2| {
        http2.request();
    });
    let run = load_http2(server.address, |plan| plan.streams = 3);
    run.all(Outcome::Reset, 10);
    assert!(
        run.reasons().contains("closed a new connection before it answered"),
        "{}",
        run.reasons()
    );

    for body in [None, Some(&b"half"[..])] {
        let server = greeting(move |mut http2| {
            let Some(stream) = http2.request() else { return };
            http2.send(HEADERS, END_HEADERS, stream, OK);
            if let Some(body) = body {
                http2.send(DATA, 0, stream, body);
            }
        });
        let run = load_http2(server.address, |_| {});
        run.all(Outcome::Truncated, 10);
        assert!(run.reasons().contains("closed inside the response"), "{}", run.reasons());
    }
    // An interim response is the beginning of one.
    let server = greeting(|mut http2| {
        let Some(stream) = http2.request() else { return };
        http2.send(HEADERS, END_HEADERS, stream, &super::frames::head("103", None));
    });
    load_http2(server.address, |_| {}).all(Outcome::Truncated, 10);
}

#[test]
fn a_connection_that_ends_while_idle_costs_no_request() {
    let server = greeting(|http2| {
        if http2.peer.number > 0 {
            http2.answer_all(b"hello");
        }
    });
    let run = load_http2(server.address, |plan| plan.streams = 2);
    let lost = run.of(Outcome::Reset) + run.of(Outcome::Send);
    assert_eq!(run.of(Outcome::Ok) + lost, 10, "{}", run.reasons());
    // The end is seen before the first requests, meets them, or refuses them.
    assert!(run.total.connections.idle_closed == 1 || lost > 0);
    assert_eq!(run.opened(), 2);
}

#[test]
fn a_server_that_only_says_farewell_ends_the_run_all_the_same() {
    let server = greeting(|mut http2| {
        http2.send(GOAWAY, 0, 0, &farewell(0, 0));
        http2.hold();
    });
    let run = load_http2(server.address, |plan| plan.streams = 2);
    run.all(Outcome::Reset, 10);
    assert!(run.reasons().contains("GOAWAY"), "{}", run.reasons());
}
