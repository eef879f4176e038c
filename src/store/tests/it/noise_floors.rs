//! What comparing a target with itself showed.

use crate::backends::{Backend, on_both};
use crate::samples::at;
use benchd_model::JobId;
use benchd_store::{NoiseFloor, Store};

on_both!(the_newest_floor_of_a_target_environment_and_metric_counts,);

async fn the_newest_floor_of_a_target_environment_and_metric_counts(_: Backend, store: Store) {
    let floor = |metric: &str, floor_pct, second| NoiseFloor {
        target: "0123abcd".to_owned(),
        environment: "e1".to_owned(),
        metric: metric.to_owned(),
        floor_pct,
        job_id: JobId::new(),
        measured_at: at(second),
    };
    let (old, new, other) = (floor("rps", 3.5, 1), floor("rps", 1.25, 2), floor("p99", 9.0, 3));
    for floor in [&old, &new, &other] {
        store.put_noise_floor(floor).await.unwrap();
    }
    let find = async |target: &str, environment: &str, metric: &str| {
        store.noise_floor(target, environment, metric).await.unwrap()
    };
    assert_eq!(find(&new.target, "e1", "rps").await, Some(new.clone()));
    assert_eq!(find(&new.target, "e1", "p99").await, Some(other));
    assert_eq!(find(&new.target, "e2", "rps").await, None);
    assert_eq!(find("0123", "e1", "rps").await, None);
}
