//! `benchd run`: one job, measured here or by a service, and its report.

mod document;
mod here;
mod there;

use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use crate::signal;
use benchd_model::FieldError;
use benchd_model::policy::TargetPolicy;
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
