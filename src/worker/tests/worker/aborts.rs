//! Jobs that end when a criterion marked `abort:` is beyond rescue.

use crate::support::{Bench, closed_url, nginx, nginx_spec, spec};
use benchd_model::criteria::CriterionStatus;
use benchd_model::recording::EndReason;
use benchd_model::{JobState, Verdict};
use serde_json::json;

#[tokio::test]
async fn a_run_beyond_rescue_ends_early_and_fails_with_what_it_measured() {
    let (bench, nginx) = (Bench::new().await, nginx());
    let mut spec = nginx_spec(&nginx, json!({"connections": 2, "duration": "5m"}));
    spec.criteria = vec!["abort: status_2xx < 1".to_owned()];
    spec.trials = 3;
    let job = bench.post(&spec).await;
    assert_eq!(bench.run(job).await.unwrap(), JobState::Completed);
    let result = bench.result(job).await;
    assert_eq!((result.verdict, result.ended), (Verdict::Fail, EndReason::Aborted));
    assert_eq!(result.trials.len(), 1, "no further trial is made");
    assert_eq!(result.criteria[0].status, CriterionStatus::Fail);
    assert!(result.summary.contains("aborted after"), "{}", result.summary);
    let note = "into trial 1 of 3, when \"abort: status_2xx < 1\" was beyond rescue";
    assert!(result.notes.iter().any(|told| told.contains(note)), "{:?}", result.notes);
    assert_eq!(result.validity.reconciled, Some(true), "{}", result.summary);
}

#[tokio::test]
async fn a_run_that_can_still_come_right_or_asks_for_no_abort_goes_on() {
    let bench = Bench::new().await;
    let load = json!({"connections": 1, "duration": "1500ms"});
    for criterion in ["abort: status_2xx < 1", "failures == 0"] {
        let mut spec = spec(&closed_url(), load.clone());
        spec.criteria = vec![criterion.to_owned()];
        let job = bench.post(&spec).await;
        bench.run(job).await.unwrap();
        assert_eq!(bench.result(job).await.ended, EndReason::Completed, "{criterion}");
    }
}
