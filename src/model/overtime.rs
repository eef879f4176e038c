//! Windows that last longer than the load that was asked for: answers that come
//! after its end stretch the window they count in, and so lower every rate.

use crate::RunResult;
use crate::spec::{Arrivals, LoadModel, LoadSpec};

/// A window this many times as long as asked for is remarked on.
const REMARKED: f64 = 1.05;

/// Says what the rates are over, when it is not the time asked for.
pub(crate) fn remark(load: &LoadSpec, result: &RunResult) -> Option<String> {
    let asked = asked_s(load)?;
    let lasted = || result.trials.iter().map(|trial| trial.duration_s);
    let longest = lasted().fold(0.0, f64::max);
    if longest <= asked * REMARKED {
        return None;
    }
    if load.model == LoadModel::Closed {
        return Some(format!(
            "answers under way when the time was over took until {longest:.3} s; rates are over that \
             whole window, not over the {asked} s asked for"
        ));
    }
    // The load itself was over when its schedule was.
    let scheduled: f64 = lasted().map(|lasted| lasted.min(asked)).sum();
    let good = result.goodput_rps * result.duration_s;
    Some(format!(
        "requests that came due within the {asked} s of the schedule were still sent or answered until \
         {longest:.3} s; rates are over that whole window, while per second of the schedule there were \
         {:.1} good responses",
        good / scheduled
    ))
}

/// How long one trial offers load, where that is known before.
fn asked_s(load: &LoadSpec) -> Option<f64> {
    let by_time = load.duration.map(|duration| duration.duration().as_secs_f64());
    // How long a count of random arrivals lasts is a matter of chance.
    let by_count = (load.arrivals == Some(Arrivals::Constant))
        .then(|| Some(load.requests? as f64 / load.rate?))
        .flatten();
    by_time.into_iter().chain(by_count).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use crate::JobSpec;
    use crate::assemble::tests::{judge, recording, second, tally};
    use serde_json::{Value, json};

    /// The remark on a run of 10 good responses that lasted 1.5 s.
    fn remark(load: &Value) -> Option<String> {
        let document = json!({"target": {"url": "http://localhost/"}, "load": load});
        let spec = JobSpec::parse(&document, &|_| None).unwrap();
        let late = vec![second(0, tally(9, 0, 1_000_000)), second(1, tally(1, 0, 500_000))];
        let notes = judge(&spec, &[recording(late)]).notes;
        notes.into_iter().find(|note| note.contains("rates are over"))
    }

    #[test]
    fn late_answers_of_a_closed_loop_say_what_rates_are_over() {
        let told = remark(&json!({"duration": "1s"})).unwrap();
        assert!(
            told.contains("until 1.500 s") && told.contains("not over the 1 s asked"),
            "{told}"
        );
        assert_eq!(remark(&json!({"duration": "1450ms"})), None, "so much is no news");
        assert_eq!(remark(&json!({"requests": 10})), None, "a count takes what it takes");
    }

    #[test]
    fn at_a_rate_the_schedule_has_an_end_of_its_own() {
        for load in [
            json!({"rate": 10, "duration": "1s"}),
            json!({"rate": 10, "requests": 10}),
            json!({"rate": 10, "requests": 10, "duration": "1h"}),
            json!({"rate": 9, "arrivals": "poisson", "requests": 10, "duration": "1s"}),
        ] {
            let told = remark(&load).unwrap();
            assert!(told.contains("the 1 s of the schedule"), "{told}");
            assert!(told.contains("until 1.500 s") && told.contains("10.0 good"), "{told}");
        }
        for load in [
            json!({"rate": 10, "duration": "2s"}),
            json!({"rate": 10, "requests": 15}),
            json!({"rate": 10, "arrivals": "poisson", "requests": 10}),
        ] {
            assert_eq!(remark(&load), None, "{load}");
        }
    }
}
