//! `benchd demo`: the whole of it on one page. Service, target, a job posted
//! over HTTP as any client would, live progress, report, verdict.

mod target;

use crate::args::DemoArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::follow::Progress;
use crate::{output, serve, signal};
use anyhow::Context as _;
use benchd_model::policy::TargetPolicy;
use benchd_model::{Job, RunResult, TimelineRow};
use benchd_report::timeline_table;
use benchd_store::Store;
use serde_json::{Value, json};
use std::fmt::Arguments;
use target::DemoTarget;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Runs the demonstration; nothing of it stays behind.
pub(crate) async fn demo(args: DemoArgs) -> anyhow::Result<Exit> {
    let shutdown = signal::shutdown()?;
    let folder = tempfile::Builder::new().prefix("benchd-demo-").tempdir()?;
    let target = DemoTarget::start().await?;
    say(format_args!("target    {}", target.describe()))?;

    let database = folder.path().join("benchd.db");
    let store = Store::open(&database.to_string_lossy()).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = format!("http://{}", listener.local_addr()?);
    say(format_args!("service   {server} (database {})", store.describe()))?;

    // Of its own: Ctrl-C cancels the job through the service first.
    let stop = CancellationToken::new();
    let service = tokio::spawn(serve::serve_on(
        listener,
        store,
        TargetPolicy::default(),
        None,
        serve::Working { workers: 1, ..serve::Working::default() },
        stop.clone(),
    ));
    let shown = show(&server, &target, &shutdown).await;
    match (&shown, args.keep) {
        (Ok(_), true) => {
            say(format_args!("\nstaying up until Ctrl-C"))?;
            shutdown.cancelled().await;
        }
        (Ok(_), false) => {
            say(format_args!("\n`benchd demo --keep` stays up, for these URLs to be browsed"))?
        }
        (Err(_), _) => {}
    }
    stop.cancel();
    service.await.context("the service panicked")??;
    shown
}

async fn show(
    server: &str,
    target: &DemoTarget,
    shutdown: &CancellationToken,
) -> anyhow::Result<Exit> {
    let client = Client::new(server, None)?;
    let document = document(target);
    say(format_args!("job       POST {server}/jobs {document}\n"))?;
    let job = client.post_job(&document).await?;
    let mut progress = Progress::new(&job.spec, false);
    let mut on_event = |event: &_| progress.event(event);
    client.follow(job.id, shutdown, &mut on_event).await?;
    progress.finish();
    let job = client.job(job.id).await?;
    print_report(&client, &job).await?;
    Ok(Exit::of_job(job.state, job.verdict, job.error_code))
}

fn document(target: &DemoTarget) -> Value {
    json!({
        "project": "demo",
        "scenario": "welcome page",
        "target": {"url": target.url(), "stub_status": target.stub_status_url()},
        "load": {"connections": 100, "duration": "5s", "warmup": "1s", "timeout": "10s"},
        "criteria": ["latency_p99_ms < 500", "error_ratio < 0.1%", "nginx_dropped == 0"],
        "labels": {"run": "demo"}
    })
}

async fn print_report(client: &Client, job: &Job) -> anyhow::Result<()> {
    let path = format!("jobs/{}", job.id);
    say(format_args!("\n{}", client.text(&format!("{path}/result?format=ab")).await?))?;
    let rows: Vec<TimelineRow> = client.json(&format!("{path}/timeline")).await?;
    say(format_args!("{}", timeline_table(&rows)))?;
    let result: RunResult = client.json(&format!("{path}/result")).await?;
    say(format_args!("verdict   {}", result.summary))?;
    for criterion in &result.criteria {
        let observed =
            criterion.observed.map_or_else(|| "no data".to_owned(), |v| format!("{v:.4}"));
        let status = serde_json::to_value(criterion.status)?;
        say(format_args!(
            "          {:<24} observed {observed}: {}",
            criterion.expression,
            status.as_str().unwrap_or_default()
        ))?;
    }
    if result.validity.reconciled == Some(true) {
        say(format_args!("          nginx's own request counter agrees with what was sent"))?;
    }
    say(format_args!("\njob       {}", client.url(&path)))?;
    for part in ["result", "timeline", "events"] {
        say(format_args!("{part:<9} {}", client.url(&format!("{path}/{part}"))))?;
    }
    say(format_args!("grafana   {}", client.url(&format!("grafana/series?run_id={}", job.id))))?;
    say(format_args!("docs      {}", client.url("docs")))?;
    Ok(())
}

fn say(line: Arguments<'_>) -> anyhow::Result<()> {
    output::print(&format!("{line}\n"))
}
