//! The binary: it alone puts server and worker together. Each command has a
//! module; `args` is what was typed, `settings` adds variables and the file.

mod ab;
mod args;
mod baseline;
mod client;
mod compare;
mod demo;
mod exit;
mod follow;
mod history;
mod local;
mod metrics;
mod output;
mod records;
mod run;
mod serve;
mod settings;
mod signal;

use args::Command;
use benchd_model::policy::TargetPolicy;
use exit::{Exit, Stop};
use output::tell;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let settings = match settings::load(std::env::args_os()) {
        Ok(settings) => settings,
        Err(refusal) => return refusal.print(),
    };
    if let Err(error) = start_logging(&settings.command).and_then(|()| check_driver()) {
        return failed(&error);
    }
    let policy = settings.policy;
    // Who types a command reaches any socket that their own user may.
    let own = || TargetPolicy { any_unix_socket: true, ..policy.clone() };
    let outcome = match settings.command {
        Command::Ab(args) => return ab::run(&args.options, &own()),
        Command::Openapi => output::print(&benchd_server::openapi_json()).map(|()| Exit::Pass),
        Command::Metrics(args) => metrics::list(&args),
        Command::Baseline(command) => runtime().block_on(baseline::run(command)),
        Command::History(args) => runtime().block_on(history::show(args)),
        Command::Run(args) => runtime().block_on(run::run(*args, own())),
        Command::Compare(args) => runtime().block_on(compare::compare(*args, own())),
        Command::Serve(args) => runtime().block_on(serve::serve(args, policy)),
        Command::Worker(args) => runtime().block_on(serve::worker(args, policy)),
        Command::Demo(args) => runtime().block_on(demo::demo(args)),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    tell(format_args!("benchd: {error:#}"));
    Exit::of(error).into()
}

/// A driver that there is not is refused before anything is begun with it.
fn check_driver() -> anyhow::Result<()> {
    let choice = benchd_engine::DriverChoice::from_environment();
    choice.map(drop).map_err(|error| Stop::error(Exit::Usage, error.to_string()))
}

/// One thread is enough beside the engine's own, and leaves the processors to
/// the load.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime needs only a descriptor or two, and nothing else runs yet")
}

/// Logs on stderr what `BENCHD_LOG` lets through, or what each command usually says.
fn start_logging(command: &Command) -> anyhow::Result<()> {
    use std::io::IsTerminal as _;
    let usual = match command {
        Command::Serve(_) | Command::Worker(_) => "info",
        _ => "warn",
    };
    let filter = std::env::var_os("BENCHD_LOG").filter(|text| !text.is_empty());
    let filter = filter.unwrap_or_else(|| usual.into());
    tracing_subscriber::fmt()
        .with_env_filter(log_filter(&filter.to_string_lossy())?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // It would panic about a stderr that is gone.
        .log_internal_errors(false)
        .init();
    Ok(())
}

fn log_filter(text: &str) -> anyhow::Result<EnvFilter> {
    // sqlx tells what it does not understand of an address or a .pgpass, which
    // may be a password.
    const SILENCED: &str = "sqlx_postgres::options=off";
    let filter = EnvFilter::try_new(text).map_err(|error| {
        Stop::error(
            Exit::Usage,
            format!(
                "BENCHD_LOG={text:?} is no filter ({error}): write a level such as debug, or \
                 TARGET=LEVEL pairs such as info,benchd_worker=debug"
            ),
        )
    })?;
    Ok(filter.add_directive(SILENCED.parse()?))
}

#[cfg(test)]
mod tests {
    use super::log_filter;

    #[test]
    fn a_filter_never_lets_addresses_into_the_log() {
        for text in ["trace", "", "sqlx_postgres::options=trace", "info,sqlx_postgres=debug"] {
            let filter = log_filter(text).unwrap().to_string();
            assert!(filter.contains("sqlx_postgres::options=off"), "{text}: {filter}");
            assert!(!filter.contains("options=trace"), "{text}: {filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_with_what_is_right() {
        for text in ["info,worker=loud", "=debug=", "[unclosed"] {
            let refusal = log_filter(text).err().map(|error| error.to_string());
            assert!(refusal.is_some_and(|words| words.contains("TARGET=LEVEL")), "{text}");
        }
    }
}
