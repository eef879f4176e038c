//! The job measured by a service.

use super::no_result;
use crate::args::OutputArgs;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::follow::Progress;
use crate::output;
use crate::serve::read_token;
use benchd_model::{Job, JobId, RunResult, Span};
use benchd_report::{Format, Report, render_table};
use serde_json::Value;
use std::io::IsTerminal as _;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(super) async fn run(
    output: &OutputArgs,
    server: &str,
    document: &Value,
    format: Format,
    shutdown: CancellationToken,
) -> anyhow::Result<Exit> {
    let wait = output.wait.as_deref().map(str::parse::<Span>).transpose();
    let wait = wait.map_err(|why| Stop::error(Exit::Usage, format!("--wait: {why}")))?;
    let client = Client::new(server, read_token(&output.token)?)?;
    let job = client.post_job(document).await?;
    let mut progress = Progress::new(&job.spec, output.quiet);
    let mut on_event = |event: &_| progress.event(event);
    let followed = tokio::select! {
        followed = client.follow(job.id, &shutdown, &mut on_event) => followed,
        () = expiry(wait) => Err(still_going(&client, job.id)),
    };
    progress.finish();
    followed?;
    let job = client.job(job.id).await?;
    print_report(&client, &job, format).await?;
    Ok(Exit::of_job(job.state, job.verdict))
}

fn still_going(client: &Client, id: JobId) -> anyhow::Error {
    let url = client.url(&format!("jobs/{id}"));
    let message = format!("job {id} is not finished yet and goes on: {url}");
    Stop::error(Exit::WaitExpired, message)
}

async fn expiry(wait: Option<Span>) {
    const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
    tokio::time::sleep(wait.map_or(FOREVER, Span::duration)).await;
}

async fn print_report(client: &Client, job: &Job, format: Format) -> anyhow::Result<()> {
    let path = format!("jobs/{}/result", job.id);
    if job.verdict.is_none() {
        return Err(no_result(job));
    }
    let text = if format == Format::Table {
        let result: RunResult = client.json(&path).await?;
        let report = Report { job, result: &result, recordings: &[] };
        render_table(&report, std::io::stdout().is_terminal())
    } else {
        client.text(&format!("{path}?format={}", format.name())).await?
    };
    output::print(&text)
}
