//! What generators record, second by second: one row a record, so that a
//! killed worker leaves everything up to its last second.

use crate::document::{from_blob, to_blob, unpack};
use crate::lease::FENCE;
use crate::{Lease, Store, StoreError, on_backend};
use benchd_model::stub_status::StubStatusPoll;
use benchd_model::{JobId, SecondRecord, TrialEnd, TrialRecording};
use std::collections::BTreeMap;

/// The first write of a record counts: a later one is the same record again.
const INSERT: &str = "INSERT INTO recordings (job_id, trial, generator, kind, seq, record) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";

const SELECT: &str = "SELECT trial, generator, kind, record FROM recordings \
     WHERE job_id = $1 ORDER BY trial, generator, kind, seq";

/// One thing recorded by one generator of one trial (both from 0).
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "records are written where they are made, a few at a time"
)]
pub enum Record {
    /// The measuring window began.
    TrialStarted {
        /// The trial.
        trial: u32,
        /// The generator.
        generator: u32,
        /// When, in epoch microseconds.
        started_us: i64,
    },
    /// A second of the window is over.
    Second {
        /// The trial.
        trial: u32,
        /// The generator.
        generator: u32,
        /// Its figures.
        second: SecondRecord,
    },
    /// stub_status was polled.
    Poll {
        /// The trial.
        trial: u32,
        /// The generator.
        generator: u32,
        /// What it brought.
        poll: StubStatusPoll,
    },
    /// The trial ended.
    TrialEnd {
        /// The trial.
        trial: u32,
        /// The generator.
        generator: u32,
        /// What is known only now.
        end: TrialEnd,
    },
}

/// A record as its row holds it. The key (trial, generator, kind, seq) is made
/// from the record alone, so that writing it again finds the row.
struct RecordRow {
    trial: i64,
    generator: i64,
    kind: &'static str,
    seq: i64,
    record: Vec<u8>,
}

impl Record {
    fn to_row(&self) -> RecordRow {
        let row = |trial: &u32, generator: &u32, kind, seq, record| RecordRow {
            trial: i64::from(*trial),
            generator: i64::from(*generator),
            kind,
            seq,
            record,
        };
        match self {
            Self::TrialStarted { trial, generator, started_us } => {
                row(trial, generator, "started", 0, to_blob(started_us))
            }
            Self::Second { trial, generator, second } => {
                row(trial, generator, "second", i64::from(second.index), to_blob(second))
            }
            // One poller at a time: no two polls of a generator end in one microsecond.
            Self::Poll { trial, generator, poll } => {
                row(trial, generator, "poll", poll.at.as_micros(), to_blob(poll))
            }
            Self::TrialEnd { trial, generator, end } => {
                row(trial, generator, "end", 0, to_blob(end))
            }
        }
    }
}

impl Store {
    /// Writes records, all or none. A record that is there already stays as it
    /// is, so that a retry after a lost answer doubles no figure.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], or the database's.
    pub async fn append(&self, lease: &Lease, records: &[Record]) -> Result<(), StoreError> {
        let rows: Vec<RecordRow> = records.iter().map(Record::to_row).collect();
        on_backend!(self, |db| {
            let mut tx = db.begin().await?;
            let held =
                sqlx::query(FENCE).bind(lease.job.0).bind(lease.attempt).execute(&mut *tx).await?;
            if held.rows_affected() == 0 {
                return Err(StoreError::LeaseLost);
            }
            for row in &rows {
                sqlx::query(INSERT)
                    .bind(lease.job.0)
                    .bind(row.trial)
                    .bind(row.generator)
                    .bind(row.kind)
                    .bind(row.seq)
                    .bind(&row.record)
                    .execute(&mut *tx)
                    .await?;
            }
            tx.commit().await?;
        });
        Ok(())
    }

    /// Everything recorded of a job, one entry per trial and generator,
    /// ascending. Partial while the job runs and after its worker died.
    ///
    /// # Errors
    /// The database's.
    pub async fn recordings(&self, id: JobId) -> Result<Vec<TrialRecording>, StoreError> {
        let rows: Vec<(i64, i64, String, Vec<u8>)> = on_backend!(self, |db| {
            sqlx::query_as(SELECT).bind(id.0).fetch_all(db.reader()).await?
        });
        unpack(move || assemble(&rows)).await
    }
}

fn assemble(rows: &[(i64, i64, String, Vec<u8>)]) -> Result<Vec<TrialRecording>, StoreError> {
    let mut recordings: BTreeMap<(u32, u32), TrialRecording> = BTreeMap::new();
    for (trial, generator, kind, record) in rows {
        let (trial, generator) = (small(*trial)?, small(*generator)?);
        let recording = recordings.entry((trial, generator)).or_insert_with(|| TrialRecording {
            trial,
            generator,
            ..TrialRecording::default()
        });
        match kind.as_str() {
            "started" => recording.started_us = Some(from_blob(record, "trial start")?),
            "second" => recording.seconds.push(from_blob(record, "second")?),
            "poll" => recording.polls.push(from_blob(record, "poll")?),
            "end" => recording.end = Some(from_blob(record, "trial end")?),
            other => {
                let reason = format!("{other:?} is no kind of record");
                return Err(StoreError::Corrupt { what: "recording", reason });
            }
        }
    }
    Ok(recordings.into_values().collect())
}

fn small(number: i64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(|error| StoreError::Corrupt {
        what: "recording",
        reason: format!("{number}: {error}"),
    })
}
