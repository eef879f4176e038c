//! An open loop against a server that can follow: how near it keeps to its
//! schedule. The gap between two requests is off by at most the larger of their
//! latenesses.

use crate::process::{benchd_run, measure as run};
use crate::server::Server;
use crate::targets::{Bound, Targets};
use crate::works::Exchange;
use serde_json::Value;

const CONNECTIONS: u32 = 64;
const RATES: [u32; 2] = [1_000, 10_000];
/// How far the rate may be off, in percent.
const OFF: f64 = 0.1;
/// 99 of 100 requests shall be no later, in milliseconds.
const LATENESS_MS: f64 = 0.1;

pub(crate) fn measure(server: &Server, seconds: u32, targets: &mut Targets) {
    println!("open loop, {CONNECTIONS} connections");
    let exchanges = [(Exchange::KeepAlive, "http1"), (Exchange::Http2, "h2")];
    for ((exchange, protocol), rate) in
        exchanges.into_iter().flat_map(|spoken| RATES.map(|rate| (spoken, rate)))
    {
        let result = result_of(server, exchange, protocol, rate, seconds);
        let figure = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let sent = figure(&result["counts"]["issued"]) / figure(&result["duration_s"]);
        let off = (sent / f64::from(rate) - 1.0).abs() * 100.0;
        let what = format!("% off {rate} requests/s, {protocol}");
        let verdict = targets.judge(&what, off, Some(Bound::AtMost(OFF)));
        println!("       {off:.3} {what}{verdict}");
        let late = |percentile: &str| figure(&result["lateness_ms"][percentile]);
        let what = format!("ms lateness, 99th percentile, at {rate} requests/s, {protocol}");
        let verdict = targets.judge(&what, late("p99"), Some(Bound::AtMost(LATENESS_MS)));
        println!("       {:.3} {what}{verdict}", late("p99"));
        println!("       {:.3} ms at the median, {:.3} ms at most", late("p50"), late("max"));
    }
}

fn result_of(
    server: &Server,
    exchange: Exchange,
    protocol: &str,
    rate: u32,
    seconds: u32,
) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = benchd_run("0", folder.path());
    command.args(["-c", &CONNECTIONS.to_string(), "-d", &format!("{seconds}s")]);
    command.args(["--rate", &rate.to_string(), "--stub-status", &server.stub_status_url()]);
    command.args(["--protocol", protocol]);
    command.arg(server.url(exchange));
    let stdout = run(command).expect("benchd ends").stdout;
    serde_json::from_str(&stdout).expect("benchd prints a result")
}
