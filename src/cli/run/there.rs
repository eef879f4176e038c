//! The job measured by a service.

use crate::args::OutputArgs;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::follow::Progress;
use crate::serve::read_token;
use benchd_model::{Job, RunResult, Span};
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
    let interrupted = {
        let mut on_event = |event: &_| progress.event(event);
        tokio::select! {
            followed = client.follow(job.id, &mut on_event) => { followed?; false }
            () = shutdown.cancelled() => {
                client.cancel(job.id).await?;
                client.follow(job.id, &mut on_event).await?;
                true
            }
            () = expiry(wait) => {
                return Err(Stop::error(
                    Exit::WaitExpired,
                    format!("job {} is not finished yet and goes on: {}", job.id, client.url(&format!("jobs/{}", job.id))),
                ));
            }
        }
    };
    progress.finish();
    let job = client.job(job.id).await?;
    print_report(&client, &job, format).await?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::of_job(job.state, job.verdict) })
}

async fn expiry(wait: Option<Span>) {
    const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
    tokio::time::sleep(wait.map_or(FOREVER, Span::duration)).await;
}

async fn print_report(client: &Client, job: &Job, format: Format) -> anyhow::Result<()> {
    let path = format!("jobs/{}/result", job.id);
    if let Some(error) = &job.error {
        return Err(Stop::error(Exit::Undecided, format!("no result: {error}")));
    }
    if format == Format::Table {
        let result: RunResult = client.json(&path).await?;
        let report = Report { job, result: &result, recordings: &[] };
        print!("{}", render_table(&report, std::io::stdout().is_terminal()));
    } else {
        print!("{}", client.text(&format!("{path}?format={}", format.name())).await?);
    }
    Ok(())
}
