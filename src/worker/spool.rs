//! The last place for a job that the store did not take: one JSON file that
//! only its owner can read.

use crate::flush::End;
use benchd_model::stub_status::StubStatusPoll;
use benchd_model::{JobId, JobState, RunResult, SecondRecord, Timestamp, TrialEnd, TrialRecording};
use serde::Serialize;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct Spooled<'a> {
    job_id: JobId,
    written_at: Timestamp,
    state: JobState,
    error: Option<&'a str>,
    result: Option<&'a RunResult>,
    recordings: Vec<SpooledRecording<'a>>,
}

#[derive(Serialize)]
struct SpooledRecording<'a> {
    trial: u32,
    generator: u32,
    started_us: Option<i64>,
    seconds: &'a [SecondRecord],
    polls: &'a [StubStatusPoll],
    end: Option<&'a TrialEnd>,
}

/// Writes the job to `folder/<job>.json` and tells the path. The folder stands
/// in a place others can write to, so a file or link of that name that is
/// there already is never followed or overwritten.
///
/// # Errors
/// When the folder or the file cannot be made or written.
pub(crate) fn write(
    folder: &Path,
    job: JobId,
    end: &End<'_>,
    recordings: &[TrialRecording],
) -> std::io::Result<PathBuf> {
    let spooled = Spooled {
        job_id: job,
        written_at: Timestamp::now(),
        state: end.state,
        error: end.error,
        result: end.result,
        recordings: recordings.iter().map(SpooledRecording::of).collect(),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{job}.json"));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let mut file = BufWriter::new(file);
    serde_json::to_writer(&mut file, &spooled)?;
    file.flush()?;
    Ok(path)
}

impl<'a> SpooledRecording<'a> {
    fn of(recording: &'a TrialRecording) -> Self {
        let TrialRecording { trial, generator, seconds, polls, end, started_us } = recording;
        Self {
            trial: *trial,
            generator: *generator,
            started_us: *started_us,
            seconds,
            polls,
            end: end.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::flush::End;
    use benchd_model::{JobId, JobState, SecondRecord, TrialRecording};
    use std::os::unix::fs::PermissionsExt;

    const END: End<'_> = End { state: JobState::Failed, result: None, error: Some("gone") };

    #[test]
    fn a_spooled_job_holds_all_its_records_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        let mut recording = TrialRecording::default();
        let mut second = SecondRecord::default();
        second.tally.counts.ok = 7;
        recording.seconds.push(second);
        let job = JobId::new();
        let path = write(&spool, job, &END, &[recording]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["job_id"], job.to_string());
        assert_eq!(document["recordings"][0]["seconds"][0]["tally"]["counts"]["ok"], 7);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_stands_in_the_way_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let job = JobId::new();
        let path = folder.path().join(format!("{job}.json"));
        std::fs::write(&path, "mine").unwrap();
        assert!(write(folder.path(), job, &END, &[]).is_err());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
    }
}
