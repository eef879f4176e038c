//! The binary: it alone puts server and worker together. Each command has a
//! module; `args` is what was typed, `settings` adds variables and the file.

mod ab;
mod args;
mod client;
mod demo;
mod exit;
mod follow;
mod local;
mod run;
mod serve;
mod settings;
mod signal;

use args::Command;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let settings = match settings::load(std::env::args_os()) {
        Ok(settings) => settings,
        Err(refusal) => return refusal.print(),
    };
    start_logging(&settings.command);
    let policy = settings.policy;
    let outcome = match settings.command {
        Command::Ab(args) => return ab::run(&args.options, &policy),
        Command::Openapi => {
            print!("{}", benchd_server::openapi_json());
            Ok(Exit::Pass)
        }
        Command::Run(args) => runtime().block_on(run::run(*args, policy)),
        Command::Serve(args) => runtime().block_on(serve::serve(args, policy)),
        Command::Worker(args) => runtime().block_on(serve::worker(args, policy)),
        Command::Demo(args) => runtime().block_on(demo::demo(args)),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("benchd: {error:#}");
            Exit::of(&error).into()
        }
    }
}

/// One thread is enough beside the engine's own, and leaves the processors to
/// the load.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime needs only a descriptor or two, and nothing else runs yet")
}

fn start_logging(command: &Command) {
    use std::io::IsTerminal as _;
    let usual = match command {
        Command::Serve(_) | Command::Worker(_) => "info",
        _ => "warn",
    };
    let filter = std::env::var("BENCHD_LOG").unwrap_or_else(|_| usual.to_owned());
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
