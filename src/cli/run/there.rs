//! The job measured by a service.

use super::outputs::{Outputs, json_text};
use super::{no_result, words};
use crate::args::RunArgs;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::follow::{PATIENCE, Progress};
use crate::serve::read_token;
use benchd_model::statistics::Comparison;
use benchd_model::{Job, JobId, RunResult, Span};
use benchd_report::{Format, Report, render, render_table};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

pub(super) async fn run(
    args: &RunArgs,
    server: &str,
    document: &Value,
    outputs: Outputs,
    shutdown: CancellationToken,
) -> anyhow::Result<Exit> {
    let output = &args.output;
    let wait = output.wait.as_deref().map(str::parse::<Span>).transpose();
    let wait = wait.map_err(|why| {
        Stop::error(Exit::Usage, format!("{}: {why}", args.sources.name("--wait")))
    })?;
    let client = Client::new(server, read_token(&output.token)?)?;
    let posted = client.post_job(document).await;
    let job = posted.map_err(|error| match error.downcast_ref::<Stop>() {
        Some(stop) if !stop.errors.is_empty() => words::refusal(args, stop.exit, &stop.errors),
        _ => error,
    })?;
    let progress = RefCell::new(Progress::new(&job.spec, output.quiet));
    let mut on_event = |event: &_| progress.borrow_mut().event(event);
    let followed = tokio::select! {
        followed = client.follow(job.id, &shutdown, &mut on_event) => followed,
        () = expiry(wait) => Err(still_going(&client, job.id)),
        never = tell_of_the_queue(&client, job.id, &progress) => match never {},
    };
    let progress = progress.into_inner();
    progress.finish();
    followed?;
    let job = client.job(job.id).await?;
    deliver(&client, &job, outputs).await?;
    Ok(Exit::of_job(job.state, job.verdict, job.error_code))
}

/// Says why nothing happens, when nothing does for a while.
async fn tell_of_the_queue(client: &Client, id: JobId, progress: &RefCell<Progress>) -> Infallible {
    tokio::time::sleep(PATIENCE).await;
    if let Ok(job) = client.job(id).await {
        let why = match job.queue_position {
            Some(0) | None => "another job loads this host, or no worker is free".to_owned(),
            Some(1) => "1 job comes before it".to_owned(),
            Some(many) => format!("{many} jobs come before it"),
        };
        progress.borrow_mut().waits(Instant::now(), &why);
    }
    std::future::pending().await
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

async fn deliver(client: &Client, job: &Job, outputs: Outputs) -> anyhow::Result<()> {
    if job.verdict.is_none() {
        return Err(no_result(job));
    }
    let path = format!("jobs/{}/result", job.id);
    let mut texts = HashMap::new();
    for form in outputs.forms() {
        let text = match form {
            (Format::Table, colour) => {
                let result: RunResult = client.json(&path).await?;
                render_table(&Report { job, result: &result, recordings: &[] }, colour)
            }
            (Format::Json, _) if outputs.of_comparison => {
                let path = format!("comparisons/{}", job.id);
                json_text(&client.json::<Comparison>(&path).await?)?
            }
            // Its links are read far away from the service.
            (Format::Markdown, _) => {
                let mut result: RunResult = client.json(&path).await?;
                result.links.values_mut().for_each(|link| *link = client.url(link));
                render(Format::Markdown, &Report { job, result: &result, recordings: &[] })
            }
            (format, _) => client.text(&format!("{path}?format={}", format.name())).await?,
        };
        texts.insert(form, text);
    }
    outputs.deliver(&texts)
}
