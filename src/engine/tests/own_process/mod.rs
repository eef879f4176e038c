//! For tests that change what belongs to a whole process: a part of each runs
//! again, in a process of its own.

use benchd_engine::{EngineError, Plan, Progress, Stop, run};
use benchd_model::{Tally, TrialEnd};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

/// Lets `command`, which ends in this executable, run the test `name` alone, and
/// know by `variable` that it is the process within.
pub(crate) fn again(
    mut command: Command,
    name: &str,
    variable: &str,
    value: impl AsRef<OsStr>,
) -> Command {
    command.args(["--exact", name, "--nocapture"]).env(variable, value);
    command
}

/// Answers all requests, each connection on a thread of its own.
pub(crate) fn answer(listener: TcpListener) {
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                while let Ok(1..) = stream.read(&mut [0; 1024]) {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok();
                }
            });
        }
    });
}

/// What comes of `plan`; none where the kernel has no such driver.
pub(crate) fn made(plan: &Plan) -> Option<(Tally, TrialEnd)> {
    let mut total = Tally::default();
    let run = run(plan, &Stop::default(), &mut |progress| {
        if let Progress::Second(second) = progress {
            total.merge(&second.tally);
        }
    });
    match run {
        Err(EngineError::Driver(_)) => None,
        run => Some((total, run.unwrap().end)),
    }
}
