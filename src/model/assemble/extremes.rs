//! Figures at the edges: nothing, one, billions, and a clock that jumps.

use crate::Verdict;
use crate::assemble::tests::{judge, poll, recording, second, spec, tally, with_polls};
use crate::stub_status::PollMoment;

#[test]
fn a_wall_clock_that_is_stepped_changes_no_figure() {
    const HOUR_US: i64 = 3_600_000_000;
    let figures = |step_us: i64| {
        let mut recording = with_polls(vec![
            poll(PollMoment::Before, -10, 5, 100),
            poll(PollMoment::After, 1_000_000, 6, 201),
        ]);
        recording.started_us = recording.started_us.map(|started| started + step_us);
        for poll in &mut recording.polls {
            poll.at = poll.at.plus_micros(step_us);
        }
        let result = judge(&spec(&[]), &[recording]);
        let mut figures = serde_json::to_value(&result).unwrap();
        figures["job_id"].take();
        figures
    };
    for step_us in [-HOUR_US, HOUR_US] {
        assert_eq!(figures(step_us), figures(0), "stepped by {step_us} us");
    }
}

#[test]
fn no_request_one_and_five_billion_have_figures_that_are_numbers() {
    let five_billion = {
        let mut tally = tally(1000, 0, 1_000_000);
        tally.counts.issued = 5_000_000_000;
        tally.counts.ok = 5_000_000_000;
        tally.status_codes.insert(200, 5_000_000_000);
        tally.bytes.received = u64::MAX / 2;
        for _ in 0..23 {
            tally.latency.merge(&tally.latency.clone());
        }
        tally
    };
    for (tally, ok) in [(tally(0, 0, 0), 0), (tally(1, 0, 900), 1), (five_billion, 5_000_000_000)] {
        let result = judge(
            &spec(&["latency_p99_ms < 5000", "rps > 0"]),
            &[recording(vec![second(0, tally)])],
        );
        assert!(result.counts.balanced() && result.counts.ok == ok);
        for figure in
            [Some(result.rps), Some(result.goodput_rps), result.error_ratio, result.non_2xx_ratio]
        {
            assert!(figure.is_none_or(f64::is_finite), "{figure:?} of {ok}");
        }
        let times = &result.latency_ms;
        let ordered = [times.min, times.p50, times.p90, times.p99, times.p99_9, times.max];
        assert!(ordered.is_sorted(), "{ordered:?}");
        assert_eq!(ordered.iter().all(Option::is_some), ok > 0);
        assert_ne!((ok, result.verdict), (0, Verdict::Pass), "no samples never pass");
    }
}
