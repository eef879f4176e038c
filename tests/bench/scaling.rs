//! Two generator threads against one.
//!
//! Client and nginx share both processors in every run, so that only the number
//! of threads differs. wrk tells what the machine itself takes for a second
//! thread: its threads share nothing.

use crate::args::Args;
use crate::server::Server;
use crate::table::{Spread, ratio};
use crate::targets::{Bound, Targets};
use crate::tools::{Load, Tool};
use crate::works::{Exchange, in_turn};

const CONNECTIONS: u32 = 1_000;
/// Requests per CPU-second of two threads to those of one.
const TARGET: f64 = 0.9;

pub(crate) fn measure(server: &Server, args: &Args, targets: &mut Targets) {
    let contestants = [(Tool::Benchd, 1), (Tool::Benchd, 2), (Tool::Wrk, 1), (Tool::Wrk, 2)];
    let rounds = in_turn(&contestants, args.rounds, |(tool, threads)| {
        let load = Load {
            exchange: Exchange::KeepAlive,
            connections: CONNECTIONS,
            seconds: args.seconds,
            threads,
            processors: "0,1",
        };
        tool.run(server, &load)
    });
    println!("{CONNECTIONS} keep-alive connections, client and nginx on both processors");
    for contestant in contestants {
        let runs = || rounds.iter().filter_map(|round| round.get(&contestant));
        println!(
            "       {:6} {} threads {:>8.0} requests/s {:>6.2} CPU µs/rq",
            contestant.0.name(),
            contestant.1,
            Spread::of(runs().map(|run| run.rate())).median,
            Spread::of(runs().map(|run| run.cpu_us_per_request())).median,
        );
    }
    for (tool, bound) in [(Tool::Benchd, Some(Bound::AtLeast(TARGET))), (Tool::Wrk, None)] {
        let what = format!("{}, requests per CPU-second of 2 threads to 1", tool.name());
        let scaling = ratio(&rounds, (tool, 1), (tool, 2));
        println!("       {what} {scaling}{}", targets.judge(&what, scaling.median, bound));
    }
}
