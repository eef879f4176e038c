//! `benchd run`: one job, measured here or by a service, and its report.

pub(crate) mod document;
mod here;
pub(crate) mod outputs;
mod target;
mod there;
pub(crate) mod words;

use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use crate::output::tell;
use crate::signal;
use benchd_model::Job;
use benchd_model::policy::TargetPolicy;
use outputs::Outputs;
use serde_json::Value;

/// Measures what was asked for and delivers the report.
pub(crate) async fn run(args: RunArgs, policy: TargetPolicy) -> anyhow::Result<Exit> {
    let outputs = Outputs::prepare(&args)?;
    let document = document::build(&args)?;
    measure(&args, &document, policy, outputs).await
}

/// Measures the job of `document`, here or by a service, and delivers its report.
pub(crate) async fn measure(
    args: &RunArgs,
    document: &Value,
    policy: TargetPolicy,
    outputs: Outputs,
) -> anyhow::Result<Exit> {
    let shutdown = signal::shutdown()?;
    match &args.output.server {
        Some(server) => {
            if !args.judge.rule.baseline_when.is_empty() {
                let rule = args.sources.name("--baseline-when");
                tell(format_args!(
                    "benchd: {rule} has no effect with --server: the service has its own"
                ));
            }
            there::run(args, server, document, outputs, shutdown).await
        }
        None => {
            if args.output.wait.is_some() {
                let wait = args.sources.name("--wait");
                tell(format_args!("benchd: {wait} has no effect without --server"));
            }
            here::run(args, document, policy, outputs, shutdown).await
        }
    }
}

/// Why there is nothing to report of a job that is over.
fn no_result(job: &Job) -> anyhow::Error {
    let why = job.error.as_deref().or(job.summary.as_deref());
    let why = why.unwrap_or("it ended before anything was measured");
    Stop::error(Exit::of_job(job.state, job.verdict, job.error_code), format!("no result: {why}"))
}
