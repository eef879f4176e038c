//! From recordings to a result with its verdict. Pure: the same recordings
//! always give the same result, whoever asks and whenever.

mod notes;

use crate::arms::{self, Ask};
use crate::baseline::{BaselineLookup, BaselineUsed};
use crate::conclusion;
use crate::criteria::{Grounds, TrialSeconds};
use crate::environment::{Environment, HostSnapshot};
use crate::metrics::Figures;
use crate::rate::RateKept;
use crate::reconcile;
use crate::recording::{AddressCounts, EndReason};
use crate::result::{AddressResult, LoadResult, RunResult, ServerResult, TrialResult};
use crate::seconds::{merged, share, threads, threads_at_most};
use crate::spec::Protocol;
use crate::spread;
use crate::statistics::Arm;
use crate::validity::validity;
use crate::verdict::Validity;
use crate::{
    Counts, JobId, JobSpec, JobState, KernelCounts, Tally, TrialEnd, TrialRecording, Verdict,
};
use notes::notes;
use std::collections::{BTreeMap, BTreeSet};

/// What a result is made of.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// The job.
    pub job_id: JobId,
    /// What was asked for.
    pub spec: &'a JobSpec,
    /// How the job ended.
    pub state: JobState,
    /// Everything recorded, per trial and generator.
    pub recordings: &'a [TrialRecording],
    /// The generator host.
    pub host: HostSnapshot,
    /// True when generator and target share one machine.
    pub same_host: bool,
    /// What A against A showed for the compared metric, this target and
    /// [`environment`], in percent.
    pub noise_floor_pct: Option<f64>,
    /// The baseline that the criteria name, when the project and scenario have one:
    /// that of this [`environment`], else that of another one.
    pub baseline: Option<&'a BaselineLookup>,
}

/// Makes the result. That of a job that compares is its candidate's, with the
/// comparison.
#[must_use]
pub fn assemble(evidence: &Evidence<'_>) -> RunResult {
    let Some(ask) = Ask::of(evidence) else { return alone(evidence) };
    let (spec, recordings) = (evidence.spec.arm(Arm::B), arms::of_arm(evidence, Arm::B));
    let mut result = alone(&Evidence { spec: &spec, recordings: &recordings, ..evidence.clone() });
    result.comparison = arms::paired(evidence, &ask);
    result.verdict = conclusion::verdict(&result);
    result.summary = conclusion::summary(&result, &total(&recordings));
    result
}

/// Where the job was measured, as its result will say.
#[must_use]
pub fn environment(evidence: &Evidence<'_>) -> Environment {
    let software = software(&arms::of_arm(evidence, Arm::B));
    Environment::new(evidence.host.clone(), software, evidence.same_host)
}

fn alone(evidence: &Evidence<'_>) -> RunResult {
    let spec = evidence.spec;
    let trials = by_trial(evidence.recordings);
    let tally = total(evidence.recordings);
    let mut result = figures(evidence, &trials, &tally);
    result.validity = validity(evidence, &trials, &result, &tally);
    result.notes = notes(evidence, &trials, &result);
    result.baseline = baseline_used(evidence, &result);
    let grounds = Grounds {
        figures: Figures { result: &result, tally: &tally },
        trials: trials.iter().map(|trial| TrialSeconds::of(trial, &spec.load)).collect(),
        baseline: evidence.baseline,
    };
    result.criteria = conclusion::criteria(&spec.criteria, &grounds);
    result.verdict = conclusion::verdict(&result);
    result.summary = conclusion::summary(&result, &tally);
    result
}

/// The baseline, if it is one of this environment.
fn baseline_used(evidence: &Evidence<'_>, result: &RunResult) -> Option<BaselineUsed> {
    let baseline = evidence.baseline?.as_ref().ok()?;
    (baseline.environment == result.environment.fingerprint).then(|| BaselineUsed {
        name: baseline.name.clone(),
        job_id: baseline.job_id,
        environment: baseline.environment.clone(),
    })
}

/// All trials in one tally.
#[must_use]
pub fn total(recordings: &[TrialRecording]) -> Tally {
    let mut total = Tally::default();
    by_trial(recordings).iter().for_each(|generators| total.merge(&trial_tally(generators)));
    total
}

pub(crate) type Trials<'a> = Vec<Vec<&'a TrialRecording>>;

