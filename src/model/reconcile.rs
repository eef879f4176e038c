//! Our counts against nginx's: foreign traffic, silent drops and restarts show
//! up where the two differ.

use crate::result::{RunResult, StubStatusResult};
use crate::stub_status::{PollMoment, StubStatus, StubStatusPoll, in_order};
use crate::{Counts, TrialRecording};

/// nginx's counters over the job, our polls subtracted; `None` when the job
/// made no poll.
pub(crate) fn stub_status(recordings: &[TrialRecording]) -> Option<StubStatusResult> {
    let polled = || recordings.iter().filter(|recording| !recording.polls.is_empty());
    let polls = || polled().flat_map(|recording| &recording.polls);
    let counted: Option<Vec<Counted>> =
        polled().map(|recording| Counted::between(&recording.polls)).collect();
    let sum = |figure: fn(&Counted) -> u64| {
        counted.as_ref().map(|trials| trials.iter().map(figure).sum::<u64>())
    };
    let polls_failed = polls().filter(|poll| poll.status.is_none()).count() as u64;
    // What a generator that died had sent besides its stored seconds nobody
    // knows: then nothing can be called foreign.
    let all_ended = recordings.iter().all(|recording| recording.end.is_some());
    let ours =
        if all_ended { most_sent(recordings).saturating_add(polls_failed) } else { u64::MAX };
    let requests = sum(|trial| trial.requests);
    let most = |gauge: fn(StubStatus) -> u64| polls().filter_map(|p| p.status).map(gauge).max();
    let total = StubStatusResult {
        accepts: sum(|trial| trial.accepts),
        handled: sum(|trial| trial.handled),
        requests,
        dropped: sum(|trial| trial.accepts.saturating_sub(trial.handled)),
        active_max: most(|status| status.active),
        reading_max: most(|status| status.reading),
        writing_max: most(|status| status.writing.saturating_sub(1)),
        waiting_max: most(|status| status.waiting),
        polls: polls().count() as u64,
        polls_failed,
        foreign_requests: requests.map(|requests| requests.saturating_sub(ours)),
        restarts: counted.iter().flatten().map(|trial| trial.restarts).sum(),
    };
    (total.polls > 0).then_some(total)
}

/// How often nginx closed the connection of our polls while they were made.
pub(crate) fn reconnects<'a>(recordings: impl Iterator<Item = &'a TrialRecording>) -> usize {
    let polls = recordings.flat_map(|recording| &recording.polls);
    polls.filter(|poll| poll.connected && poll.moment != PollMoment::Before).count()
}

/// The `Server` header of the status page.
pub(crate) fn software(recordings: &[TrialRecording]) -> Option<String> {
    recordings.iter().flat_map(|r| &r.polls).find_map(|poll| poll.software.clone())
}

/// What nginx counted between the first and the last good poll of a trial,
/// without our polls.
#[derive(Default)]
struct Counted {
    accepts: u64,
    handled: u64,
    requests: u64,
    restarts: u32,
}

impl Counted {
    /// `None` with fewer than two good polls: then nothing was counted.
    fn between(polls: &[StubStatusPoll]) -> Option<Self> {
        let mut total = Self::default();
        let mut last: Option<StubStatus> = None;
        let mut readings = 0;
        let (mut own_requests, mut own_connections) = (0, 0);
        let (mut since_requests, mut since_connections) = (0, 0);
        for poll in in_order(polls) {
            // The first good poll is the figure everything is counted from, and
            // what came after the last good one no figure holds.
            if last.is_some() {
                since_requests += u64::from(poll.sent);
                since_connections += u64::from(poll.connected);
            }
            let Some(status) = poll.status else { continue };
            readings += 1;
            own_requests += std::mem::take(&mut since_requests);
            own_connections += std::mem::take(&mut since_connections);
            if let Some(before) = last {
                total.add(&before, &status);
            }
            last = Some(status);
        }
        total.accepts = total.accepts.saturating_sub(own_connections);
        total.handled = total.handled.saturating_sub(own_connections);
        total.requests = total.requests.saturating_sub(own_requests);
        (readings >= 2).then_some(total)
    }

