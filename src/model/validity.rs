//! Whether the figures mean what they seem to, and what held them back.

use crate::assemble::{Evidence, Trials};
use crate::limits::{Limits, Signs, THROTTLED, signs};
use crate::rate::RateKept;
use crate::reconcile;
use crate::recording::EndReason;
use crate::result::{RunResult, TrialResult};
use crate::seconds::{merged, threads};
use crate::verdict::{LimitedBy, Validity};
use crate::{KernelCounts, Tally, TrialRecording};

/// Below this, in seconds, a trial is too short to tell who was the limit.
pub(crate) const SHORTEST_JUDGED_S: f64 = 1.0;
/// Foreign requests up to this share of the load are a remark, above it a reason.
const FOREIGN_TOLERATED: f64 = 0.01;
/// A hypervisor that withheld this share of the processors is named.
const STOLEN_REMARKED: f64 = 0.05;

pub(crate) fn validity(
    evidence: &Evidence<'_>,
    trials: &Trials<'_>,
    result: &RunResult,
    tally: &Tally,
) -> Validity {
    let mut reasons = Vec::new();
    match result.ended {
        EndReason::Completed | EndReason::Aborted => {}
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
    let limits: Vec<Limits> = trials.iter().map(|trial| limits(trial, evidence)).collect();
    let judged = || result.trials.iter().zip(&limits).filter(|(trial, _)| is_judged(trial));
    let spoiled = judged()
        .map(|(_, limits)| limits)
        .filter(|limits| limits.limited_by() == LimitedBy::Generator)
        .max_by(|a, b| generator_share(a).total_cmp(&generator_share(b)));
    reasons.extend(spoiled.map(|limits| reason(limits, evidence, result)));
    let rate = RateKept::of(tally);
    // What still waited when a criterion ended the run was not missed.
    let waited = tally.due.saturating_sub(tally.begun);
    let cut_short = result.ended == EndReason::Aborted
        && tally.counts.dropped == 0
        && waited <= tally.counts.aborted;
    let missed = rate.filter(|_| !cut_short);
    reasons.extend(missed.and_then(|rate| rate.reason(result, spoiled.is_some())));
    let reconciled = reconcile::check(result, trials);
    reasons.extend(reconciled.reasons(FOREIGN_TOLERATED));
    let limited_by = if spoiled.is_some() || tally.counts.local > 0 {
        LimitedBy::Generator
    } else if let Some(rate) = rate {
        rate.limited_by()
    } else {
        Limits::all(judged().map(|(_, limits)| limits)).limited_by()
    };
    let most = |ratio: fn(&Limits) -> Option<f64>| limits.iter().filter_map(ratio).reduce(f64::max);
    let highest = |ratio: fn(&TrialResult) -> Option<f64>| {
        result.trials.iter().filter_map(ratio).reduce(f64::max)
    };
    Validity {
        valid: reasons.is_empty(),
        reasons,
        limited_by,
        generator_cpu_ratio: highest(|trial| trial.generator_cpu_ratio),
        generator_wait_ratio: highest(|trial| trial.generator_wait_ratio),
        generator_busy_ratio: most(|limits| limits.average(|signs| signs.busy)),
        connections_idle_ratio: most(Limits::idle),
        reconciled: reconciled.reconciled,
    }
}

pub(crate) fn is_judged(trial: &TrialResult) -> bool {
    trial.duration_s >= SHORTEST_JUDGED_S
}

/// What the seconds of a trial show.
fn limits(generators: &[&TrialRecording], evidence: &Evidence<'_>) -> Limits {
    let load = &evidence.spec.load;
    Limits::of(signs(&merged(generators), load, threads(generators, load)))
}

fn generator_share(limits: &Limits) -> f64 {
    limits.share_of(LimitedBy::Generator)
}

/// That the generator was the limit, how that shows, and what to do.
fn reason(limits: &Limits, evidence: &Evidence<'_>, result: &RunResult) -> String {
    let percent = |sign: fn(&Signs) -> Option<f64>| {
        limits.average_of(LimitedBy::Generator, sign).unwrap_or(0.0) * 100.0
    };
    let (worked, waited) = (percent(|s| s.worked), percent(|s| s.waited));
    let throttled = percent(|s| s.throttled);
    let stolen = stolen_ratio(evidence, result).unwrap_or(0.0);
    let lead = format!(
        "the generator was the limit for {:.0} % of the requests",
        generator_share(limits) * 100.0
    );
    if throttled / 100.0 >= THROTTLED {
        return format!(
            "{lead}: the CPU quota of its control group stopped it {throttled:.0} % of the time; raise the \
             quota (cpu.max, or --cpus of the container), or ask for less load"
        );
    }
    let advice = if stolen > STOLEN_REMARKED {
        "the hypervisor withheld processors, so run it on a machine that has its own"
    } else if waited > worked {
        "keep other programs off its processors, or give it another machine than theirs"
    } else if evidence.host.has_processors_for(result.load.threads + 1) {
        "give it more threads (load.threads), or fewer connections"
    } else {
        "give it a machine with more processors, or fewer connections"
    };
    format!(
        "{lead}: it was busy {:.0} % of the time (its threads worked {worked:.0} % and waited for a \
         processor {waited:.0} %); {advice}",
        percent(|s| s.busy)
    )
}

/// What the reader should know of the generator and its kernel, though it
/// spoils no figure.
pub(crate) fn remarks(
    evidence: &Evidence<'_>,
    trials: &Trials<'_>,
    result: &RunResult,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let all: Vec<Limits> = trials.iter().map(|trial| limits(trial, evidence)).collect();
    let (ours, of) = Limits::all(all.iter()).seconds_of(LimitedBy::Generator);
    if ours > 0 && result.validity.limited_by != LimitedBy::Generator {
        remarks.push(format!(
            "in {ours} of {of} seconds the generator was the limit: see the timeline"
        ));
    }
    if let Some(stolen) = stolen_ratio(evidence, result).filter(|stolen| *stolen > STOLEN_REMARKED)
    {
        remarks.push(format!(
            "a hypervisor withheld {:.0} % of the generator's processors: its latencies include that",
            stolen * 100.0
        ));
    }
    if let Some(kernel) = &result.kernel {
        remarks.extend(kernel_remarks(kernel, result.validity.limited_by));
    }
    remarks
}

/// Which queue of the kernel overflowed, and what makes it larger.
fn kernel_remarks(kernel: &KernelCounts, limited_by: LimitedBy) -> Vec<String> {
    let some = |count: Option<u64>| count.filter(|count| *count > 0);
    let mut remarks = Vec::new();
    if let Some(count) = some(kernel.listen_overflows) {
        remarks.push(format!(
            "{count} connections on this host found a server's accept queue full and waited for their SYN to be sent \
             again, a second or more: raise its backlog (nginx: listen … backlog=) and net.core.somaxconn"
        ));
    } else if let Some(count) = some(kernel.tcp_syn_retransmits) {
        remarks.push(format!(
            "{count} SYNs of this host were sent again after a second or more: the server's accept queue was full \
             (listen … backlog=, net.core.somaxconn) or they were lost on the way"
        ));
    }
    if let Some(count) = some(kernel.softnet_drops) {
        remarks.push(format!(
            "{count} packets of this host were dropped because a processor's input queue was full: raise \
             net.core.netdev_max_backlog"
        ));
    }
    if let Some(count) = some(kernel.socket_drops) {
        remarks.push(format!(
            "{count} segments were dropped because a socket's receive queue was full: raise net.ipv4.tcp_rmem"
        ));
    }
    if limited_by == LimitedBy::Network {
        remarks.push(format!(
            "the network was the limit: {} of {} TCP segments had to be sent again",
            kernel.tcp_retransmits.unwrap_or(0),
            kernel.tcp_segments.unwrap_or(0)
        ));
    }
    remarks
}

/// The share of the processors' time that a hypervisor withheld.
fn stolen_ratio(evidence: &Evidence<'_>, result: &RunResult) -> Option<f64> {
    let stolen_us = result.kernel.as_ref()?.stolen_us? as f64;
    let had_us = result.duration_s * 1e6 * f64::from(evidence.host.cores);
    (had_us > 0.0).then(|| stolen_us / had_us)
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
