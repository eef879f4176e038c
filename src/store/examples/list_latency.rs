//! How long the first page of the history takes with many jobs stored, on both
//! databases, for each filter. Also what the worker's calls cost.
//!
//! `cargo run --release -p benchd-store --example list_latency [JOBS]`
//! needs PostgreSQL's binaries, as the tests do.

use benchd_model::job::Progress;
use benchd_model::{JobId, JobSpec, JobState, Timestamp, Verdict};
use benchd_store::{JobFilter, NewJob, Store};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[path = "../../../tests/support/postgres.rs"]
mod postgres;

const PAGE: u32 = 50;
const ROUNDS: usize = 200;
const DAY_US: i64 = 24 * 3600 * 1_000_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let jobs: u32 = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("benchd.db").display().to_string();
    let database = postgres::TestDatabase::create();
    let server = database.url().to_owned();

    println!("{jobs} jobs, first page of {PAGE}, {ROUNDS} rounds each; milliseconds");
    println!("{:<34} {:>17} {:>17}", "", "SQLite", "Postgres");
    println!("{:<34} {:>8} {:>8} {:>8} {:>8}", "filter", "p50", "p99", "p50", "p99");
    let (sqlite, postgres) = (Store::open(&file).await?, Store::open(&server).await?);
    fill(&Target::Sqlite(file), &sqlite, jobs).await?;
    fill(&Target::Postgres(server), &postgres, jobs).await?;
    for (name, filter) in filters(jobs) {
        let (a, b) = (pages(&sqlite, &filter).await?, pages(&postgres, &filter).await?);
        println!("{name:<34} {:>8.2} {:>8.2} {:>8.2} {:>8.2}", a.0, a.1, b.0, b.1);
    }
    println!("\n{:<34} {:>8} {:>8} {:>8} {:>8}", "call", "p50", "p99", "p50", "p99");
    let (a, b) = (calls(&sqlite).await?, calls(&postgres).await?);
    for (name, times) in a {
        let other = b.get(name).copied().unwrap_or_default();
        println!("{name:<34} {:>8.2} {:>8.2} {:>8.2} {:>8.2}", times.0, times.1, other.0, other.1);
    }
    Ok(())
}

enum Target {
    Sqlite(String),
    Postgres(String),
}

fn spec(number: u32) -> Result<JobSpec, serde_json::Error> {
    serde_json::from_value(serde_json::json!({
        "project": format!("project {}", number % 20),
        "scenario": format!("scenario {}", number % 7),
        "target": {"url": format!("http://host{}.example:8088/index.html", number % 50),
                   "stub_status": "http://127.0.0.1:8088/nginx_status"},
        "request": {"headers": {"Accept": "*/*"}},
        "criteria": ["latency_p99_ms < 500", "goodput_rps > 15000", "error_ratio < 0.001"],
        "labels": {"branch": if number.is_multiple_of(10) { "main" } else { "feature" },
                   "commit": format!("{number:08x}")}
    }))
}

/// A template job goes through the store; the rest are copies of what it wrote,
/// with everything that filters look at varied. 9,000 wait, the rest is over.
async fn fill(target: &Target, store: &Store, jobs: u32) -> Result<(), Box<dyn std::error::Error>> {
    let template = NewJob {
        id: JobId::new(),
        spec: spec(0)?,
        target_host: "template".to_owned(),
        created_at: Timestamp::from_micros(0),
        idempotency: None,
    };
    store.create_job(template).await?;
    let (id, end) = match target {
        Target::Sqlite(_) => ("CAST(printf('%016d', i) AS BLOB)", ""),
        Target::Postgres(_) => ("CAST(lpad(to_hex(i), 32, '0') AS UUID)", "ANALYZE"),
    };
    let numbers = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {jobs}) "
    );
    let created = format!("CAST(i AS BIGINT) * {}", 365 * DAY_US / i64::from(jobs));
    let waiting = jobs.saturating_sub(9_000);
    let statements = [
        format!(
            "INSERT INTO jobs (id, project, scenario, target_host, state, progress, spec, verdict, \
             summary, created_at, started_at, finished_at, last_event) {numbers} \
             SELECT {id}, 'project ' || (i % 20), 'scenario ' || (i % 7), \
             'host' || (i % 50) || '.example', \
             CASE WHEN i > {waiting} THEN 'queued' WHEN i % 1000 = 0 THEN 'failed' ELSE 'completed' END, \
             jobs.progress, jobs.spec, \
             CASE WHEN i > {waiting} THEN NULL WHEN i % 500 = 0 THEN 'invalid' \
                  WHEN i % 4 = 0 THEN 'fail' ELSE 'pass' END, \
             'a sentence of the usual length that says what came out of it', \
             {created}, {created}, CASE WHEN i > {waiting} THEN NULL ELSE {created} + 9000000 END, 1 \
             FROM n, jobs"
        ),
        format!(
            "INSERT INTO job_labels (job_id, name, value, created_at) {numbers} \
             SELECT {id}, 'branch', CASE WHEN i % 10 = 0 THEN 'main' ELSE 'feature' END, {created} FROM n \
             UNION ALL SELECT {id}, 'commit', CAST(i AS TEXT), {created} FROM n"
        ),
        format!(
            "INSERT INTO job_targets (job_id, spelling, created_at) {numbers} \
             SELECT {id}, 'host' || (i % 50) || '.example', {created} FROM n \
             UNION ALL SELECT {id}, 'http://host' || (i % 50) || '.example:8088/', {created} FROM n"
        ),
        end.to_owned(),
    ];
    for statement in statements {
        // SQLite wants WITH before INSERT, Postgres takes it there, too.
        let statement = match statement.split_once(&numbers) {
            Some((insert, select)) => format!("{numbers}{insert}{select}"),
            None => statement,
        };
        let sql = AssertSqlSafe(statement);
        match target {
            Target::Sqlite(file) => {
                let mut connection = SqliteConnection::connect(&format!("sqlite:{file}")).await?;
                sqlx::raw_sql(sql).execute(&mut connection).await?;
                connection.close().await?;
            }
            Target::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await?;
                sqlx::raw_sql(sql).execute(&mut connection).await?;
            }
        }
    }
    Ok(())
}

