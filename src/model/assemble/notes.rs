//! What the reader of a result should know, sentence by sentence.

use super::{Evidence, Trials};
use crate::overtime;
use crate::reconcile;
use crate::recording::Connections;
use crate::result::{RunResult, StubStatusResult};
use crate::spec::LoadModel;
use crate::validity::{SHORTEST_JUDGED_S, is_judged, remarks};
use crate::{JobSpec, TrialRecording};

/// Above this share of time spent waiting for a processor the reader is told.
const WAIT_REMARKED: f64 = 0.1;

pub(super) fn notes(
    evidence: &Evidence<'_>,
    trials: &Trials<'_>,
    result: &RunResult,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if evidence.spec.load.model == LoadModel::Closed {
        notes.push(
            "closed loop: a slow answer delays the next request, so the latencies omit the waiting that \
             independent users would see"
                .to_owned(),
        );
    }
    if evidence.same_host {
        notes.push(
            "generator and target share one machine and compete for its processors".to_owned(),
        );
    }
    if let Some(wait) = result.validity.generator_wait_ratio.filter(|wait| *wait > WAIT_REMARKED) {
        notes.push(format!(
            "the generator's threads waited for a processor {:.0} % of the time, which the latencies include",
            wait * 100.0
        ));
    }
    notes.extend(remarks(evidence, trials, result));
    if result.validity.reconciled.is_none() && result.server.stub_status.is_some() {
        notes.push(
            "nginx's request counter was not read both before and after every load: it says nothing about \
             ours"
                .to_owned(),
        );
    }
    let longest = result.trials.iter().map(|trial| trial.duration_s).fold(0.0, f64::max);
    if longest > 0.0 && !result.trials.iter().any(is_judged) {
        notes.push(format!(
            "a window of {longest:.3} s is too short to tell what limited the run: that takes \
             {SHORTEST_JUDGED_S} s"
        ));
    }
    if result.warmup.issued > 0 {
        notes.push(format!(
            "{} warm-up requests are left out of every figure",
            result.warmup.issued
        ));
    }
    if let Some(status) = &result.server.stub_status {
        if let Some(foreign) = status.foreign_requests.filter(|foreign| *foreign > 0) {
            notes.push(format!("nginx served {foreign} requests that are not ours"));
        }
        notes.extend(reloaded(evidence.recordings, status));
        notes.extend(polls_failed(evidence.recordings, status));
    }
    notes.extend(overtime::remark(&evidence.spec.load, result));
    notes.extend(resumed(evidence.spec, result));
    let limits =
        evidence.recordings.iter().filter_map(|r| r.end.as_ref()).flat_map(|end| &end.notes);
    for note in limits {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// A reload keeps the counters and closes the connections of the old workers.
fn reloaded(recordings: &[TrialRecording], status: &StubStatusResult) -> Option<String> {
    let times = reconcile::reconnects(recordings.iter());
    (times > 0 && status.restarts == 0).then(|| {
        "nginx closed the connection of the polls while its counters went on: it was reloaded, or \
         ended the connection by keepalive_requests or keepalive_timeout"
            .to_owned()
    })
}

fn polls_failed(recordings: &[TrialRecording], status: &StubStatusResult) -> Option<String> {
    let mut polls = recordings.iter().flat_map(|recording| &recording.polls);
    let why = polls.find_map(|poll| poll.error.as_ref())?;
    Some(format!(
        "{} of {} polls of the status page failed: {why}",
        status.polls_failed, status.polls
    ))
}

/// Resumed handshakes spare the server the costly part, which every new visitor
/// makes it do. The first ones of a run have nothing to resume, and a connection
/// that is kept makes no other.
fn resumed(spec: &JobSpec, result: &RunResult) -> Option<String> {
    let Connections { tls_full, tls_resumed, .. } = result.connections;
    let all = tls_full + tls_resumed;
    if !spec.target.tls.resumption || all == 0 {
        return None;
    }
    Some(match (tls_resumed, result.load.keepalive) {
        (0, true) => format!(
            "none of {all} TLS handshakes resumed a session: a kept connection makes one, mostly \
             before there is a session to resume; with load.keepalive false each request makes one"
        ),
        (0, false) => format!(
            "none of {all} TLS handshakes resumed a session: the first have none to resume, and \
             the server took none back from the others"
        ),
        _ => format!(
            "{tls_resumed} of {all} TLS handshakes resumed a session, without certificate and \
             signature; new visitors cost the server full ones"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::resumed;
    use crate::assemble::tests::{judge, recording, second, spec, tally};

    #[test]
    fn the_note_on_resumed_sessions_says_whether_any_was() {
        for (full, again, keepalive, words) in [
            (50, 0, true, "none of 50 TLS handshakes resumed a session: a kept connection"),
            (50, 0, false, "the server took none back"),
            (10, 40, false, "40 of 50 TLS handshakes resumed a session, without"),
            (40, 10, true, "10 of 50 TLS handshakes resumed a session, without"),
        ] {
            let mut spec = spec(&[]);
            (spec.target.tls.resumption, spec.load.keepalive) = (true, keepalive);
            let mut tally = tally(100, 0, 1_000_000);
            (tally.connections.tls_full, tally.connections.tls_resumed) = (full, again);
            let result = judge(&spec, &[recording(vec![second(0, tally)])]);
            let note = resumed(&spec, &result).unwrap();
            assert!(note.contains(words) && result.notes.contains(&note), "{note}");
            spec.target.tls.resumption = false;
            assert_eq!(resumed(&spec, &result), None);
        }
    }
}
