//! `benchd run`: one job, measured here or by a service, and its report.

mod document;
mod here;
mod there;

use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use crate::signal;
use benchd_model::policy::TargetPolicy;
use benchd_model::{FieldError, Job};
use benchd_report::Format;

/// Measures what was asked for and prints the report on stdout.
pub(crate) async fn run(args: RunArgs, policy: TargetPolicy) -> anyhow::Result<Exit> {
    let format: Format = args.output.format.parse()?;
    let document = document::build(&args)?;
    let shutdown = signal::shutdown()?;
    match &args.output.server {
        Some(server) => there::run(&args.output, server, &document, format, shutdown).await,
        None => here::run(&args.output, &document, policy, format, shutdown).await,
    }
}

/// What is wrong with a document, in the words of the command line.
fn refusal(errors: &[FieldError]) -> anyhow::Error {
    let lines: Vec<String> =
        errors.iter().map(|e| format!("{}: {}", document::flag_of(&e.pointer), e.detail)).collect();
    Stop::error(Exit::Usage, lines.join("\nbenchd: "))
}

/// Why there is nothing to report of a job that is over.
fn no_result(job: &Job) -> anyhow::Error {
    let why = job.error.as_deref().or(job.summary.as_deref());
    let why = why.unwrap_or("it ended before anything was measured");
    Stop::error(Exit::of_job(job.state, job.verdict), format!("no result: {why}"))
}
