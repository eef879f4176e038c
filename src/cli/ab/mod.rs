//! `benchd ab`: ab's options in, ab's report out, with honest counts. It loads
//! straight from the command line; no job is stored and no server is asked.

mod address;
mod getopt;
mod load;
mod options;
mod progress;

use crate::output::{self, tell, tell_text};
use benchd_model::TrialEnd;
use benchd_model::policy::TargetPolicy;
use benchd_model::recording::EndReason;
use benchd_report::ab::{AbReport, version_line};
use load::Measured;
use options::{Command, Options, Wrong};
use progress::Heartbeat;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = include_str!("help.txt");

/// Exit code for bad option values, and after an interrupt, whose report is
/// printed all the same.
const FAILED: u8 = 1;
const REFUSED: u8 = 3;
const UNKNOWN_HOST: u8 = 50;

/// Why there is no report, or no whole one.
#[derive(Debug)]
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
    let code = outcome.unwrap_or_else(|stopped| {
        tell(format_args!("benchd ab: {}", stopped.message));
        stopped.code
    });
    code.into()
}

fn explain(wrong: &Wrong) -> ExitCode {
    tell(format_args!("benchd ab: {}", wrong.message));
    if wrong.shows_usage {
        tell_text(HELP);
    }
    wrong.code.into()
}

fn measure(options: &Options, policy: &TargetPolicy) -> Result<u8, Stopped> {
    if options.verbosity > 1 {
        tell(format_args!("benchd ab: -v {}: responses are not shown", options.verbosity));
    }
    let plan = load::plan(options, load::endpoint(options, policy)?);
    let mut heartbeat = Heartbeat::new(options.requests, options.quiet);
    let opening = report(options, &Measured::default()).banner();
    print(&format!("{opening}{}", heartbeat.opening()))?;

    let measured = load::run(&plan, &mut heartbeat)?;
    let interrupted = measured.end.reason != EndReason::Completed;
    if !interrupted {
        tell_text(&heartbeat.finished());
        print(heartbeat.closing())?;
    }

    let report = report(options, &measured);
    print(&report.results())?;
    write_files(options, &report)?;
    warn(&report, &measured.end);
    Ok(if interrupted { FAILED } else { exit_code(options, &report, &measured.end) })
}

/// The report with the host and path as they were typed.
fn report(options: &Options, measured: &Measured) -> AbReport {
    let ends = std::slice::from_ref(&measured.end);
    let spec = load::spec(options);
    let mut report = AbReport::new(&spec, &measured.tally, ends, Some(&measured.rows));
    options.url.host.clone_into(&mut report.hostname);
    options.url.target.clone_into(&mut report.document_path);
    report.variable_length = options.variable_length;
    report.percentiles = options.percentiles;
    report.confidence = options.confidence;
    report.started_us = measured.started_us;
    report
}

fn write_files(options: &Options, report: &AbReport) -> Result<(), Stopped> {
    let write = |path: &Path, what: &str, text: String| {
        std::fs::write(path, text).map_err(|error| {
            Stopped::new(FAILED, format!("Cannot open {what} output file: {error}"))
        })
    };
    if let Some(path) = &options.csv {
        write(path, "CSV", report.csv())?;
    }
    if let Some(path) = &options.gnuplot {
        if report.complete > load::MOST_ROWS as u64 {
            tell(format_args!("benchd ab: -g holds the first {} responses only", load::MOST_ROWS));
        }
        write(path, "gnuplot", report.gnuplot())?;
    }
    Ok(())
}

/// ab leaves failures to whoever reads the numbers; a log should say them.
fn warn(report: &AbReport, end: &TrialEnd) {
    end.notes.iter().for_each(|note| tell(format_args!("benchd ab: {note}")));
    if report.failed() > 0 {
        tell(format_args!("benchd ab: warning: {} requests failed", report.failed()));
    }
    for (reason, times) in &end.failure_reasons {
        tell(format_args!("benchd ab: warning: {times} × {reason}"));
    }
    if report.non_2xx > 0 {
        tell(format_args!(
            "benchd ab: warning: {} of {} responses were not 2xx",
            report.non_2xx, report.complete
        ));
    }
}

/// Like ab, failures do not matter as long as there is something to report. A
/// run that nobody answered ends ab with the system's error number instead.
fn exit_code(options: &Options, report: &AbReport, end: &TrialEnd) -> u8 {
    if report.complete > 0 || report.failed() == 0 || options.go_on_after_errors {
        return 0;
    }
    let most = end.failure_reasons.iter().max_by_key(|(_, times)| **times);
    most.and_then(|(reason, _)| os_error(reason)).unwrap_or(FAILED)
}

/// The number in `… (os error 111)`.
fn os_error(reason: &str) -> Option<u8> {
    let (_, rest) = reason.rsplit_once("(os error ")?;
    rest.strip_suffix(')')?.parse().ok()
}

fn print(text: &str) -> Result<(), Stopped> {
    output::print(text).map_err(|error| Stopped::new(FAILED, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::os_error;

    #[test]
    fn the_system_s_error_number_is_found_in_its_words() {
        assert_eq!(os_error("connect: Connection refused (os error 111)"), Some(111));
        assert_eq!(os_error("reset: closed before the first byte"), None);
        assert_eq!(os_error("x (os error 70007)"), None);
    }
}
