//! What `cargo bench -p benchd --bench engine -- …` takes.

use clap::{Parser, ValueEnum};

/// Measures benchd against its peers and its own targets.
#[derive(Debug, Parser)]
#[command(name = "make bench")]
pub(crate) struct Args {
    /// What to measure [default: everything]
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Rounds; each tool runs once in each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Seconds of one run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: u32,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(long, hide = true)]
    list: bool,
    #[arg(long, hide = true)]
    test: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Keep-alive, plain, 612 B
    Plain,
    /// A connection for each request, plain, 612 B
    Close,
    /// Keep-alive, plain, 53,339 B
    Body,
    /// Keep-alive, TLS 1.3, 612 B
    Tls,
    /// HTTP/2, plain, 612 B
    H2,
    /// Peak memory of many connections and of many requests
    Memory,
    /// Two threads against one
    Scaling,
    /// Opening 10,000 connections at nginx's default backlog
    Opening,
    /// What a job of the service costs beyond its window
    Jobs,
}

impl Args {
    /// Whether this is a test run, which measures nothing.
    pub(crate) const fn is_a_test(&self) -> bool {
        self.list || self.test || !self.bench
    }

    pub(crate) fn parts(&self) -> Vec<Part> {
        match self.parts.as_slice() {
            [] => Part::value_variants().to_vec(),
            some => some.to_vec(),
        }
    }
}
