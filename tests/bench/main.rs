//! `make bench`: client CPU per request against the peers, in one alternating
//! session against one pinned nginx. The divisor is nginx's own counter, the
//! same for every tool, so that no tool's idea of a request flatters it.

mod args;
mod jobs;
mod memory;
mod opening;
mod process;
mod scaling;
mod server;
mod table;
mod targets;
mod tools;
mod works;

use args::{Args, Part};
use clap::Parser as _;
use server::Server;
use targets::Targets;

fn main() {
    let args = Args::parse();
    // `cargo test --benches` and friends only ask whether it runs at all.
    if args.is_a_test() {
        return;
    }
    let parts = args.parts();
    let tools = works::tools_of(&parts);
    for tool in &tools {
        tool.require();
    }
    let server = Server::start();
    println!("{}", machine());
    println!("{}, 1 worker on processor 1; clients on processor 0", server.version());
    if !tools.is_empty() {
        println!("{}", tools.iter().map(|tool| tool.version()).collect::<Vec<_>>().join("; "));
    }
    println!("{} rounds of {} s, tools in turn", args.rounds, args.seconds);

    let mut targets = Targets::default();
    for part in parts {
        println!();
        match part {
            Part::Memory => memory::measure(&server, args.seconds, &mut targets),
            Part::Scaling => scaling::measure(&server, &args, &mut targets),
            Part::Opening => opening::measure(&mut targets),
            Part::Jobs => jobs::measure(&server),
            work => works::work(work).measure(&server, &args, &mut targets),
        }
    }
    println!("\n{targets}");
}

/// What the figures were measured on; a load average tells of company.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, name)| name);
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let memory_kb: u64 = read("/proc/meminfo")
        .split_whitespace()
        .nth(1)
        .and_then(|kb| kb.parse().ok())
        .unwrap_or_default();
    let average = read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
    format!(
        "Linux {}, {model}, {processors} processors, {} GB; load average before {average}",
        read("/proc/sys/kernel/osrelease").trim(),
        memory_kb >> 20,
    )
}
