//! What can be typed. Every flag has a variable `BENCHD_…` and a key in
//! `benchd.toml` (see `settings`); flag before variable before file.

mod compare;
mod records;

use crate::settings::Sources;
use clap::{Args, Parser, Subcommand};
use serde_json::Number;
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use compare::CompareArgs;
pub(crate) use records::{
    BaselineCommand, BaselineRule, HistoryArgs, ListArgs, Place, RemoveArgs, SetArgs,
};

/// Benchmark-as-a-service for nginx and any HTTP server.
#[derive(Debug, Parser)]
#[command(name = "benchd", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 pass, 99 fail, 125 inconclusive or invalid, 2 usage, 3 refused by \
    target policy, 4 wait expired (the job goes on), 130 interrupted."
)]
pub(crate) struct Cli {
    /// Settings file with defaults for every flag and the registered targets
    /// [default: benchd.toml, when there is one]
    #[arg(long, global = true, env = "BENCHD_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the API, with one worker inside
    Serve(ServeArgs),
    /// Work for a service that shares the database
    Worker(WorkerArgs),
    /// Measure a URL and print the result with its verdict
    Run(Box<RunArgs>),
    /// Compare two targets, or finished jobs, and say which is better and how sure that is
    Compare(Box<CompareArgs>),
    /// Take ab's options and print ab's report, with honest counts
    #[command(disable_help_flag = true)]
    Ab(AbOptions),
    /// Say which finished jobs others are compared with
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Show the runs of a scenario and where a metric's level changed
    History(HistoryArgs),
    /// Show the whole of it: service, target, job, result
    Demo(DemoArgs),
    /// List the metrics that criteria may speak of
    Metrics(MetricsArgs),
    /// Print the OpenAPI document
    Openapi,
}

