use super::{all, live_row};
use crate::assemble::tests::{poll, recording, second, tally};
use crate::spec::LoadSpec;
use crate::stub_status::{PollMoment, StubStatusPoll};
use crate::{Span, TrialRecording};

fn seen(moment: PollMoment, offset_us: i64, active: u64) -> StubStatusPoll {
    let mut poll = poll(moment, offset_us, 6, 1000);
    poll.status.as_mut().unwrap().active = active + 1;
    poll
}

/// Two seconds, the last of which is this long; nine connections are open until
/// their end, and none are found by the poll that is due then.
fn closed_at_the_end(last_us: u64) -> TrialRecording {
    let mut recording =
        recording(vec![second(0, tally(9, 0, 1_000_000)), second(1, tally(9, 0, last_us))]);
    let over = 1_000_000 + last_us as i64;
    recording.polls = vec![
        seen(PollMoment::Start, 10, 9),
        seen(PollMoment::During, 1_000_300, 9),
        seen(PollMoment::During, over + 300, 0),
        seen(PollMoment::After, over + 700, 0),
    ];
    recording
}

#[test]
fn the_last_row_shows_the_connections_under_load_and_not_after_it() {
    for last_us in [1_000_000, 600_000] {
        let recording = closed_at_the_end(last_us);
        let by_count = LoadSpec { duration: None, ..LoadSpec::default() };
        let rows = all(std::slice::from_ref(&recording), &by_count);
        let active: Vec<_> = rows.iter().map(|row| row.nginx_active).collect();
        assert_eq!(active, [Some(9), Some(9)], "{last_us}");
        let span = Span::from(std::time::Duration::from_micros(1_000_000 + last_us));
        let by_time = LoadSpec { duration: Some(span), ..LoadSpec::default() };
        let live = live_row(&recording, &recording.seconds[1], &by_time);
        assert_eq!(live.nginx_active, Some(9), "{last_us}");
    }
}

#[test]
fn answers_in_the_grace_come_while_connections_close() {
    let mut recording = closed_at_the_end(1_400_000);
    recording.polls.remove(1);
    let two_seconds = LoadSpec { duration: Some(Span::from_secs(2)), ..LoadSpec::default() };
    let rows = all(&[recording], &two_seconds);
    assert_eq!(rows[1].nginx_active, None, "nobody looked while the load was on");
}
