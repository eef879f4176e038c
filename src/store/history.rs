//! The history: jobs newest first, filtered, page by page.
//!
//! The order is (created_at, id), which is the order of ids unless a clock was
//! set back. Every index of the history ends in these two, so that a page is a
//! short walk along one index whatever the filter. Labels and targets stand in
//! tables of their own; when one is asked for, its table leads the walk.

use crate::row::{JobRow, job_columns};
use crate::targets::key;
use crate::{Store, StoreError, on_backend};
use benchd_model::{Job, JobState, Timestamp, Verdict};
use futures_util::TryStreamExt as _;
use sqlx::{Database, Encode, QueryBuilder, Type};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// The most jobs a page holds.
pub const MAX_PAGE: u32 = 1000;

/// A page ends early when the specs on it have this many bytes, since one may
/// hold a large body.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Which jobs. Everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// This project.
    pub project: Option<String>,
    /// This scenario.
    pub scenario: Option<String>,
    /// This target: its exact URL, its host (with or without port, any loopback
    /// spelling as `localhost`), or its registered name.
    pub target: Option<String>,
    /// In this state.
    pub state: Option<JobState>,
    /// With this verdict.
    pub verdict: Option<Verdict>,
    /// With all these labels.
    pub labels: Vec<(String, String)>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// Where a page ended. Opaque: written and read back, never taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    created_us: i64,
    id: Uuid,
}

/// One page of the history, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPage {
    /// The jobs.
    pub items: Vec<Job>,
    /// Where the next page begins; nothing when this is the last.
    pub next: Option<Cursor>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first digit is the version.
        write!(f, "1{:016x}{}", self.created_us.cast_unsigned(), self.id.simple())
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || {
            let rest = text.strip_prefix('1').filter(|rest| rest.is_ascii())?;
            let (created, id) = rest.split_at_checked(16)?;
            let created_us = u64::from_str_radix(created, 16).ok()?.cast_signed();
            // The braced and dashed spellings are as long as no page's cursor.
            (id.len() == 32).then(|| Uuid::parse_str(id).ok())?.map(|id| Self { created_us, id })
        };
        parts().ok_or_else(|| format!("{text:?} is no cursor: take it from a page's `next_cursor`"))
    }
}

impl Store {
    /// One page of jobs, newest first, `limit` (1 to [`MAX_PAGE`]) at most, and
    /// fewer when they are large.
    /// `since` and `until` look at the time of posting.
    ///
    /// # Errors
    /// The database's.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<JobPage, StoreError> {
        let limit = limit.clamp(1, MAX_PAGE) as usize;
        if filter.is_unmatchable() {
            return Ok(JobPage { items: Vec::new(), next: None });
        }
        let (mut rows, mut bytes, mut more): (Vec<JobRow>, _, _) = (Vec::new(), 0, false);
        on_backend!(self, |db| {
            let mut query = page_query(filter, after, limit as i64 + 1);
            let mut found = query.build_query_as::<JobRow>().fetch(db.reader());
            while let Some(row) = found.try_next().await? {
                if rows.len() == limit || bytes >= MAX_PAGE_BYTES {
                    more = true;
                    break;
                }
                bytes += row.spec_bytes();
                rows.push(row);
            }
        });
        let next = rows
            .last()
            .filter(|_| more)
            .map(|row| Cursor { created_us: row.created_us(), id: row.id });
        let mut positions = positions(self, &rows).await?;
        let job = |row: JobRow| {
            let position = positions.remove(&row.id);
            row.into_job(position)
        };
        let items = rows.into_iter().map(job).collect::<Result<_, _>>()?;
        Ok(JobPage { items, next })
    }

    /// How many jobs are in each state, by the state's name; every state is there.
    ///
    /// # Errors
    /// The database's.
    pub async fn counts(&self) -> Result<BTreeMap<&'static str, u64>, StoreError> {
        const COUNT: &str = "SELECT state, COUNT(*) FROM jobs GROUP BY state";
        let rows: Vec<(String, i64)> =
            on_backend!(self, |db| { sqlx::query_as(COUNT).fetch_all(db.reader()).await? });
        let of = |state: JobState| {
            rows.iter().find(|(name, _)| name == state.name()).map_or(0, |(_, n)| n.cast_unsigned())
        };
        Ok(JobState::ALL.into_iter().map(|state| (state.name(), of(state))).collect())
    }
}

const COUNT_BEFORE: &str = "SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND id < $1";

/// How many queued jobs come before each queued one of `rows`.
pub(crate) async fn positions(
    store: &Store,
    rows: &[JobRow],
) -> Result<BTreeMap<Uuid, u64>, StoreError> {
    // A job that a worker takes between the reads was next.
    let mut found: BTreeMap<Uuid, u64> =
        rows.iter().filter(|row| row.is_queued()).map(|row| (row.id, 0)).collect();
    let bounds = found.first_key_value().zip(found.last_key_value());
    let Some((first, last)) = bounds.map(|((first, _), (last, _))| (*first, *last)) else {
        return Ok(found);
    };
    // Counting is cheap, numbering is not: only what the page spans is numbered.
    let (before, numbered): (i64, Vec<(Uuid, i64)>) = on_backend!(store, |db| {
        let before = sqlx::query_scalar(COUNT_BEFORE).bind(first).fetch_one(db.reader()).await?;
        let mut query = QueryBuilder::new(
            "SELECT id, number FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY id) - 1 AS number \
             FROM jobs WHERE state = 'queued' AND id >= ",
        );
        query.push_bind(first).push(" AND id <= ").push_bind(last);
        query.push(") AS spanned WHERE id IN (");
        let mut ids = query.separated(", ");
        for id in found.keys() {
            ids.push_bind(*id);
        }
        ids.push_unseparated(")");
        (before, query.build_query_as().fetch_all(db.reader()).await?)
    });
    for (id, number) in numbered {
        found.insert(id, (before + number).cast_unsigned());
    }
    Ok(found)
}