#[derive(Debug, Args)]
pub(crate) struct Database {
    /// Where jobs are kept: a SQLite file, or postgres://user:password@host/name
    /// [default: benchd.db in $XDG_DATA_HOME/benchd or ~/.local/share/benchd]
    #[arg(
        long,
        env = "BENCHD_DATABASE",
        value_name = "DATABASE",
        hide_env_values = true,
        hide_default_value = true
    )]
    pub(crate) database: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; another than loopback needs --token-file
    #[arg(long, env = "BENCHD_LISTEN", default_value = "127.0.0.1:8300", value_name = "HOST:PORT")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Workers inside the service; 0 when `benchd worker` runs beside it
    #[arg(long, env = "BENCHD_WORKERS", default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(crate) workers: u32,
    #[command(flatten)]
    pub(crate) rule: BaselineRule,
    #[command(flatten)]
    pub(crate) token: Token,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// File whose first line is the bearer token of the API
    #[arg(long, env = "BENCHD_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The token itself; a variable or the file above keeps it out of process lists
    #[arg(
        long,
        env = "BENCHD_TOKEN",
        value_name = "TOKEN",
        hide = true,
        hide_env_values = true,
        hide_default_value = true
    )]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) rule: BaselineRule,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to request: a URL, unix:/path/of.sock[:/uri], or a registered name
    #[arg(value_name = "URL", env = "BENCHD_URL", required_unless_present = "file")]
    pub(crate) url: Option<String>,
    /// Job document (JSON, as POST /jobs takes it); flags go before it
    #[arg(short = 'f', long, env = "BENCHD_FILE", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
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
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Connections, each with one request (or --streams) at a time [default: 50]
    #[arg(short = 'c', long, env = "BENCHD_CONNECTIONS", value_name = "N", value_parser = number)]
    pub(crate) connections: Option<Number>,
    /// How many requests, exactly
    #[arg(short = 'n', long, env = "BENCHD_REQUESTS", value_name = "N", value_parser = number)]
    pub(crate) requests: Option<Number>,
    /// How long, such as 30s [default: 10s unless -n is given]
    #[arg(short = 'd', long, env = "BENCHD_DURATION", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Requests per second, whatever the answers do (an open loop)
    #[arg(long, env = "BENCHD_RATE", value_name = "N", value_parser = rate)]
    pub(crate) rate: Option<Number>,
    /// How a rate's requests lie in time: constant or poisson [default: constant]
    #[arg(long, env = "BENCHD_ARRIVALS", value_name = "HOW")]
    pub(crate) arrivals: Option<String>,
    /// Requests of a rate that may wait for a free connection or stream, before
    /// further ones are dropped [default: what comes due within --timeout]
    #[arg(long, env = "BENCHD_MAX_QUEUED", value_name = "N", value_parser = number)]
    pub(crate) max_queued: Option<Number>,
    /// Open a connection for each request
    #[arg(long, env = "BENCHD_NO_KEEPALIVE")]
    pub(crate) no_keepalive: bool,
    /// Load before the measuring window that enters no figure
    #[arg(long, env = "BENCHD_WARMUP", value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Time limit of one request, connecting included; at a rate it counts from the
    /// intended start [default: 30s]
    #[arg(long, env = "BENCHD_TIMEOUT", value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Generator threads [default: 1]
    #[arg(long, env = "BENCHD_THREADS", value_name = "N", value_parser = number)]
    pub(crate) threads: Option<Number>,
    /// http1, http10 or h2 [default: http1]
    #[arg(long, env = "BENCHD_PROTOCOL", value_name = "PROTOCOL")]
    pub(crate) protocol: Option<String>,
    /// Come from this address of the generator's host (repeatable: in turns)
    #[arg(
        long = "source-address",
        env = "BENCHD_SOURCE_ADDRESS",
        value_name = "ADDRESS",
        value_delimiter = ','
    )]
    pub(crate) source_addresses: Vec<String>,
    /// Requests in flight on each connection, with --protocol h2 [default: 1]
    #[arg(long, env = "BENCHD_STREAMS", value_name = "N", value_parser = number)]
    pub(crate) streams: Option<Number>,
    /// How often the whole measurement is made [default: 1]
    #[arg(long, env = "BENCHD_TRIALS", value_name = "N", value_parser = number)]
    pub(crate) trials: Option<Number>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// Method [default: GET, or POST with a body]
    #[arg(short = 'm', long, env = "BENCHD_METHOD", value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Header field 'Name: value' (repeatable; one a line in the variable)
    #[arg(
        short = 'H',
        long = "header",
        env = "BENCHD_HEADER",
        value_name = "FIELD",
        value_delimiter = '\n'
    )]
    pub(crate) headers: Vec<String>,
    /// Send this file as the body
    #[arg(long, env = "BENCHD_BODY_FILE", value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
    /// Statuses that count as good, such as 2xx or 304 (repeatable) [default: 2xx]
    #[arg(long, env = "BENCHD_EXPECT_STATUS", value_name = "STATUS", value_delimiter = ',')]
    pub(crate) expect_status: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetArgs {
    /// URL of the target's stub_status page
    #[arg(long, env = "BENCHD_STUB_STATUS", value_name = "URL")]
    pub(crate) stub_status: Option<String>,
    /// Use these addresses instead of a lookup (repeatable; one a line in the variable)
    #[arg(
        long,
        env = "BENCHD_RESOLVE",
        value_name = "HOST:PORT:ADDR[,ADDR]",
        value_delimiter = '\n'
    )]
    pub(crate) resolve: Vec<String>,
    /// Connect to this socket; the URL still gives Host and path
    #[arg(long, env = "BENCHD_UNIX_SOCKET", value_name = "PATH")]
    pub(crate) unix_socket: Option<String>,
    /// Accept any TLS certificate
    #[arg(long, env = "BENCHD_INSECURE")]
    pub(crate) insecure: bool,
    /// Trust the issuers in this PEM file instead of the public ones
    #[arg(long, env = "BENCHD_CA_FILE", value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Lowest TLS version to accept: 1.2 or 1.3 [default: 1.2]
    #[arg(long, env = "BENCHD_TLS_MIN", value_name = "VERSION")]
    pub(crate) tls_min: Option<String>,
    /// Resume TLS sessions where the server offers it; counted apart
    #[arg(long, env = "BENCHD_TLS_RESUMPTION")]
    pub(crate) tls_resumption: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Judgement")]