fn by_trial(recordings: &[TrialRecording]) -> Trials<'_> {
    let mut trials: BTreeMap<u32, Vec<&TrialRecording>> = BTreeMap::new();
    for recording in recordings {
        trials.entry(recording.trial).or_default().push(recording);
    }
    trials.into_values().collect()
}

fn trial_tally(generators: &[&TrialRecording]) -> Tally {
    let mut tally = Tally::default();
    merged(generators).iter().for_each(|second| tally.merge(&second.tally));
    tally
}

fn figures(evidence: &Evidence<'_>, trials: &Trials<'_>, tally: &Tally) -> RunResult {
    let spec = evidence.spec;
    let ends = || evidence.recordings.iter().filter_map(|r| r.end.as_ref());
    let first = ends().find_map(|end| end.first_response.clone());
    let mut failure_reasons: BTreeMap<String, u64> = BTreeMap::new();
    let mut warmup = Counts::default();
    for end in ends() {
        warmup.merge(&end.warmup);
        for (reason, count) in &end.failure_reasons {
            *failure_reasons.entry(reason.clone()).or_default() += count;
        }
    }
    let mut connections = tally.connections;
    connections.opened += ends().map(|end| end.opened_before).sum::<u64>();
    let trial_results: Vec<TrialResult> =
        trials.iter().map(|generators| trial_result(generators, spec)).collect();
    RunResult {
        job_id: evidence.job_id,
        load: load_result(spec, trials),
        warmup,
        failure_reasons,
        connections,
        ended: ended(trials, spec.trials, evidence.state),
        server: ServerResult {
            software: software(evidence.recordings),
            document_bytes: first.as_ref().map(|response| response.document_bytes),
            tls: first.and_then(|response| response.tls),
            stub_status: reconcile::stub_status(evidence.recordings),
        },
        kernel: kernel(evidence.recordings),
        environment: environment(evidence),
        spread: spread::over(&trial_results),
        trials: trial_results,
        ..of_tally(tally)
    }
}

/// What a tally says by itself, of a whole run as of some seconds of it. All
/// else is empty.
pub(crate) fn of_tally(tally: &Tally) -> RunResult {
    RunResult {
        job_id: JobId::nil(),
        verdict: Verdict::Invalid,
        summary: String::new(),
        validity: Validity::default(),
        criteria: Vec::new(),
        baseline: None,
        comparison: None,
        load: LoadResult::default(),
        counts: tally.counts,
        warmup: Counts::default(),
        status_codes: tally.status_codes.iter().map(|(s, n)| (format!("{s:03}"), *n)).collect(),
        failure_reasons: BTreeMap::new(),
        duration_s: tally.span_s(),
        rps: per_second(tally.counts.ok, tally),
        goodput_rps: per_second(tally.good(), tally),
        rate_achieved_ratio: RateKept::of(tally).map(|kept| kept.achieved_ratio),
        error_ratio: tally.error_ratio(),
        non_2xx_ratio: (tally.counts.ok > 0)
            .then(|| tally.non_2xx() as f64 / tally.counts.ok as f64),
        bytes: tally.bytes,
        connections: tally.connections,
        latency_ms: tally.latency.summary(),
        latency_all_ms: tally.latency_all().summary(),
        connect_ms: tally.connect.summary(),
        tls_ms: tally.tls.summary(),
        ttfb_ms: tally.ttfb.summary(),
        service_ms: tally.service.summary(),
        lateness_ms: tally.lateness.summary(),
        dispatch_ms: tally.dispatch.summary(),
        ended: EndReason::default(),
        server: ServerResult::default(),
        kernel: None,
        environment: Environment::default(),
        notes: Vec::new(),
        trials: Vec::new(),
        spread: BTreeMap::new(),
        links: BTreeMap::new(),
    }
}

/// What the server calls itself, in its first good response or on its status page.
fn software(recordings: &[TrialRecording]) -> Option<String> {
    let mut ends = recordings.iter().filter_map(|r| r.end.as_ref());
    let first = ends.find_map(|end| end.first_response.as_ref());
    first.and_then(|response| response.software.clone()).or_else(|| reconcile::software(recordings))
}

