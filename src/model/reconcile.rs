//! Our counts against nginx's: foreign traffic, silent drops and restarts show
//! up where the two differ.

use crate::TrialRecording;
use crate::result::{RunResult, StubStatusResult};
use crate::stub_status::{StubStatus, StubStatusPoll};

/// nginx's counters over the job, our polls subtracted; `None` when the job
/// made no poll.
pub(crate) fn stub_status(recordings: &[TrialRecording]) -> Option<StubStatusResult> {
    let mut total = StubStatusResult::default();
    for recording in recordings.iter().filter(|r| !r.polls.is_empty()) {
        add_trial(&recording.polls, &mut total);
    }
    let (least, most) = requests_expected(recordings);
    let uncertain = total.polls_failed;
    total.foreign_requests = total.requests.saturating_sub(most + uncertain);
    debug_assert!(least <= most);
    (total.polls > 0).then_some(total)
}

/// The `Server` header of the status page.
pub(crate) fn software(recordings: &[TrialRecording]) -> Option<String> {
    recordings.iter().flat_map(|r| &r.polls).find_map(|poll| poll.software.clone())
}

fn add_trial(polls: &[StubStatusPoll], total: &mut StubStatusResult) {
    total.polls += polls.len() as u64;
    total.polls_failed += polls.iter().filter(|poll| poll.status.is_none()).count() as u64;
    let mut last: Option<StubStatus> = None;
    let (mut own_requests, mut own_connections) = (0, 0);
    for poll in polls {
        // The first good poll is the figure everything is counted from.
        if last.is_some() {
            own_requests += u64::from(poll.sent);
            own_connections += u64::from(poll.connected);
        }
        let Some(status) = poll.status else { continue };
        total.active_max = total.active_max.max(status.active);
        if let Some(before) = last {
            let restarted = status.requests < before.requests || status.accepts < before.accepts;
            total.restarts += u32::from(restarted);
            let from = if restarted { StubStatus::default() } else { before };
            total.accepts += status.accepts - from.accepts;
            total.handled += status.handled.saturating_sub(from.handled);
            total.requests += status.requests - from.requests;
        }
        last = Some(status);
    }
    total.accepts = total.accepts.saturating_sub(own_connections);
    total.handled = total.handled.saturating_sub(own_connections);
    total.requests = total.requests.saturating_sub(own_requests);
    total.dropped = total.accepts.saturating_sub(total.handled);
}

/// The least and the most requests that nginx can have counted of ours: every
/// answered one for sure, and any that may have reached it.
fn requests_expected(recordings: &[TrialRecording]) -> (u64, u64) {
    let (mut least, mut most) = (0, 0);
    for recording in recordings {
        let warmup = recording.end.as_ref().map(|end| end.warmup).unwrap_or_default();
        for counts in recording.seconds.iter().map(|s| s.tally.counts).chain([warmup]) {
            least += counts.ok;
            most += counts.issued - counts.connect - counts.tls - counts.local - counts.dropped;
        }
    }
    (least, most)
}

/// What the comparison came to.
pub(crate) struct Reconciliation {
    /// `None` when there is nothing to compare with.
    pub(crate) reconciled: Option<bool>,
    missing: u64,
    foreign: u64,
    requests: u64,
    restarts: u32,
}

/// Compares the counts of a result.
pub(crate) fn check(result: &RunResult) -> Reconciliation {
    let none =
        Reconciliation { reconciled: None, missing: 0, foreign: 0, requests: 0, restarts: 0 };
    let Some(status) = &result.server.stub_status else {
        return none;
    };
    if status.polls - status.polls_failed < 2 {
        return none;
    }
    let least = result.counts.ok + result.warmup.ok;
    let missing = least.saturating_sub(status.requests);
    Reconciliation {
        reconciled: Some(missing == 0 && status.foreign_requests == 0 && status.restarts == 0),
        missing,
        foreign: status.foreign_requests,
        requests: status.requests,
        restarts: status.restarts,
    }
}

impl Reconciliation {
    /// Why the figures cannot be trusted; foreign requests up to the share
    /// `tolerated` of the load are let pass.
    pub(crate) fn reasons(&self, tolerated: f64) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.restarts > 0 {
            reasons.push(format!("nginx was restarted {} times during the run", self.restarts));
        } else if self.missing > 0 {
            reasons.push(format!(
                "nginx counted {} requests fewer than were answered: the status page belongs to another \
                 server, or something between answers for it",
                self.missing
            ));
        }
        if self.foreign as f64 > self.requests as f64 * tolerated {
            reasons.push(format!(
                "foreign traffic: nginx served {} requests that are not ours",
                self.foreign
            ));
        }
        reasons
    }
}