fn filters(jobs: u32) -> Vec<(&'static str, JobFilter)> {
    let all = JobFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let label = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let month = Timestamp::from_micros(180 * DAY_US);
    vec![
        ("none", all()),
        ("project", JobFilter { project: text("project 3"), ..all() }),
        ("scenario", JobFilter { scenario: text("scenario 3"), ..all() }),
        (
            "project and scenario",
            JobFilter { project: text("project 3"), scenario: text("scenario 3"), ..all() },
        ),
        ("project that is not there", JobFilter { project: text("nothing"), ..all() }),
        ("state queued (9,000)", JobFilter { state: Some(JobState::Queued), ..all() }),
        ("state completed", JobFilter { state: Some(JobState::Completed), ..all() }),
        ("state failed (1 in 1,000)", JobFilter { state: Some(JobState::Failed), ..all() }),
        ("state running (none)", JobFilter { state: Some(JobState::Running), ..all() }),
        ("verdict pass", JobFilter { verdict: Some(Verdict::Pass), ..all() }),
        ("verdict invalid (1 in 500)", JobFilter { verdict: Some(Verdict::Invalid), ..all() }),
        ("target host", JobFilter { target: text("host7.example"), ..all() }),
        ("target URL", JobFilter { target: text("http://host7.example:8088/"), ..all() }),
        ("label branch=main (1 in 10)", JobFilter { labels: label("branch", "main"), ..all() }),
        (
            "label commit (one job)",
            JobFilter { labels: label("commit", &(jobs / 2).to_string()), ..all() },
        ),
        ("since half a year", JobFilter { since: Some(month), ..all() }),
        ("until half a year", JobFilter { until: Some(month), ..all() }),
        (
            "one day half a year ago",
            JobFilter { since: Some(month), until: Some(month.plus_micros(DAY_US)), ..all() },
        ),
        (
            "project, verdict fail, branch main",
            JobFilter {
                project: text("project 0"),
                verdict: Some(Verdict::Fail),
                labels: label("branch", "main"),
                ..all()
            },
        ),
    ]
}

async fn pages(store: &Store, filter: &JobFilter) -> Result<(f64, f64), benchd_store::StoreError> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        store.jobs(filter, None, PAGE).await?;
        times.push(begun.elapsed());
    }
    Ok(summary(times))
}

type Calls = BTreeMap<&'static str, (f64, f64)>;

/// What other calls cost beside that history and with that many waiting.
async fn calls(store: &Store) -> Result<Calls, benchd_store::StoreError> {
    let mut times: BTreeMap<&'static str, Vec<Duration>> = BTreeMap::new();
    let lease_for = Duration::from_secs(15);
    for number in 0..50 {
        let now = Timestamp::from_micros(400 * DAY_US + i64::from(number));
        let mut time = |name, begun: Instant| times.entry(name).or_default().push(begun.elapsed());
        let spec = spec(number).map_err(|error| benchd_store::StoreError::Corrupt {
            what: "example",
            reason: error.to_string(),
        })?;
        let target_host = format!("fresh{number}");
        let id = JobId::new();
        let new = NewJob { id, spec, target_host, created_at: now, idempotency: None };
        let begun = Instant::now();
        store.create_job(new).await?;
        time("create a job", begun);
        let begun = Instant::now();
        store.job(id).await?;
        time("look up the last in the queue", begun);
        let begun = Instant::now();
        let lease = store.claim("w", None, now, lease_for).await?;
        time("claim the next job", begun);
        if let Some(lease) = lease {
            let begun = Instant::now();
            store.heartbeat(&lease, now, lease_for, None, &Progress::default()).await?;
            time("heartbeat", begun);
        }
        let begun = Instant::now();
        store.counts().await?;
        time("count jobs by state", begun);
        let begun = Instant::now();
        store.variables(benchd_store::Variable::Projects, None).await?;
        time("variables: projects", begun);
    }
    Ok(times.into_iter().map(|(name, times)| (name, summary(times))).collect())
}

/// p50 and p99 in milliseconds.
fn summary(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let rank = |percent: usize| {
        let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    (rank(50), rank(99))
}
