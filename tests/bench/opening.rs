//! Opening 10,000 connections to an nginx whose queue is as long as nginx makes
//! it by default: what the kernel's counters say went wrong.

use crate::process::{benchd_run, measure as run};
use crate::server::Server;
use crate::targets::{Bound, Targets};
use crate::works::Exchange;

const CONNECTIONS: u32 = 10_000;
/// nginx's default on Linux.
const BACKLOG: u32 = 511;
const COUNTERS: [&str; 4] = ["TCPSynRetrans", "ListenOverflows", "ListenDrops", "TCPReqQFullDrop"];

pub(crate) fn measure(targets: &mut Targets) {
    let server = Server::start_with(BACKLOG);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let connections = CONNECTIONS.to_string();
    let mut command = benchd_run("0", folder.path());
    command.args(["-c", &connections, "-n", &connections]).arg(server.url(Exchange::KeepAlive));
    let before = COUNTERS.map(kernel_counter);
    let usage = run(command).expect("benchd ends");
    let after = COUNTERS.map(kernel_counter);
    let result: serde_json::Value =
        serde_json::from_str(&usage.stdout).expect("benchd prints a result");
    println!(
        "opening {CONNECTIONS} connections at a backlog of {BACKLOG}: {} opened, {:.2} s in all",
        result["load"]["connections_achieved"], usage.wall_s
    );
    for ((name, before), after) in COUNTERS.into_iter().zip(before).zip(after) {
        let bound = (name == COUNTERS[0]).then_some(Bound::AtMost(0.0));
        let grown = after - before;
        println!("       {name} {grown}{}", targets.judge(name, grown as f64, bound));
    }
}

/// A counter of the whole machine since it started, from the pairs of lines in
/// /proc/net/netstat: names above, values below.
fn kernel_counter(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/net/netstat").expect("Linux has /proc/net/netstat");
    let lines: Vec<&str> = text.lines().collect();
    let mut pairs = lines
        .chunks_exact(2)
        .flat_map(|pair| pair[0].split_whitespace().zip(pair[1].split_whitespace()));
    let value = pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok());
    value.unwrap_or_else(|| panic!("the kernel counts no {name}"))
}
