//! Prints what the rounds of a work gave.
//!
//! The best peer of a case is the one whose median over all rounds is lowest.
//! Ratios are taken within a round, where both had the same machine, and the
//! median of them is given with their spread. (The best peer of each round
//! would be whoever had luck in it.)

use crate::targets::{Bound, Targets};
use crate::tools::{Run, Tool};
use crate::works::{Round, Work};

pub(crate) const HEADER: &str = " conns tool     requests/s  CPU µs/rq       min to max  \
    ratio to best peer   peak MB  own count";

/// Middle and extremes of a figure over the rounds; no numbers where no round
/// counted.
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let [min, max] = [values.first(), values.last()].map(|end| *end.unwrap_or(&f64::NAN));
        let middle = |at: usize| values.get(at).copied().unwrap_or(f64::NAN);
        let (low, high) = (middle(values.len().saturating_sub(1) / 2), middle(values.len() / 2));
        Self { median: f64::midpoint(low, high), min, max }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.median.is_nan() {
            return f.write_str("without a figure");
        }
        write!(f, "{:.2} ({:.2} to {:.2})", self.median, self.min, self.max)
    }
}

/// CPU per request of one contestant to that of another, round by round.
pub(crate) fn ratio<K: Ord>(rounds: &[Round<K>], of: K, to: K) -> Spread {
    let cpu = |round: &Round<K>, who: &K| round.get(who).map(Run::cpu_us_per_request);
    let both = |round| Some(cpu(round, &of)? / cpu(round, &to)?);
    Spread::of(rounds.iter().filter_map(both))
}

pub(crate) fn print(
    work: &Work,
    connections: u32,
    rounds: &[Round<Tool>],
    target: f64,
    targets: &mut Targets,
) {
    let best = best_peer(work, rounds);
    for tool in work.tools {
        println!("{connections:>6} {}", line(*tool, best, rounds));
    }
    if !work.tools.contains(&Tool::Benchd) {
        return;
    }
    let rival = work.rival.unwrap_or(best);
    // The best of a few is not the best of all.
    let compared = if work.rival.is_some() { &[Tool::Benchd, rival] } else { work.tools };
    let decided = compared.iter().all(|tool| counted_mostly(rounds, *tool));
    let mut held = vec![rival, best];
    held.dedup();
    for peer in held {
        let ratio = ratio(rounds, Tool::Benchd, peer);
        let what = format!("{}, {connections} connections: CPU to {}", work.title, peer.name());
        let figure = if decided { ratio.median } else { f64::NAN };
        let bound = (peer == rival).then_some(Bound::AtMost(target));
        println!("       benchd to {} {ratio}{}", peer.name(), targets.judge(&what, figure, bound));
    }
}

fn counted_mostly(rounds: &[Round<Tool>], tool: Tool) -> bool {
    2 * rounds.iter().filter(|round| round.contains_key(&tool)).count() > rounds.len()
}

fn cpu(rounds: &[Round<Tool>], tool: Tool) -> Spread {
    Spread::of(rounds.iter().filter_map(|round| round.get(&tool)).map(Run::cpu_us_per_request))
}

fn best_peer(work: &Work, rounds: &[Round<Tool>]) -> Tool {
    let peers = work.tools.iter().copied().filter(|tool| *tool != Tool::Benchd);
    let median = |tool: &Tool| cpu(rounds, *tool).median;
    peers.min_by(|a, b| median(a).total_cmp(&median(b))).expect("a work has a peer")
}

fn line(tool: Tool, best: Tool, rounds: &[Round<Tool>]) -> String {
    let runs: Vec<&Run> = rounds.iter().filter_map(|round| round.get(&tool)).collect();
    if runs.is_empty() {
        return format!("{:8} gave nothing to compare", tool.name());
    }
    let lost = rounds.len() - runs.len();
    let lost = if lost == 0 { String::new() } else { format!("  {lost} rounds not counted") };
    let rate = Spread::of(runs.iter().map(|run| run.rate()));
    let cpu = cpu(rounds, tool);
    let peak = Spread::of(runs.iter().map(|run| run.usage.peak_mb()));
    let difference = runs.iter().map(|run| run.difference()).max_by_key(|n| n.abs()).unwrap_or(0);
    let own_count = if difference == 0 { "exact".to_owned() } else { format!("{difference:+}") };
    let failed: u64 = runs.iter().map(|run| run.said.failed).sum();
    let failed = if failed == 0 { String::new() } else { format!("  {failed} failed") };
    let driver = runs.iter().find_map(|run| run.said.driver.as_deref());
    let driver = driver.map(|name| format!("  {name}")).unwrap_or_default();
    format!(
        "{:8} {:>10.0} {:>10.2} {:>16} {:>20} {:>9.1} {:>10}{failed}{lost}{driver}",
        tool.name(),
        rate.median,
        cpu.median,
        format!("{:.2} to {:.2}", cpu.min, cpu.max),
        ratio(rounds, tool, best).to_string(),
        peak.max,
        own_count,
    )
}
