//! Peak memory: of many connections beyond a service at rest, and of many
//! requests.

use crate::jobs;
use crate::process::{benchd_run, measure as run, peak_kb};
use crate::server::Server;
use crate::targets::{Bound, Targets};
use crate::works::Exchange;

const CONNECTIONS: u32 = 9_000;
/// What a run with all of them may take beyond a process at rest.
const CONNECTIONS_MB: f64 = 60.0;
const CONNECTION_KB: f64 = 4.0;
const REQUESTS: u32 = 20_000;
/// SQLite's page cache fills with the seconds of a run; memory that grew with
/// requests would be far beyond.
const GROWTH_MB: f64 = 2.0;

pub(crate) fn measure(server: &Server, seconds: u32, targets: &mut Targets) {
    let window = format!("{seconds}s");
    let rest = at_rest_mb();
    let one = peak_mb(server, &["-c", "1", "-d", &window]);
    let full = peak_mb(server, &["-c", &CONNECTIONS.to_string(), "-d", &window]);
    println!(
        "peak memory of a service at rest {rest:.1} MB, of a run with 1 connection {one:.1} MB, \
         with {CONNECTIONS} {full:.1} MB"
    );
    let each = (full - one) * 1024.0 / f64::from(CONNECTIONS - 1);
    let what = format!("MB of {CONNECTIONS} connections beyond rest");
    let verdict = targets.judge(&what, full - rest, Some(Bound::AtMost(CONNECTIONS_MB)));
    println!("       {:.1} {what}{verdict}", full - rest);
    let what = "KB a connection beyond the first";
    let verdict = targets.judge(what, each, Some(Bound::AtMost(CONNECTION_KB)));
    println!("       {each:.2} {what}{verdict}");

    let few = peak_mb(server, &["-c", "64", "-n", &REQUESTS.to_string()]);
    let many = peak_mb(server, &["-c", "64", "-n", &(10 * REQUESTS).to_string()]);
    println!(
        "peak memory of {REQUESTS} requests on 64 connections {few:.1} MB, of {} {many:.1} MB",
        10 * REQUESTS
    );
    let what = "MB more for ten times the requests";
    let verdict = targets.judge(what, many - few, Some(Bound::AtMost(GROWTH_MB)));
    println!("       {:.1} {what}{verdict}", many - few);
}

fn at_rest_mb() -> f64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut service, _) = jobs::serve(folder.path());
    let peak_kb = peak_kb(service.id());
    service.kill().expect("the service can be killed");
    service.wait().expect("it ends");
    peak_kb as f64 / 1024.0
}

fn peak_mb(server: &Server, load: &[&str]) -> f64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = benchd_run("0", folder.path());
    command.args(load).args(["--stub-status", &server.stub_status_url()]);
    command.arg(server.url(Exchange::KeepAlive));
    run(command).expect("benchd ends").peak_mb()
}
