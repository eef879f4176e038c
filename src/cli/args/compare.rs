//! What `benchd compare` takes.

use super::{JudgeArgs, LoadArgs, OutputArgs, RequestArgs, TargetArgs, number, percent};
use crate::settings::Sources;
use clap::Args;
use serde_json::Number;

const DURATION: &str =
    "How long each trial lasts [default: 20s, or 10s with --quick, unless -n is given]";
const WARMUP: &str =
    "Load before each trial that enters no figure [default: 5s, or 2s with --quick]";

#[derive(Debug, Args)]
#[command(
    after_help = "Each side is a URL, a registered name, a job document (FILE.json), or the id of a \
    finished job (several: ID,ID). Two loads are measured in turns, in blocks of one trial each; \
    what a baseline's document leaves out is the candidate's, and flags go before both documents.\n\n\
    Exit codes: 0 no regression, or an improvement; 99 regression, or the candidate violates a \
    criterion; 125 inconclusive or invalid; the others as of `benchd run`.",
    mut_arg("duration", |arg| arg.help(DURATION)),
    mut_arg("warmup", |arg| arg.help(WARMUP)),
    mut_arg("trials", |arg| arg.hide(true)),
)]
pub(crate) struct CompareArgs {
    /// What to compare with
    #[arg(value_name = "BASELINE")]
    pub(crate) baseline: String,
    /// What is judged; without it BASELINE is a finished job that is judged by the stored baseline
    #[arg(value_name = "CANDIDATE", conflicts_with = "itself")]
    pub(crate) candidate: Option<String>,
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Where each value comes from; `settings` fills it in.
    #[arg(skip)]
    pub(crate) sources: Sources,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct QuestionArgs {
    /// Six blocks of 2 s warm-up and 10 s each: under three minutes, finds larger changes only
    #[arg(long, env = "BENCHD_QUICK")]
    pub(crate) quick: bool,
    /// The metric that decides [default: rps, or latency_p99_ms with --rate]
    #[arg(long, env = "BENCHD_METRIC", value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// By how many percent the candidate may be worse [default: 5]
    #[arg(long, env = "BENCHD_MARGIN", value_name = "N", value_parser = percent)]
    pub(crate) margin: Option<Number>,
    /// How many blocks [default: 10, or 6 with --quick]
    #[arg(long, env = "BENCHD_BLOCKS", value_name = "N", value_parser = number)]
    pub(crate) blocks: Option<Number>,
    /// What order and interval are drawn from [default: the job's id]
    #[arg(long, env = "BENCHD_SEED", value_name = "N", value_parser = number)]
    pub(crate) seed: Option<Number>,
    /// Compare BASELINE with itself, and keep what it shows as the noise floor
    #[arg(id = "itself", long = "self", env = "BENCHD_SELF")]
    pub(crate) itself: bool,
    /// Compare jobs even though their environments differ, or what they asked for
    #[arg(long, env = "BENCHD_FORCE")]
    pub(crate) force: bool,
    /// URL of the baseline's stub_status page; --stub-status is the candidate's
    #[arg(long, env = "BENCHD_BASELINE_STUB_STATUS", value_name = "URL")]
    pub(crate) baseline_stub_status: Option<String>,
}