/// What the kernel counted over the trials, their beginnings included.
fn kernel(recordings: &[TrialRecording]) -> Option<KernelCounts> {
    let before = recordings.iter().filter_map(|r| r.end.as_ref()?.kernel_before.as_ref());
    let seconds = recordings.iter().flat_map(|r| &r.seconds).filter_map(|s| s.kernel.as_ref());
    before.chain(seconds).copied().reduce(|mut all, counts| {
        all.merge(&counts);
        all
    })
}

fn load_result(spec: &JobSpec, trials: &Trials<'_>) -> LoadResult {
    let ends = || trials.iter().flatten().filter_map(|r| r.end.as_ref());
    let achieved = |generators: &Vec<&TrialRecording>| -> u32 {
        generators
            .iter()
            .map(|r| match &r.end {
                Some(end) => end.connections_achieved,
                None => r.seconds.iter().map(|s| s.connections_open).max().unwrap_or(0),
            })
            .sum()
    };
    let drivers: BTreeSet<&str> = ends().map(|end| end.driver.as_str()).collect();
    LoadResult {
        model: spec.load.model.name().to_owned(),
        rate: spec.load.rate,
        arrivals: spec.load.arrivals.map(|arrivals| arrivals.name().to_owned()),
        connections: spec.load.connections,
        connections_achieved: trials.iter().map(achieved).max().unwrap_or(0),
        protocol: spec.load.protocol.name().to_owned(),
        streams: spec.load.streams,
        streams_achieved: match spec.load.protocol {
            Protocol::H2 => ends().map(|end| end.streams_achieved).max().unwrap_or(0),
            Protocol::Http1 | Protocol::Http10 => 1,
        },
        keepalive: spec.load.keepalive,
        driver: drivers.into_iter().collect::<Vec<_>>().join("+"),
        threads: ends().map(|end| end.threads).max().unwrap_or(threads_at_most(&spec.load)),
        addresses: addresses(ends()),
    }
}

fn addresses<'a>(ends: impl Iterator<Item = &'a TrialEnd>) -> Vec<AddressResult> {
    let mut addresses: BTreeMap<&String, AddressCounts> = BTreeMap::new();
    for (address, counts) in ends.flat_map(|end| &end.addresses) {
        addresses.entry(address).or_default().merge(counts);
    }
    let result = |(address, counts): (&String, AddressCounts)| {
        let AddressCounts { opened, ok, failures } = counts;
        AddressResult { address: address.clone(), opened, ok, failures }
    };
    addresses.into_iter().map(result).collect()
}

fn trial_result(generators: &[&TrialRecording], spec: &JobSpec) -> TrialResult {
    let tally = trial_tally(generators);
    let threads = threads(generators, &spec.load);
    TrialResult {
        trial: generators.first().map_or(1, |r| r.trial + 1),
        counts: tally.counts,
        duration_s: tally.span_s(),
        rps: per_second(tally.counts.ok, &tally),
        goodput_rps: per_second(tally.good(), &tally),
        error_ratio: tally.error_ratio(),
        latency_ms: tally.latency.summary(),
        generator_cpu_ratio: share(tally.generator_cpu_us, &tally, threads),
        generator_wait_ratio: share(tally.generator_wait_us, &tally, threads),
        ended: generators.iter().map(|r| end_of(r)).max_by_key(|e| *e as u8).unwrap_or_default(),
    }
}

/// A recording without an end belongs to a generator that died.
fn end_of(recording: &TrialRecording) -> EndReason {
    recording.end.as_ref().map_or(EndReason::Interrupted, |end| end.reason)
}

fn ended(trials: &Trials<'_>, asked: u32, state: JobState) -> EndReason {
    match state {
        JobState::Cancelled => EndReason::Cancelled,
        JobState::Interrupted => EndReason::Interrupted,
        _ => {
            let ends = || trials.iter().flatten().map(|recording| end_of(recording));
            let worst = ends().max_by_key(|end| *end as u8).unwrap_or_default();
            let complete = trials.len() as u32 >= asked || worst == EndReason::Aborted;
            if complete { worst } else { EndReason::Interrupted }
        }
    }
}

fn per_second(count: u64, tally: &Tally) -> f64 {
    if tally.span_us == 0 {
        return 0.0;
    }
    (count as f64 / tally.span_s() * 1000.0).round() / 1000.0
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
pub(crate) mod tests;

#[cfg(test)]
mod extremes;
