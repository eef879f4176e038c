//! The works that every tool does, and what benchd is to reach in each.

use crate::args::{Args, Part};
use crate::server::Server;
use crate::table;
use crate::targets::Targets;
use crate::tools::{Load, Run, Tool};
use std::collections::BTreeMap;

/// Requests in flight on one HTTP/2 connection.
pub(crate) const STREAMS: &str = "10";

/// How client and server talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    KeepAlive,
    Close,
    Large,
    Tls,
    Http2,
}

pub(crate) struct Work {
    part: Part,
    pub(crate) title: &'static str,
    exchange: Exchange,
    pub(crate) tools: &'static [Tool],
    /// Whom benchd is held against; the best peer where nobody is named.
    pub(crate) rival: Option<Tool>,
    /// Connections, and the CPU ratio to the rival that is to be reached.
    cases: &'static [(u32, f64)],
}

const WORKS: [Work; 5] = [
    Work {
        part: Part::Plain,
        title: "keep-alive, plain, 612 B",
        exchange: Exchange::KeepAlive,
        tools: &[Tool::Benchd, Tool::Wrk, Tool::Ab, Tool::H2load, Tool::Oha],
        rival: None,
        cases: &[(64, 0.85), (1_000, 0.85), (9_000, 0.75)],
    },
    Work {
        part: Part::Close,
        title: "no keep-alive, plain, 612 B",
        exchange: Exchange::Close,
        tools: &[Tool::Benchd, Tool::Wrk, Tool::Ab, Tool::Oha],
        rival: Some(Tool::Ab),
        cases: &[(64, 0.85), (1_000, 0.85), (9_000, 0.85)],
    },
    Work {
        part: Part::Body,
        title: "keep-alive, plain, 53,339 B",
        exchange: Exchange::Large,
        tools: &[Tool::Benchd, Tool::Wrk, Tool::Ab, Tool::H2load, Tool::Oha],
        rival: None,
        cases: &[(64, 0.95), (1_000, 0.95)],
    },
    Work {
        part: Part::Tls,
        title: "keep-alive, TLS 1.3, 612 B",
        exchange: Exchange::Tls,
        tools: &[Tool::Benchd, Tool::Wrk, Tool::Ab, Tool::H2load, Tool::Oha],
        rival: Some(Tool::Wrk),
        cases: &[(64, 0.95), (1_000, 0.95)],
    },
    Work {
        part: Part::H2,
        title: "HTTP/2, plain, 612 B, 10 streams a connection",
        exchange: Exchange::Http2,
        tools: &[Tool::Benchd, Tool::H2load, Tool::Oha],
        rival: Some(Tool::H2load),
        cases: &[(10, 0.9)],
    },
];

/// The work of a part that is one.
pub(crate) fn work(part: Part) -> &'static Work {
    WORKS.iter().find(|work| work.part == part).expect("every other part has a module of its own")
}

/// Every tool that these parts need.
pub(crate) fn tools_of(parts: &[Part]) -> Vec<Tool> {
    let works = WORKS.iter().filter(|work| parts.contains(&work.part));
    let mut tools: Vec<Tool> = works.flat_map(|work| work.tools).copied().collect();
    if parts.contains(&Part::Scaling) {
        tools.push(Tool::Wrk);
    }
    tools.sort_unstable();
    tools.dedup();
    tools
}

impl Work {
    pub(crate) fn measure(&self, server: &Server, args: &Args, targets: &mut Targets) {
        println!("{}\n{}", self.title, table::HEADER);
        for (connections, target) in self.cases {
            let load = Load {
                exchange: self.exchange,
                connections: *connections,
                seconds: args.seconds,
                threads: 1,
                processors: "0",
            };
            let rounds = in_turn(self.tools, args.rounds, |tool| tool.run(server, &load));
            table::print(self, *connections, &rounds, *target, targets);
        }
    }
}

/// What each contestant did in one round; whose run gave nothing is
/// not in it.
pub(crate) type Round<K> = BTreeMap<K, Run>;

/// Each contestant once in each round. The order turns with the round and is
/// reversed in every other one: what a run leaves behind in the kernel's memory
/// must not always meet the same one next.
pub(crate) fn in_turn<K: Copy + Ord>(
    contestants: &[K],
    rounds: u32,
    run: impl Fn(K) -> Option<Run>,
) -> Vec<Round<K>> {
    let round = |round: u32| {
        let mut order = contestants.to_vec();
        order.rotate_left(round as usize % contestants.len());
        if round % 2 == 1 {
            order.reverse();
        }
        order.into_iter().filter_map(|contestant| Some((contestant, run(contestant)?))).collect()
    };
    (0..rounds).map(round).collect()
}