impl JobFilter {
    /// True when nothing can match: stored text never holds a NUL, and Postgres
    /// would refuse to look for one.
    pub(crate) fn is_unmatchable(&self) -> bool {
        let labels = self.labels.iter().flat_map(|(name, value)| [name, value]);
        [&self.project, &self.scenario, &self.target]
            .into_iter()
            .flatten()
            .chain(labels)
            .any(|text| text.contains('\0'))
    }
}

/// The table that leads the walk, with the columns that order it.
struct Lead {
    from: &'static str,
    created_at: &'static str,
    id: &'static str,
}

const JOBS: Lead =
    Lead { from: " FROM jobs WHERE 1 = 1", created_at: "jobs.created_at", id: "jobs.id" };
// CROSS JOIN keeps SQLite from turning the order of the loops around.
const LABELS: Lead = Lead {
    from: " FROM job_labels AS lookup CROSS JOIN jobs WHERE jobs.id = lookup.job_id",
    created_at: "lookup.created_at",
    id: "lookup.job_id",
};
const TARGETS: Lead = Lead {
    from: " FROM job_targets AS lookup CROSS JOIN jobs WHERE jobs.id = lookup.job_id",
    ..LABELS
};

fn page_query<DB>(filter: &JobFilter, after: Option<Cursor>, limit: i64) -> QueryBuilder<DB>
where
    DB: Database,
    for<'q> String: Encode<'q, DB> + Type<DB>,
    for<'q> i64: Encode<'q, DB> + Type<DB>,
    for<'q> Uuid: Encode<'q, DB> + Type<DB>,
{
    let mut query = QueryBuilder::new(concat!("SELECT ", job_columns!()));
    let mut rest = filter.clone();
    let lead = if let Some((name, value)) = rest.labels.pop() {
        query.push(LABELS.from);
        query.push(" AND lookup.name = ").push_bind(name);
        query.push(" AND lookup.value = ").push_bind(value);
        LABELS
    } else if let Some(target) = rest.target.take() {
        query.push(TARGETS.from);
        query.push(" AND lookup.spelling = ").push_bind(key(&target));
        TARGETS
    } else {
        query.push(JOBS.from);
        JOBS
    };
    push_filter(&mut query, &rest);
    let Lead { created_at, id, .. } = lead;
    if let Some(since) = rest.since {
        query.push(format_args!(" AND {created_at} >= ")).push_bind(since.as_micros());
    }
    if let Some(until) = rest.until {
        query.push(format_args!(" AND {created_at} < ")).push_bind(until.as_micros());
    }
    if let Some(cursor) = after {
        query.push(format_args!(" AND ({created_at}, {id}) < (")).push_bind(cursor.created_us);
        query.push(", ").push_bind(cursor.id).push(")");
    }
    query.push(format_args!(" ORDER BY {created_at} DESC, {id} DESC LIMIT ")).push_bind(limit);
    query
}

/// Everything but the times, which lists and results read differently.
pub(crate) fn push_filter<DB>(query: &mut QueryBuilder<DB>, filter: &JobFilter)
where
    DB: Database,
    for<'q> String: Encode<'q, DB> + Type<DB>,
{
    let columns = [
        ("project", filter.project.clone()),
        ("scenario", filter.scenario.clone()),
        ("state", filter.state.map(|state| state.name().to_owned())),
        ("verdict", filter.verdict.map(|verdict| verdict.name().to_owned())),
    ];
    for (column, value) in columns {
        if let Some(value) = value {
            query.push(format_args!(" AND jobs.{column} = ")).push_bind(value);
        }
    }
    if let Some(target) = &filter.target {
        query.push(
            " AND EXISTS (SELECT 1 FROM job_targets AS t WHERE t.job_id = jobs.id AND t.spelling = ",
        );
        query.push_bind(key(target)).push(")");
    }
    for (name, value) in &filter.labels {
        query.push(
            " AND EXISTS (SELECT 1 FROM job_labels AS l WHERE l.job_id = jobs.id AND l.name = ",
        );
        query.push_bind(name.clone()).push(" AND l.value = ").push_bind(value.clone()).push(")");
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;
    use benchd_model::JobId;

    #[test]
    fn cursors_come_back_as_they_were_written() {
        for created_us in [0, -1, i64::MIN, i64::MAX, 1_764_500_000_000_000] {
            let cursor = Cursor { created_us, id: JobId::new().0 };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        let good = Cursor { created_us: 1, id: JobId::new().0 }.to_string();
        let versioned = format!("2{}", &good[1..]);
        for text in ["", "1", "abc", &good[1..], &good[..48], &format!("{good}0"), &versioned, "1ü"]
        {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
