use crate::app::{TestApp, at};
use crate::samples::{job, job_with};
use serde_json::{Value, json};

#[tokio::test]
async fn rows_are_in_order_and_sum_up_to_the_result() {
    let app = TestApp::new().await;
    let id = app.queue(&job_with(json!({"trials": 2}))).await;
    app.complete(id, 3, 300).await;
    let rows = app.get(&format!("/jobs/{id}/timeline")).await.rows();
    let result = app.get(&format!("/jobs/{id}/result")).await.json();
    let places: Vec<(u64, f64)> = rows
        .iter()
        .map(|row| (row["trial"].as_u64().unwrap(), row["elapsed_s"].as_f64().unwrap()))
        .collect();
    assert_eq!(places, [(1, 1.0), (1, 2.0), (1, 3.0), (2, 1.0), (2, 2.0), (2, 3.0)]);
    for key in ["issued", "ok"] {
        let sum: u64 = rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
        assert_eq!(sum, result["counts"][key].as_u64().unwrap());
    }
    let received: u64 = rows.iter().map(|row| row["received_bytes"].as_u64().unwrap()).sum();
    assert_eq!(received, result["bytes"]["received"].as_u64().unwrap());
    assert_eq!(rows[1]["nginx_requests_per_s"], 10.0, "our polls are left out");
}

#[tokio::test]
async fn the_columns_of_the_contract_are_always_there() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 2, 5).await;
    let row = app.get(&format!("/jobs/{id}/timeline")).await.rows().remove(0);
    for key in "time elapsed_s issued ok errors rps goodput_rps error_ratio connections \
        latency_p50_ms latency_p90_ms latency_p99_ms latency_max_ms received_bytes \
        generator_cpu_ratio nginx_active nginx_reading nginx_writing nginx_waiting \
        nginx_accepts_per_s nginx_requests_per_s nginx_dropped \
        dropped lateness_p99_ms"
        .split_whitespace()
    {
        assert!(row.as_object().unwrap().contains_key(key), "{key}");
    }
}

#[tokio::test]
async fn it_may_be_read_while_the_job_runs() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    assert!(app.get(&format!("/jobs/{id}/timeline")).await.rows().is_empty());
    let lease = app.claim(id).await;
    app.measure(&lease, 0, 2, at(0)).await;
    assert_eq!(app.get(&format!("/jobs/{id}/timeline")).await.rows().len(), 2);
}

#[tokio::test]
async fn one_trial_may_be_asked_for() {
    let app = TestApp::new().await;
    let id = app.queue(&job_with(json!({"trials": 2}))).await;
    app.complete(id, 2, 300).await;
    let rows = app.get(&format!("/jobs/{id}/timeline?trial=2")).await.rows();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["trial"] == 2), "{rows:?}");
    for bad in ["0", "3", "-1", "x", "1.0", ""] {
        let answer = app.get(&format!("/jobs/{id}/timeline?trial={bad}")).await;
        assert_eq!(answer.pointers(400, "invalid_query"), ["/query/trial"], "{bad}");
    }
}

#[tokio::test]
async fn the_same_rows_come_as_csv() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let before = app.get(&format!("/jobs/{id}/timeline?format=csv")).await;
    assert!(before.text().starts_with("time,elapsed_s,"), "a header even above nothing");
    app.complete(id, 3, 5).await;
    let rows = app.get(&format!("/jobs/{id}/timeline")).await.rows();
    let by_format = app.get(&format!("/jobs/{id}/timeline?format=csv")).await;
    let by_accept = app.get_with(&format!("/jobs/{id}/timeline"), &[("accept", "text/csv")]).await;
    assert_eq!(by_format.text(), by_accept.text());
    assert!(by_format.header("content-type").starts_with("text/csv"));
    let text = by_format.text();
    assert_eq!(text, app.get(&format!("/jobs/{id}/result?format=csv")).await.text());
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    for (line, row) in lines.zip(&rows) {
        for (name, cell) in names.iter().zip(line.split(',')) {
            match &row[*name] {
                Value::Null => assert_eq!(cell, "", "{name}"),
                Value::String(text) => assert_eq!(cell, text, "{name}"),
                number => {
                    assert_eq!(cell.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{name}")
                }
            }
        }
    }
    assert_eq!(text.lines().count(), 4);
}