    fn add(&mut self, before: &StubStatus, status: &StubStatus) {
        let restarted = status.requests < before.requests || status.accepts < before.accepts;
        self.restarts += u32::from(restarted);
        let from = if restarted { StubStatus::default() } else { *before };
        self.accepts += status.accepts - from.accepts;
        self.handled += status.handled.saturating_sub(from.handled);
        self.requests += status.requests - from.requests;
    }
}

/// The most requests of ours that nginx can have counted: every one that may
/// have reached it, warm-up included.
fn most_sent(recordings: &[TrialRecording]) -> u64 {
    let warmups = recordings.iter().filter_map(|r| r.end.as_ref()).map(|end| end.warmup);
    let seconds = recordings.iter().flat_map(|r| &r.seconds).map(|second| second.tally.counts);
    let sent = |counts: Counts| {
        let unsent = [counts.connect, counts.tls, counts.local, counts.dropped];
        unsent.into_iter().fold(counts.issued, u64::saturating_sub)
    };
    warmups.chain(seconds).map(sent).fold(0, u64::saturating_add)
}

/// True when nginx's counter was read before the first byte of load and after
/// the last one: only then must it hold every request that was answered.
fn spans_the_load(generators: &[&TrialRecording]) -> bool {
    let read = |moment| {
        let mut polls = generators.iter().flat_map(|recording| &recording.polls);
        polls.any(|poll| poll.moment == moment && poll.status.is_some())
    };
    read(PollMoment::Before) && read(PollMoment::After)
}

/// So few foreign requests (a health check or two) are a remark however short
/// the run.
const FOREIGN_ALWAYS_TOLERATED: u64 = 2;

/// What the comparison came to.
#[derive(Default)]
pub(crate) struct Reconciliation {
    /// `None` when there is nothing to compare with.
    pub(crate) reconciled: Option<bool>,
    missing: u64,
    foreign: u64,
    requests: u64,
    restarts: u32,
    reconnected: bool,
}

/// Compares the counts of a result, made from the generators of its `trials`.
pub(crate) fn check(result: &RunResult, trials: &[Vec<&TrialRecording>]) -> Reconciliation {
    let mut found = Reconciliation::default();
    let Some(status) = &result.server.stub_status else {
        return found;
    };
    let Some(requests) = status.requests else { return found };
    (found.foreign, found.requests) = (status.foreign_requests.unwrap_or(0), requests);
    found.restarts = status.restarts;
    found.reconnected = reconnects(trials.iter().flatten().copied()) > 0;
    let ended = trials.iter().flatten().all(|recording| recording.end.is_some());
    let comparable = ended && trials.iter().all(|generators| spans_the_load(generators));
    if comparable {
        let answered = result.counts.ok + result.warmup.ok;
        found.missing = answered.saturating_sub(requests);
    }
    let differs = found.missing > 0 || found.foreign > 0 || found.restarts > 0;
    found.reconciled = (comparable || differs).then_some(!differs);
    found
}

impl Reconciliation {
    /// Why the figures cannot be trusted; foreign requests up to the share
    /// `tolerated` of the load are let pass.
    pub(crate) fn reasons(&self, tolerated: f64) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.restarts > 0 {
            let times = if self.restarts == 1 { "" } else { " more than once" };
            reasons.push(format!("nginx was restarted{times} during the run: its counters fell"));
        } else if self.missing > 0 && self.reconnected {
            reasons.push(format!(
                "nginx was restarted during the run, or something between answers for it: it counted {} \
                 requests fewer than were answered, and closed the connection of the polls",
                self.missing
            ));
        } else if self.missing > 0 {
            reasons.push(format!(
                "nginx counted {} requests fewer than were answered: the status page belongs to another \
                 server, or something between answers for it",
                self.missing
            ));
        }
        if self.foreign > FOREIGN_ALWAYS_TOLERATED
            && self.foreign as f64 > self.requests as f64 * tolerated
        {
            reasons.push(format!(
                "foreign traffic: nginx served {} requests that are not ours",
                self.foreign
            ));
        }
        reasons
    }
}