pub(crate) struct JudgeArgs {
    /// Condition such as 'latency_p99_ms < 500' (repeatable; separated by `;` in the variable)
    /// [default: error_ratio < 0.01]
    ///
    /// `[warn:|abort:] METRIC OP NUMBER[unit] [for DURATION]`, where OP is one of < <= > >= ==, or
    /// `[warn:] METRIC within N% of baseline [NAME]`. With "for 10s" it must hold over every 10 whole
    /// seconds in a row; "warn:" only tells; "abort:" ends the run once nothing can make it hold.
    /// `benchd metrics` lists the metrics.
    #[arg(long, env = "BENCHD_CRITERIA", value_name = "EXPR", value_delimiter = ';')]
    pub(crate) criteria: Vec<String>,
    /// Label KEY=VALUE to find the job by (repeatable; one a line in the variable)
    #[arg(long = "label", env = "BENCHD_LABEL", value_name = "K=V", value_delimiter = '\n')]
    pub(crate) labels: Vec<String>,
    /// Project the job belongs to [default: default]
    #[arg(long, env = "BENCHD_PROJECT", value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// Scenario of the project [default: default]
    #[arg(long, env = "BENCHD_SCENARIO", value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) rule: BaselineRule,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Where and how")]
pub(crate) struct OutputArgs {
    /// What to print: table, json, ab, csv, markdown, junit, openmetrics,
    /// load_performance (GitLab's, as of k6) or hdr
    #[arg(long, env = "BENCHD_FORMAT", default_value = "table", value_name = "FORMAT")]
    pub(crate) format: String,
    /// Write this format into a file, too (repeatable; one a line in the variable)
    #[arg(
        long = "output",
        env = "BENCHD_OUTPUT",
        value_name = "FORMAT=FILE",
        value_delimiter = '\n'
    )]
    pub(crate) outputs: Vec<String>,
    /// Append Markdown to the file that $GITHUB_STEP_SUMMARY names, when it is set
    #[arg(long, env = "BENCHD_SUMMARY")]
    pub(crate) summary: bool,
    /// Let this service measure instead of this process
    #[arg(long, env = "BENCHD_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// How long to wait for the service [default: as long as it takes]
    #[arg(long, env = "BENCHD_WAIT", value_name = "TIME")]
    pub(crate) wait: Option<String>,
    #[command(flatten)]
    pub(crate) token: Token,
    #[command(flatten)]
    pub(crate) database: Database,
    /// No progress on stderr
    #[arg(short = 'q', long, env = "BENCHD_QUIET")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AbOptions {
    /// ab's options, then the URL; `benchd ab -h` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Stay up for browsing until Ctrl-C
    #[arg(long, env = "BENCHD_KEEP")]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// What to print: table or json
    // Without a variable and a key: those name the form of reports.
    #[arg(long, default_value = "table", value_name = "FORMAT", value_parser = ["table", "json"])]
    pub(crate) format: String,
}

/// Any number, so that the job document says which would be right.
fn number(text: &str) -> Result<Number, String> {
    let whole = text.parse::<u64>().map(Number::from);
    whole.or_else(|_| text.parse::<Number>()).map_err(|_| "write a whole number".to_owned())
}

fn percent(text: &str) -> Result<Number, String> {
    number(text).map_err(|_| "write a number of percent, such as 5 or 2.5".to_owned())
}

/// As `number`, for what need not be whole.
fn rate(text: &str) -> Result<Number, String> {
    let told = "write a number of requests per second, such as 1000 or 0.5";
    number(text).map_err(|_| told.to_owned())
}
