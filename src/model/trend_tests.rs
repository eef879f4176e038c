use super::{Changes, Run, changes, trend};
use crate::environment::{Environment, HostSnapshot};
use crate::statistics::Strength;
use crate::{JobId, Timestamp, Verdict};

/// A run that ended in the n-th second, on a host with so many processors.
fn run(second: i64, value: f64, cores: u32) -> Run {
    let host = HostSnapshot { cores, ..HostSnapshot::default() };
    Run {
        time: Timestamp::from_micros(second * 1_000_000),
        job_id: JobId::new(),
        project: "shop".to_owned(),
        scenario: "home".to_owned(),
        branch: Some("main".to_owned()),
        commit: None,
        verdict: Verdict::Pass,
        environment: Environment::new(host, None, true),
        load: [("load.rate".to_owned(), 1000.into())].into(),
        values: vec![Some(value)],
    }
}

/// A value of a level with a little noise, the same for the same place.
fn noisy(level: f64, place: i64) -> f64 {
    level * (1.0 + 0.01 * ((place * 7919 % 13) as f64 / 6.0 - 1.0))
}

fn series(levels: &[(f64, i64, u32)]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (level, count, cores) in levels {
        for _ in 0..*count {
            let place = runs.len() as i64;
            runs.push(run(place, noisy(*level, place), *cores));
        }
    }
    runs
}

fn found(runs: &[Run]) -> Changes {
    let mut found = changes(runs, &["rps".to_owned()]);
    found.levels.retain(|change| change.strength == Strength::Strong);
    found
}

#[test]
fn a_step_is_found_and_told_with_its_run() {
    let runs = series(&[(1000.0, 20, 2), (800.0, 20, 2)]);
    let found = found(&runs);
    assert_eq!(found.levels.len(), 1, "{found:?}");
    let change = &found.levels[0];
    assert_eq!((change.job_id, change.time), (runs[20].job_id, runs[20].time));
    assert_eq!(change.metric, "rps");
    assert!((change.change_pct.unwrap() + 20.0).abs() < 1.0, "{change:?}");
    assert!(change.in_words().starts_with("rps went from "), "{}", change.in_words());
    assert!(change.in_words().contains("(-20."), "{}", change.in_words());
    assert!(found.restarts.is_empty());
}

#[test]
fn a_quiet_series_shows_nothing() {
    assert_eq!(changes(&series(&[(1000.0, 60, 2)]), &["rps".to_owned()]), Changes::default());
}

#[test]
fn a_step_at_a_change_of_environment_is_none_and_the_environment_is_told() {
    let runs = series(&[(1000.0, 20, 2), (800.0, 20, 4)]);
    let found = found(&runs);
    assert!(found.levels.is_empty(), "{found:?}");
    let [change] = &found.restarts[..] else { panic!("{found:?}") };
    assert_eq!(change.time, runs[20].time);
    assert_eq!(change.environment, ["cores 4 and not 2"]);
    let fingerprint = |place: usize| runs[place].environment.fingerprint.clone();
    assert_eq!(change.fingerprints, [fingerprint(0), fingerprint(20)]);
}

#[test]
fn invalid_runs_are_passed_over_with_the_place_they_were_measured_in() {
    let mut runs = series(&[(1000.0, 20, 2), (800.0, 20, 2)]);
    let mut wrong = run(0, 1.0, 64);
    wrong.verdict = Verdict::Invalid;
    runs.insert(5, wrong.clone());
    runs.insert(30, wrong);
    let found = found(&runs);
    assert!(found.restarts.is_empty(), "{found:?}");
    assert_eq!(found.levels.iter().map(|l| l.job_id).collect::<Vec<_>>(), [runs[21].job_id]);
    let trend = trend("shop", "home", "rps", &runs).unwrap();
    assert_eq!((trend.runs.len(), trend.unit.as_str()), (42, "1/s"));
    assert_eq!(trend.change_points.iter().map(|p| p.index).collect::<Vec<_>>(), [21]);
}

#[test]
fn each_scenario_has_a_history_of_its_own() {
    let mut runs = series(&[(1000.0, 40, 2)]);
    for (place, run) in runs.iter_mut().enumerate() {
        if place % 2 == 1 {
            run.scenario = "cart".to_owned();
            run.values = vec![Some(noisy(if place < 20 { 50.0 } else { 70.0 }, place as i64))];
        }
    }
    let found = found(&runs);
    let [change] = &found.levels[..] else { panic!("{found:?}") };
    assert_eq!((change.scenario.as_str(), change.job_id), ("cart", runs[21].job_id));
}

#[test]
fn a_metric_that_is_none_is_refused_with_the_nearest() {
    let refusal = trend("shop", "home", "rsp", &[]).unwrap_err();
    assert!(refusal.contains("did you mean \"rps\"?"), "{refusal}");
}

#[test]
fn another_load_starts_anew_and_is_told() {
    let mut runs = series(&[(1000.0, 20, 2), (2000.0, 20, 2)]);
    for run in &mut runs[20..] {
        run.load.insert("load.rate".to_owned(), 2000.into());
    }
    let found = found(&runs);
    assert!(found.levels.is_empty(), "{found:?}");
    let [restart] = &found.restarts[..] else { panic!("{found:?}") };
    assert_eq!((restart.subject(), &restart.load[..]), ("load", &["load.rate".to_owned()][..]));
    assert_eq!(restart.time, runs[20].time);
    let trend = trend("shop", "home", "rps", &runs).unwrap();
    assert_eq!((trend.load_changes, trend.environment_changes), (vec![20], vec![]));
}
