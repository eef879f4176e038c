//! `benchd ab`: ab's options in, ab's report out, with honest counts. It loads
//! straight from the command line; no job is stored and no server is asked.

mod address;
mod getopt;
mod load;
mod options;
mod progress;

use benchd_engine::Run;
use benchd_model::policy::TargetPolicy;
use benchd_model::recording::EndReason;
use benchd_model::{Tally, Timestamp};
use benchd_report::ab::{AbReport, AbRow, version_line};
use options::{Command, Options, Wrong};
use progress::Heartbeat;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// ab's exit code after an interrupt, whose report it still prints.
const INTERRUPTED: u8 = 1;
const HELP: &str = include_str!("help.txt");

/// Why there is no report.
struct Stopped {
    message: String,
    code: u8,
}

impl Stopped {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { message: message.into(), code }
    }
}

/// Runs `benchd ab` with the arguments behind `ab`. Exit codes are ab's: 0 when
/// a report was printed, 1 and 22 for options, 50 for an unknown host, the
/// error's number when nothing was answered at all (without `-r`); and 3 when
/// the policy refuses the target.
pub(crate) fn run(args: &[OsString], policy: &TargetPolicy) -> ExitCode {
    let outcome = match options::parse(args) {
        Ok(Command::Help) => print(HELP).map(|()| 0),
        Ok(Command::Version) => print(&format!("{}\n", version_line())).map(|()| 0),
        Ok(Command::Run(options)) => measure(&options, policy),
        Err(wrong) => return explain(&wrong),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(stopped) => {
            eprintln!("benchd ab: {}", stopped.message);
            stopped.code.into()
        }
    }
}

fn explain(wrong: &Wrong) -> ExitCode {
    eprintln!("benchd ab: {}", wrong.message);
    if wrong.shows_usage {
        eprint!("{HELP}");
    }
    wrong.code.into()
}

fn measure(options: &Options, policy: &TargetPolicy) -> Result<u8, Stopped> {
    let address = load::address(options, policy)?;
    let plan = load::plan(options, address);
    let spec = load::spec(options);
    let heartbeat = Heartbeat::new(options.requests, options.quiet);
    let dots = !heartbeat.beats();

    let mut opening = AbReport::new(&spec, &Tally::default(), &[], None);
    options.host.clone_into(&mut opening.hostname);
    print(&format!("{}{}", opening.banner(), if dots { "..." } else { "\n" }))?;
    let measured = load::run(&plan, heartbeat)?;
    let interrupted = measured.run.end.reason != EndReason::Completed;
    if dots && !interrupted {
        print("..done\n")?;
    }

    let report = report(options, &spec, measured);
    Ok(0)
}
