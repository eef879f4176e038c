use crate::app::{TestApp, at};
use crate::samples::{job, job_with};
use benchd_model::JobId;
use serde_json::{Value, json};

fn column(rows: &[Value], name: &str) -> Vec<Value> {
    rows.iter().map(|row| row[name].clone()).collect()
}

#[tokio::test]
async fn wide_rows_are_those_of_the_timeline() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 3, 5).await;
    let rows = app.get(&format!("/grafana/series?run_id={id}")).await.rows();
    assert_eq!(rows, app.get(&format!("/jobs/{id}/timeline")).await.rows());
    let infinity = [("accept", "application/json;q=0.9,text/plain")];
    let asked =
        app.get_with(&format!("/grafana/series?run_id={id}&from=&metric="), &infinity).await;
    assert_eq!(asked.rows(), rows);
}

#[tokio::test]
async fn nothing_to_show_is_an_empty_array() {
    let app = TestApp::new().await;
    let queued = app.queue(&job()).await;
    for query in [
        "",
        "?run_id=",
        "?runs=,",
        "?shape=long",
        &format!("?run_id={queued}"),
        &format!("?runs={queued}&shape=long"),
    ] {
        let answer = app.get(&format!("/grafana/series{query}")).await;
        assert!(answer.rows().is_empty(), "{query}");
    }
}

#[tokio::test]
async fn runs_are_filtered_as_lists_are() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 3, 5).await;
    for (filter, rows) in [
        ("project=shop", 3),
        ("project=", 3),
        ("project=shop&scenario=home%20page&branch=main", 3),
        ("project=blog", 0),
        ("scenario=none", 0),
        ("branch=dev", 0),
    ] {
        for shape in ["wide", "long"] {
            let query = format!("/grafana/series?run_id={id}&shape={shape}&{filter}");
            assert_eq!(app.get(&query).await.rows().len(), rows, "{query}");
        }
    }
}

#[tokio::test]
async fn a_range_cuts_rows_out() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 5, 9).await;
    let (from, to) = (at(2), at(4));
    for (from, to) in [
        (from.to_string(), to.to_string()),
        (from.as_millis().to_string(), to.as_millis().to_string()),
    ] {
        let rows =
            app.get(&format!("/grafana/series?run_id={id}&from={from}&to={to}")).await.rows();
        assert_eq!(column(&rows, "elapsed_s"), [2.0, 3.0, 4.0]);
    }
    let rows = app.get(&format!("/grafana/series?run_id={id}&to={}", at(-5))).await.rows();
    assert!(rows.is_empty());
}

#[tokio::test]
async fn elapsed_runs_start_at_the_same_midnight_and_ignore_the_range() {
    let app = TestApp::new().await;
    let id = app.queue(&job_with(json!({"trials": 2}))).await;
    app.complete(id, 2, 300).await;
    let rows =
        app.get(&format!("/grafana/series?run_id={id}&time=elapsed&from=0&to=1")).await.rows();
    let times = column(&rows, "time");
    // The second trial starts 100 s after the first.
    assert_eq!(
        times,
        [
            "2000-01-01T00:00:01.000Z",
            "2000-01-01T00:00:02.000Z",
            "2000-01-01T00:01:41.000Z",
            "2000-01-01T00:01:42.000Z"
        ]
    );
}

#[tokio::test]
async fn too_many_seconds_are_merged_not_averaged() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 10, 12).await;
    let rows = app.get(&format!("/grafana/series?run_id={id}&max_points=2")).await.rows();
    assert_eq!(column(&rows, "elapsed_s"), [5.0, 10.0]);
    assert_eq!(column(&rows, "issued"), [50, 50]);
    assert_eq!(column(&rows, "latency_p99_ms"), [0.5, 1.0]);
    assert_eq!(column(&rows, "nginx_requests_per_s"), [10.0, 10.0]);
}

#[tokio::test]
async fn long_rows_tell_one_figure_of_several_runs() {
    let app = TestApp::new().await;
    let main = app.queue(&job()).await;
    app.complete(main, 2, 5).await;
    let dev = app.queue(&job_with(json!({"labels": {"branch": "dev"}}))).await;
    app.complete(dev, 3, 9).await;
    let query = format!("runs={main},{dev},{main}&shape=long&metric=latency_max_ms&time=elapsed");
    let rows = app.get(&format!("/grafana/series?{query}")).await.rows();
    assert_eq!(column(&rows, "series"), ["dev", "main@4f2c9e1", "dev", "main@4f2c9e1", "dev"]);
    assert_eq!(column(&rows, "value"), [0.1, 0.1, 0.2, 0.2, 0.3]);
    let keys: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3);
}

#[tokio::test]
async fn runs_of_the_same_name_are_told_apart() {
    let app = TestApp::new().await;
    let mut runs = Vec::new();
    for end in [5, 9] {
        let id = app.queue(&job()).await;
        app.complete(id, 1, end).await;
        runs.push(id.to_string());
    }
    let rows = app.get(&format!("/grafana/series?runs={}&shape=long", runs.join(","))).await.rows();
    let names = column(&rows, "series");
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.as_str().unwrap().starts_with("main@4f2c9e1 ")));
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let app = TestApp::new().await;
    let many: Vec<String> = (0..21).map(|_| JobId::new().to_string()).collect();
    let (one, two) = (JobId::new(), JobId::new());
    for (query, pointer) in [
        ("run_id=abc", "/query/run_id"),
        ("runs=abc", "/query/runs"),
        (&format!("shape=long&runs={}", many.join(",")), "/query/runs"),
        (&format!("runs={one},{two}"), "/query/runs"),
        ("shape=tall", "/query/shape"),
        ("metric=latency", "/query/metric"),
        ("time=later", "/query/time"),
        ("from=noon", "/query/from"),
        ("to=1e9", "/query/to"),
        ("max_points=0", "/query/max_points"),
        ("max_points=100001", "/query/max_points"),
        ("runid=1", "/query/runid"),
    ] {
        let pointers =
            app.get(&format!("/grafana/series?{query}")).await.pointers(400, "invalid_query");
        assert_eq!(pointers, [pointer], "{query}");
    }
    app.get(&format!("/grafana/series?run_id={one}")).await.problem(404, "job_not_found");
}
