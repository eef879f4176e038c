//! Fewer, longer rows. Seconds are merged as tallies and histograms before any
//! figure is computed; a percentile is never averaged.

use benchd_model::spec::LoadSpec;
use benchd_model::{SecondRecord, Tally, TimelineRow, TrialRecording, timeline};

/// The rows of `recordings` in at most about `max_points` rows: every trial
/// keeps at least one. `in_range` seconds are those that will be shown; when
/// they fit, nothing is merged.
pub(crate) fn rows(
    recordings: Vec<TrialRecording>,
    load: &LoadSpec,
    in_range: usize,
    max_points: usize,
) -> Vec<TimelineRow> {
    let width = in_range.div_ceil(max_points.max(1)).max(1);
    if width == 1 {
        return timeline::all(&recordings, load);
    }
    let merged: Vec<TrialRecording> =
        recordings.into_iter().map(|recording| merge(recording, width)).collect();
    timeline::all(&merged, load)
}

/// The recording with every `width` seconds made one.
fn merge(mut recording: TrialRecording, width: usize) -> TrialRecording {
    let seconds = std::mem::take(&mut recording.seconds);
    for second in seconds {
        let index = second.index / u32::try_from(width).unwrap_or(u32::MAX);
        match recording.seconds.last_mut() {
            Some(last) if last.index == index => {
                last.tally.merge(&second.tally);
                last.connections_open = second.connections_open;
                if let Some(kernel) = &second.kernel {
                    last.kernel.get_or_insert_default().merge(kernel);
                }
            }
            _ => recording.seconds.push(SecondRecord { index, ..second }),
        }
    }
    recording
}

/// How many seconds of all trials end between `from` and `to` (epoch
/// microseconds, both included).
pub(crate) fn seconds_between(recordings: &[TrialRecording], from: i64, to: i64) -> usize {
    let ends =
        recordings.iter().filter(|recording| recording.generator == 0).flat_map(|recording| {
            let start = recording.started_us.unwrap_or(0);
            recording.seconds.iter().map(move |second| start + end_us(second.index, &second.tally))
        });
    ends.filter(|end| (from..=to).contains(end)).count()
}

fn end_us(index: u32, tally: &Tally) -> i64 {
    i64::from(index) * 1_000_000 + i64::try_from(tally.span_us).unwrap_or(i64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::{rows, seconds_between};
    use benchd_model::spec::LoadSpec;
    use benchd_model::{Outcome, SecondRecord, Tally, TrialRecording};

    /// A recording in which second `i` has one request of `(i + 1) / 10` ms and, at
    /// its end, `i` open connections.
    fn recording(seconds: u32) -> TrialRecording {
        let second = |index: u32| {
            let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
            tally.counts.add(Outcome::Ok);
            tally.latency.record_us(u64::from(index + 1) * 100);
            SecondRecord { index, connections_open: index, tally, kernel: None }
        };
        TrialRecording {
            started_us: Some(1_000_000_000),
            seconds: (0..seconds).map(second).collect(),
            ..TrialRecording::default()
        }
    }

    #[test]
    fn merged_rows_hold_the_percentile_of_all_their_values() {
        let load = LoadSpec::default();
        let rows = rows(vec![recording(10)], &load, 10, 2);
        assert_eq!(rows.len(), 2);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.elapsed_s, row.issued, row.latency_p50_ms, row.latency_max_ms))
            .collect();
        assert_eq!(shown[0], (5.0, 5, Some(0.3), Some(0.5)));
        assert_eq!(shown[1], (10.0, 5, Some(0.8), Some(1.0)));
        assert_eq!((rows[0].connections, rows[0].rps), (4, 1.0));
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let load = LoadSpec::default();
        assert_eq!(rows(vec![recording(10)], &load, 10, 10).len(), 10);
        assert_eq!(rows(vec![recording(7)], &load, 7, 3).len(), 3);
        assert!(rows(Vec::new(), &load, 0, 10).is_empty());
    }

    #[test]
    fn only_seconds_in_range_count() {
        let recordings = [recording(10)];
        assert_eq!(seconds_between(&recordings, i64::MIN, i64::MAX), 10);
        assert_eq!(seconds_between(&recordings, 1_003_000_000, 1_005_000_000), 3);
        assert_eq!(seconds_between(&recordings, 0, 5), 0);
    }
}
