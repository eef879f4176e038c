use super::{Ask, Differing, historical, paired};
use crate::assemble::tests::{recording, second, tally};
use crate::assemble::{Evidence, assemble};
use crate::environment::HostSnapshot;
use crate::recording::EndReason;
use crate::statistics::{Arm, Decision, Design};
use crate::{JobId, JobSpec, JobState, TrialRecording, Verdict};
use serde_json::{Value, json};

const BLOCKS: u32 = 8;

fn job(criteria: &Value) -> JobSpec {
    let document = json!({
        "target": {"url": "http://localhost/"}, "load": {"connections": 1, "duration": "8s"},
        "criteria": criteria,
        "compare": {"baseline": {"target": {"url": "http://localhost:81/"}}, "blocks": BLOCKS},
    });
    JobSpec::parse(&document, &|_| None).unwrap()
}

/// Eight seconds of so many answers each.
fn trial(index: u32, ok: u64) -> TrialRecording {
    let seconds = (0..8).map(|at| second(at, tally(ok, 0, 1_000_000))).collect();
    TrialRecording { trial: index, ..recording(seconds) }
}

/// Every trial of the job, `candidate` and `baseline` answers a second give or
/// take a few.
fn trials(spec: &JobSpec, id: JobId, baseline: u64, candidate: u64) -> Vec<TrialRecording> {
    let answers = |index: u32| match spec.arm_of_trial(id, index) {
        Arm::A => baseline + u64::from(index % 3),
        Arm::B => candidate + u64::from(index % 5),
    };
    (0..spec.trials).map(|index| trial(index, answers(index))).collect()
}

fn evidence<'a>(spec: &'a JobSpec, id: JobId, recordings: &'a [TrialRecording]) -> Evidence<'a> {
    Evidence {
        job_id: id,
        spec,
        state: JobState::Completed,
        recordings,
        host: HostSnapshot::default(),
        same_host: true,
        noise_floor_pct: None,
        baseline: None,
    }
}

#[test]
fn a_slower_candidate_fails_the_job_and_every_figure_is_its_own() {
    let (spec, id) = (job(&json!([])), JobId::new());
    let recordings = trials(&spec, id, 1000, 800);
    let result = assemble(&evidence(&spec, id, &recordings));
    assert_eq!(result.verdict, Verdict::Fail, "{}", result.summary);
    let comparison = result.comparison.as_ref().unwrap();
    assert_eq!((comparison.decision, comparison.design), (Decision::Regression, Design::Paired));
    assert_eq!((comparison.metric.as_str(), comparison.n_pairs), ("rps", Some(BLOCKS)));
    assert_eq!(comparison.pairs_worse, Some(BLOCKS));
    assert!((comparison.effect_pct.unwrap() + 20.0).abs() < 1.0, "{comparison:?}");
    assert!(result.summary.starts_with("fail: rps -"), "{}", result.summary);
    assert!(result.summary.contains("worse in 8 of 8 pairs"), "{}", result.summary);
    let all: u64 = result.trials.iter().map(|trial| trial.counts.ok).sum();
    assert_eq!((result.counts.ok, result.trials.len()), (all, BLOCKS as usize));
    assert!(result.rps < 810.0, "{}", result.rps);
    assert_eq!(comparison.trials.len(), 2 * BLOCKS as usize);
    for (place, trial) in comparison.trials.iter().enumerate() {
        let place = place as u32;
        assert_eq!((trial.block, trial.position), (Some(place / 2 + 1), Some(place % 2 + 1)));
        assert_eq!(trial.arm, spec.arm_of_trial(id, place));
        let rate = if trial.arm == Arm::A { 1000.0 } else { 800.0 };
        assert!((trial.value.unwrap() - rate).abs() < 5.0, "{trial:?}");
    }
}

#[test]
fn an_equal_candidate_passes_unless_a_criterion_of_its_own_does_not_hold() {
    for (criteria, verdict) in [
        (json!([]), Verdict::Pass),
        (json!(["rps > 5000"]), Verdict::Fail),
        (json!(["latency_p99.999_ms < 5"]), Verdict::Inconclusive),
    ] {
        let (spec, id) = (job(&criteria), JobId::new());
        let result = assemble(&evidence(&spec, id, &trials(&spec, id, 1000, 1000)));
        assert_eq!(result.verdict, verdict, "{}", result.summary);
        assert!(result.summary.contains("no regression"), "{}", result.summary);
    }
}

#[test]
fn any_metric_is_compared_afterwards() {
    let (spec, id) = (job(&json!([])), JobId::new());
    let recordings = trials(&spec, id, 1000, 800);
    let evidence = evidence(&spec, id, &recordings);
    let ask = Ask { metric: "latency_p90_ms".into(), ..Ask::of(&evidence).unwrap() };
    let found = paired(&evidence, &ask).unwrap();
    assert_eq!((found.metric.as_str(), found.unit.as_str()), ("latency_p90_ms", "ms"));
    assert_eq!(found.decision, Decision::Improvement, "{}", found.summary);
    let thin = Ask { metric: "latency_p99.99_ms".into(), ..ask };
    let found = paired(&evidence, &thin).unwrap();
    assert!(!found.comparable && found.reasons[0].contains("fewer than the 1000000"), "{found:?}");
}

