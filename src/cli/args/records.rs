//! Commands that read and change what is stored.

use super::{Database, Token};
use benchd_model::JobId;
use benchd_model::baseline::{BaselineId, DEFAULT_BASELINE, check_name};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Make a finished job the baseline of its project, scenario and environment
    Set(SetArgs),
    /// List baselines
    List(ListArgs),
    /// Remove a baseline; its job stays
    Remove(RemoveArgs),
}

/// Whose records.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where")]
pub(crate) struct Place {
    /// Ask this service instead of the local database
    #[arg(long, env = "BENCHD_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) token: Token,
    #[command(flatten)]
    pub(crate) database: Database,
}

/// How it is shown.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// What to print: table or json
    // Without a variable and a key: those name the form of reports.
    #[arg(long, default_value = "table", value_name = "FORMAT", value_parser = ["table", "json"])]
    format: String,
}

impl Form {
    pub(crate) fn is_json(&self) -> bool {
        self.format == "json"
    }
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The job
    #[arg(value_name = "JOB")]
    pub(crate) job: JobId,
    /// What criteria call it: within 5% of baseline NAME
    #[arg(long, env = "BENCHD_BASELINE_NAME", default_value = DEFAULT_BASELINE, value_name = "NAME",
          value_parser = name)]
    pub(crate) name: String,
    /// Take a job that did not pass, too
    // Without a variable and a key: it is for this one job.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) form: Form,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only of this project
    #[arg(long, env = "BENCHD_PROJECT", value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// Only of this scenario
    #[arg(long, env = "BENCHD_SCENARIO", value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The baseline, by its id
    #[arg(value_name = "ID")]
    pub(crate) id: BaselineId,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The project
    #[arg(long, env = "BENCHD_PROJECT", default_value = "default", value_name = "NAME")]
    pub(crate) project: String,
    /// The scenario
    #[arg(long, env = "BENCHD_SCENARIO", default_value = "default", value_name = "NAME")]
    pub(crate) scenario: String,
    /// The metric to show and to search for changes
    #[arg(long, env = "BENCHD_METRIC", default_value = "rps", value_name = "METRIC")]
    pub(crate) metric: String,
    /// Only runs with this value of the label `branch`
    #[arg(long, env = "BENCHD_BRANCH", value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// Only runs of this environment, so that generators that take turns do not end each other's
    /// histories
    #[arg(long, env = "BENCHD_ENVIRONMENT", value_name = "FINGERPRINT")]
    pub(crate) environment: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Which jobs become a baseline by themselves.
#[derive(Debug, Args)]
pub(crate) struct BaselineRule {
    /// Make a job that passed and has this label the baseline `default` of its project,
    /// scenario and environment (repeatable: any of them; one a line in the variable)
    #[arg(long, env = "BENCHD_BASELINE_WHEN", value_name = "K=V", value_delimiter = '\n',
          value_parser = label)]
    pub(crate) baseline_when: Vec<(String, String)>,
}

fn name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

fn label(text: &str) -> Result<(String, String), String> {
    let label = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = label.ok_or("write a label as KEY=VALUE, such as branch=main")?;
    Ok((key.to_owned(), value.to_owned()))
}
