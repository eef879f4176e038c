//! The last place for a job that the store did not take: one JSON file that
//! only its owner can read. The reaper finds it there and brings it home.

use crate::flush::End;
use benchd_model::job::Failure;
use benchd_model::stub_status::StubStatusPoll;
use benchd_model::{JobId, JobState, RunResult, SecondRecord, Timestamp, TrialEnd, TrialRecording};
use benchd_store::Record;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A job in the spool.
#[derive(Serialize, Deserialize)]
pub(crate) struct Spooled<'a> {
    job_id: JobId,
    written_at: Timestamp,
    pub(crate) state: JobState,
    pub(crate) error: Option<Cow<'a, Failure>>,
    pub(crate) result: Option<Cow<'a, RunResult>>,
    recordings: Vec<SpooledRecording<'a>>,
}

#[derive(Serialize, Deserialize)]
struct SpooledRecording<'a> {
    trial: u32,
    generator: u32,
    started_us: Option<i64>,
    seconds: Cow<'a, [SecondRecord]>,
    polls: Cow<'a, [StubStatusPoll]>,
    end: Option<Cow<'a, TrialEnd>>,
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
) -> io::Result<PathBuf> {
    let spooled = Spooled {
        job_id: job,
        written_at: Timestamp::now(),
        state: end.state,
        error: end.error.map(Cow::Borrowed),
        result: end.result.map(Cow::Borrowed),
        recordings: recordings.iter().map(SpooledRecording::of).collect(),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = path(folder, job);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let mut file = BufWriter::new(file);
    serde_json::to_writer(&mut file, &spooled)?;
    file.flush()?;
    Ok(path)
}

/// Reads the job back, if it is there.
///
/// # Errors
/// When it cannot be read, or others could have written it.
pub(crate) fn read(folder: &Path, job: JobId) -> io::Result<Option<Spooled<'static>>> {
    let path = path(folder, job);
    let file = match path.symlink_metadata() {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let owner = folder.metadata()?;
    let own = owner.uid() == rustix::process::geteuid().as_raw() && owner.mode() & 0o022 == 0;
    if !own || !file.is_file() {
        return Err(io::Error::other(format!(
            "{} is not trusted: others can write to its folder, or it is no plain file",
            path.display()
        )));
    }
    let spooled: Spooled<'static> = serde_json::from_reader(BufReader::new(File::open(path)?))?;
    if spooled.job_id != job || !spooled.state.is_finished() {
        return Err(io::Error::other("it holds another job, or one that has not ended"));
    }
    Ok(Some(spooled))
}

/// Removes the job's file, once the job is stored.
///
/// # Errors
/// When it cannot be removed.
pub(crate) fn remove(folder: &Path, job: JobId) -> io::Result<()> {
    std::fs::remove_file(path(folder, job))
}

fn path(folder: &Path, job: JobId) -> PathBuf {
    folder.join(format!("{job}.json"))
}

impl Spooled<'_> {
    /// Everything recorded, as the store takes it.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.recordings.iter().flat_map(SpooledRecording::records).collect()
    }
}

impl<'a> SpooledRecording<'a> {
    fn of(recording: &'a TrialRecording) -> Self {
        let TrialRecording { trial, generator, seconds, polls, end, started_us } = recording;
        Self {
            trial: *trial,
            generator: *generator,
            started_us: *started_us,
            seconds: Cow::Borrowed(seconds),
            polls: Cow::Borrowed(polls),
            end: end.as_ref().map(Cow::Borrowed),
        }
    }

    fn records(&self) -> Vec<Record> {
        let (trial, generator) = (self.trial, self.generator);
        let started =
            self.started_us.map(|started_us| Record::TrialStarted { trial, generator, started_us });
        let second =
            |second: &SecondRecord| Record::Second { trial, generator, second: second.clone() };
        let poll = |poll: &StubStatusPoll| Record::Poll { trial, generator, poll: poll.clone() };
        let end =
            self.end.as_deref().map(|end| Record::TrialEnd { trial, generator, end: end.clone() });
        let seconds = self.seconds.iter().map(second);
        started.into_iter().chain(seconds).chain(self.polls.iter().map(poll)).chain(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{read, remove, write};
    use crate::flush::End;
    use benchd_model::job::{Failure, FailureCode};
    use benchd_model::{JobId, JobState, SecondRecord, TrialEnd, TrialRecording};
    use std::os::unix::fs::PermissionsExt;

    const END: End<'_> = End { state: JobState::Failed, result: None, error: None };

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

    #[test]
    fn a_job_is_read_back_once() {
        let folder = tempfile::tempdir().unwrap();
        let job = JobId::new();
        assert!(read(folder.path(), job).unwrap().is_none());
        let recording = TrialRecording {
            trial: 3,
            seconds: vec![SecondRecord::default(), SecondRecord::default()],
            end: Some(TrialEnd::default()),
            started_us: Some(1),
            ..TrialRecording::default()
        };
        let error = Failure { code: FailureCode::LoadFailed, message: "gone".to_owned() };
        write(folder.path(), job, &End { error: Some(&error), ..END }, &[recording]).unwrap();
        let spooled = read(folder.path(), job).unwrap().unwrap();
        assert_eq!((spooled.state, spooled.error.as_deref()), (JobState::Failed, Some(&error)));
        assert_eq!(spooled.records().len(), 4);
        remove(folder.path(), job).unwrap();
        assert!(read(folder.path(), job).unwrap().is_none());
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |bits| {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(bits)).unwrap();
        };
        let (job, running, other) = (JobId::new(), JobId::new(), JobId::new());
        let path = write(folder.path(), job, &END, &[]).unwrap();
        mode(0o777);
        assert!(read(folder.path(), job).is_err());
        mode(0o700);
        assert!(read(folder.path(), job).is_ok());
        let link = folder.path().join(format!("{other}.json"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(folder.path(), other).is_err());
        std::fs::remove_file(&link).unwrap();
        std::fs::rename(path, link).unwrap();
        assert!(read(folder.path(), other).is_err(), "it names another job");
        write(folder.path(), running, &End { state: JobState::Running, ..END }, &[]).unwrap();
        assert!(read(folder.path(), running).is_err());
    }
}