#[test]
fn a_run_that_was_stopped_decides_nothing() {
    let (spec, id) = (job(&json!([])), JobId::new());
    let recordings = trials(&spec, id, 1000, 800);
    let evidence = Evidence { state: JobState::Cancelled, ..evidence(&spec, id, &recordings[..6]) };
    let result = assemble(&evidence);
    assert_eq!(result.verdict, Verdict::Invalid);
    assert_eq!(result.comparison.unwrap().decision, Decision::Inconclusive);
}

#[test]
fn what_spoils_the_baseline_leaves_the_comparison_undecided() {
    let (spec, id) = (job(&json!([])), JobId::new());
    let mut recordings = trials(&spec, id, 1000, 800);
    for recording in &mut recordings {
        if spec.arm_of_trial(id, recording.trial) == Arm::A {
            recording.seconds[0].tally.counts.local = 3;
            recording.seconds[0].tally.counts.issued += 3;
        }
    }
    let result = assemble(&evidence(&spec, id, &recordings));
    let comparison = result.comparison.as_ref().unwrap();
    assert_eq!(comparison.decision, Decision::Inconclusive, "{}", result.summary);
    assert_eq!(result.verdict, Verdict::Inconclusive);
}

#[test]
fn jobs_of_another_time_are_compared_within_one_environment_only() {
    let document =
        json!({"target": {"url": "http://localhost/"}, "load": {"connections": 1}, "trials": 8});
    let spec = JobSpec::parse(&document, &|_| None).unwrap();
    let trials = |ok: u64| -> Vec<TrialRecording> {
        (0..8).map(|index| trial(index, ok + u64::from(index % 3))).collect()
    };
    let (before, after) = (trials(1000), trials(800));
    let (a, b) = (evidence(&spec, JobId::new(), &before), evidence(&spec, JobId::new(), &after));
    let ask = Ask { metric: "rps".into(), margin_pct: 5.0, seed: 1, noise_floor_pct: None };
    let found =
        historical(std::slice::from_ref(&a), std::slice::from_ref(&b), &ask, false).unwrap();
    assert_eq!((found.decision, found.design), (Decision::Regression, Design::Historical));
    assert!(found.advisory && found.baseline.run_ids == [a.job_id], "{found:?}");
    let moved = Evidence { host: HostSnapshot { cores: 64, ..HostSnapshot::default() }, ..b };
    let Err(Differing { environments }) =
        historical(std::slice::from_ref(&a), std::slice::from_ref(&moved), &ask, false)
    else {
        panic!("compared across environments");
    };
    assert_eq!(environments.len(), 2);
    let forced = historical(&[a], &[moved], &ask, true).unwrap();
    assert!(forced.reasons.iter().any(|reason| reason.contains("was forced")), "{forced:?}");
}

/// An improvement that comes of another load, of errors or of a run that was given
/// up says nothing about the server.
#[test]
fn jobs_that_asked_for_other_things_or_answered_nothing_decide_nothing() {
    let spec = |connections: u32| {
        let document = json!({
            "target": {"url": "http://localhost/"}, "trials": 8,
            "load": {"connections": connections}, "criteria": ["rps > 1"],
        });
        JobSpec::parse(&document, &|_| None).unwrap()
    };
    let (ten, one) = (spec(10), spec(1));
    let trials = |ok: u64| -> Vec<TrialRecording> {
        (0..8).map(|index| trial(index, ok + u64::from(index % 3))).collect()
    };
    let (before, after) = (trials(1000), trials(1300));
    let ask = Ask { metric: "rps".into(), margin_pct: 5.0, seed: 1, noise_floor_pct: None };
    let compare = |a: &Evidence<'_>, b: &Evidence<'_>, forced| {
        historical(std::slice::from_ref(a), std::slice::from_ref(b), &ask, forced).unwrap()
    };
    let a = evidence(&one, JobId::new(), &before);
    let b = evidence(&ten, JobId::new(), &after);
    let unlike = compare(&a, &b, false);
    assert_eq!(unlike.decision, Decision::Inconclusive, "{unlike:?}");
    assert!(unlike.reasons[0].contains("load.connections"), "{unlike:?}");
    assert_eq!(compare(&a, &b, true).decision, Decision::Improvement);

    let mut unavailable = after.clone();
    for second in unavailable.iter_mut().flat_map(|recording| &mut recording.seconds) {
        second.tally.unexpected_status = second.tally.counts.ok;
    }
    let b = evidence(&one, JobId::new(), &unavailable);
    let nothing = compare(&b, &b, false);
    assert_eq!(nothing.decision, Decision::Inconclusive, "{nothing:?}");
    assert!(nothing.reasons[0].contains("no good response"), "{nothing:?}");
    assert!(
        nothing.reasons.iter().any(|reason| reason.contains("for itself: fail")),
        "{nothing:?}"
    );

    let mut given_up = after.clone();
    given_up[7].end.as_mut().unwrap().reason = EndReason::Aborted;
    let b = evidence(&one, JobId::new(), &given_up);
    let early = compare(&a, &b, false);
    assert_eq!(early.decision, Decision::Inconclusive, "{early:?}");
    assert!(early.reasons[0].contains("ended early"), "{early:?}");
}
