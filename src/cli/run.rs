//! `benchd run`: one job, measured here or by a service, and its report.

mod document;
mod here;
mod target;
mod there;
mod words;

use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use crate::output::tell;
use crate::signal;
use benchd_model::Job;
use benchd_model::policy::TargetPolicy;
use benchd_report::Format;

/// Measures what was asked for and prints the report on stdout.
pub(crate) async fn run(args: RunArgs, policy: TargetPolicy) -> anyhow::Result<Exit> {
    let format: Format = args.output.format.parse().map_err(|why| {
        Stop::error(Exit::Usage, format!("{}: {why}", args.sources.name("--format")))
    })?;
    let document = document::build(&args)?;
    let shutdown = signal::shutdown()?;
    match &args.output.server {
        Some(server) => there::run(&args, server, &document, format, shutdown).await,
        None => {
            if args.output.wait.is_some() {
                let wait = args.sources.name("--wait");
                tell(format_args!("benchd: {wait} has no effect without --server"));
            }
            here::run(&args, &document, policy, format, shutdown).await
        }
    }
}

/// Why there is nothing to report of a job that is over.
fn no_result(job: &Job) -> anyhow::Error {
    let why = job.error.as_deref().or(job.summary.as_deref());
    let why = why.unwrap_or("it ended before anything was measured");
    Stop::error(Exit::of_job(job.state, job.verdict), format!("no result: {why}"))
}
