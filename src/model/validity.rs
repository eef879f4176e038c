//! Whether the figures mean what they seem to, and what held them back.

use crate::assemble::{Evidence, Trials, threads};
use crate::environment::HostSnapshot;
use crate::reconcile;
use crate::recording::EndReason;
use crate::result::{RunResult, TrialResult};
use crate::timeline::share;
use crate::verdict::{LimitedBy, Validity};
use crate::{JobSpec, SecondRecord, Tally, TrialRecording};

/// Above this share of the processors it can have, the generator has nothing
/// left to give.
const GENERATOR_SATURATED: f64 = 0.9;
/// Below this, in seconds, a trial is too short to tell who was the limit.
pub(crate) const SHORTEST_JUDGED_S: f64 = 1.0;
/// Foreign requests up to this share of the load are a remark, above it a reason.
const FOREIGN_TOLERATED: f64 = 0.01;

pub(crate) fn validity(
    evidence: &Evidence<'_>,
    trials: &Trials<'_>,
    result: &RunResult,
    tally: &Tally,
) -> Validity {
    let mut reasons = Vec::new();
    match result.ended {
        EndReason::Completed => {}
        EndReason::Cancelled => reasons.push(format!(
            "the run was cancelled after {:.1} s of measuring: the figures cover only that part",
            result.duration_s
        )),
        EndReason::Interrupted => reasons.push(format!(
            "the run was interrupted after {:.1} s of measuring: the figures cover only that part",
            result.duration_s
        )),
    }
    if !tally.counts.balanced() {
        reasons
            .push("the attempts do not add up: issued is not ok + failures + aborted".to_owned());
    }
    if tally.counts.local > 0 {
        reasons.push(format!(
            "{} attempts failed on the generator itself: raise the limit that the notes name, or ask for less",
            tally.counts.local
        ));
    }
    let per_thread = processors_per_thread(&evidence.host, result.load.threads);
    let judged_trials = result.trials.iter().zip(trials).filter(|(trial, _)| is_judged(trial));
    let used = judged_trials
        .flat_map(|(_, generators)| generators)
        .filter_map(|generator| cpu_under_load(generator, evidence.spec))
        .reduce(f64::max);
    let saturated = used.filter(|used| *used > GENERATOR_SATURATED * per_thread);
    if let Some(used) = saturated {
        reasons.push(format!(
            "the generator was the limit: its threads used {:.0} % of their processors; {}",
            used / per_thread * 100.0,
            relief(&evidence.host, result.load.threads)
        ));
    }
    let reconciled = reconcile::check(result, trials);
    reasons.extend(reconciled.reasons(FOREIGN_TOLERATED));
    let limited_by = if saturated.is_some() || tally.counts.local > 0 {
        LimitedBy::Generator
    } else if judged(result).any(|trial| !never_idle(trial))
        && connections_busy(evidence.spec, tally)
    {
        LimitedBy::Server
    } else {
        LimitedBy::Unknown
    };
    let highest = |ratio: fn(&TrialResult) -> Option<f64>| {
        result.trials.iter().filter_map(ratio).reduce(f64::max)
    };
    Validity {
        valid: reasons.is_empty(),
        reasons,
        limited_by,
        generator_cpu_ratio: highest(|trial| trial.generator_cpu_ratio),
        generator_wait_ratio: highest(|trial| trial.generator_wait_ratio),
        reconciled: reconciled.reconciled,
    }
}

/// Trials long enough to tell who was the limit.
fn judged(result: &RunResult) -> impl Iterator<Item = &TrialResult> {
    result.trials.iter().filter(|trial| is_judged(trial))
}

pub(crate) fn is_judged(trial: &TrialResult) -> bool {
    trial.duration_s >= SHORTEST_JUDGED_S
}

/// A generator's CPU time per thread and second, each second weighted by its
/// attempts: a long tail with few of them does not water the others down.
fn cpu_under_load(generator: &TrialRecording, spec: &JobSpec) -> Option<f64> {
    let threads = threads(&[generator], spec);
    let (mut weighted, mut attempts) = (0.0, 0.0);
    for SecondRecord { tally, .. } in &generator.seconds {
        if let Some(used) = share(tally.generator_cpu_us, tally, threads) {
            let issued = tally.counts.issued as f64;
            (weighted, attempts) = (weighted + used * issued, attempts + issued);
        }
    }
    (attempts > 0.0).then(|| weighted / attempts)
}

/// How much of a processor each of `threads` threads can have, at most 1: more
/// threads than processors share them.
fn processors_per_thread(host: &HostSnapshot, threads: u32) -> f64 {
    let cores = if host.cores == 0 { f64::INFINITY } else { f64::from(host.cores) };
    let processors = host.cpu_quota_cores.unwrap_or(f64::INFINITY).min(cores);
    (processors / f64::from(threads.max(1))).min(1.0)
}

fn relief(host: &HostSnapshot, threads: u32) -> &'static str {
    if processors_per_thread(host, threads.saturating_add(1)) < 1.0 {
        "give it a machine with more processors, or fewer connections"
    } else {
        "give it more threads (load.threads), or fewer connections"
    }
}

/// True when the generator was working or waiting for a processor nearly all
/// the time: then it set the pace as much as the server did.
fn never_idle(trial: &TrialResult) -> bool {
    let busy = trial.generator_cpu_ratio.unwrap_or(0.0) + trial.generator_wait_ratio.unwrap_or(0.0);
    busy > GENERATOR_SATURATED
}

/// True when the connections spent nearly all their time waiting for answers,
/// as they do when the server sets the pace of a closed loop.
fn connections_busy(spec: &JobSpec, tally: &Tally) -> bool {
    let offered = u128::from(spec.load.connections) * u128::from(tally.span_us);
    let waited = u128::from(tally.latency.sum_us()) + u128::from(tally.failed.sum_us());
    offered > 0 && waited * 10 >= offered * 9
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
