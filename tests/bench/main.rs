//! `make bench`: client CPU per request against the peers, in one alternating
//! session against one pinned nginx. The divisor is nginx's own counter, the
//! same for every tool, so that no tool's idea of a request flatters it.

mod service;
mod tools;

use benchd_tuning::{ManagedNginx, NginxOptions};
use std::collections::BTreeMap;
use tools::{Run, Tool};

const ROUNDS: usize = 5;
const SECONDS: u32 = 3;
/// Connections of each case; the last stays below nginx's descriptor limit.
const CASES: [u32; 3] = [64, 1000, 9000];

fn main() {
    // `cargo test --benches` and friends only ask whether it runs at all.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return;
    }
    let tools = Tool::installed();
    let nginx = ManagedNginx::start(NginxOptions {
        workers: 1,
        cpu_affinity: Some("10".to_owned()),
        worker_connections: 16_384,
        keepalive_requests: 1_000_000_000,
        ..NginxOptions::default()
    })
    .expect("nginx starts");
    println!("{}", machine());
    println!("{}, 1 worker on processor 1; client on processor 0", nginx.version());
    println!(
        "keep-alive, {} B body, {ROUNDS} rounds of {SECONDS} s, tools in turn\n",
        NginxOptions::default().body_bytes
    );
    println!(
        "{:>6} {:8} {:>10} {:>9} {:>16} {:>16} {:>9} {:>9}",
        "conns",
        "tool",
        "requests/s",
        "CPU µs/rq",
        "min to max",
        "ratio to wrk",
        "peak MB",
        "own count"
    );
    for connections in CASES {
        let rounds: Vec<BTreeMap<Tool, Run>> =
            (0..ROUNDS).map(|round| run_round(&tools, round, connections, &nginx)).collect();
        for tool in &tools {
            println!("{:>6} {}", connections, line(*tool, &rounds));
        }
    }
    println!();
    service::overhead(&nginx);
    service::memory(&nginx);
}

/// Each tool once; the order turns with the round.
fn run_round(
    tools: &[Tool],
    round: usize,
    connections: u32,
    nginx: &ManagedNginx,
) -> BTreeMap<Tool, Run> {
    let mut order = tools.to_vec();
    order.rotate_left(round % tools.len());
    order.into_iter().map(|tool| (tool, tool.run(nginx, connections, SECONDS))).collect()
}

fn line(tool: Tool, rounds: &[BTreeMap<Tool, Run>]) -> String {
    let runs: Vec<&Run> = rounds.iter().map(|round| &round[&tool]).collect();
    let cpu = sorted(runs.iter().map(|run| run.cpu_us_per_request()));
    let ratios =
        sorted(rounds.iter().map(|round| {
            round[&tool].cpu_us_per_request() / round[&Tool::Wrk].cpu_us_per_request()
        }));
    let rate = sorted(runs.iter().map(|run| run.requests as f64 / run.wall_s));
    let memory = runs.iter().map(|run| run.peak_kb).max().unwrap_or(0) as f64 / 1024.0;
    let off =
        runs.iter().map(|run| run.requests as i64 - run.own_count as i64).max_by_key(|d| d.abs());
    format!(
        "{:8} {:>10.0} {:>9.2} {:>7.2} to {:>5.2} {:>5.2} ({:.2} to {:.2}) {:>6.1} {:>9}",
        tool.name(),
        median(&rate),
        median(&cpu),
        cpu[0],
        cpu[cpu.len() - 1],
        median(&ratios),
        ratios[0],
        ratios[ratios.len() - 1],
        memory,
        match off.unwrap_or(0) {
            0 => "exact".to_owned(),
            difference => format!("{:+}", -difference),
        }
    )
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": "))
        .map_or("", |m| m.1);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("Linux {}, {model}, {cores} processors", read("/proc/sys/kernel/osrelease").trim())
}
