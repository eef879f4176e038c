use crate::app::{TestApp, at};
use crate::samples::job;
use benchd_model::JobState;
use http::StatusCode;

#[tokio::test]
async fn the_result_is_what_the_recordings_say() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let assembled = app.complete(id, 3, 5).await;
    let answer = app.get(&format!("/jobs/{id}/result")).await;
    let result = answer.json();
    assert_eq!(result["job_id"], id.to_string());
    assert_eq!(result["counts"]["issued"], 30);
    assert_eq!(result["duration_s"], 3.0);
    assert_eq!(result["latency_ms"]["p50"], 0.2);
    assert_eq!(result["summary"], assembled.summary);
    assert_eq!(result["links"]["timeline"], format!("/jobs/{id}/timeline"));
    let known = app
        .get_with(&format!("/jobs/{id}/result"), &[("if-none-match", answer.header("etag"))])
        .await;
    assert_eq!(known.status, StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn every_format_has_its_media_type() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 3, 5).await;
    for (query, accept, media, piece) in [
        ("?format=json", "text/csv", "application/json", "\"job_id\""),
        ("?format=ab", "*/*", "text/plain", "Complete requests:      30"),
        ("?format=csv", "application/json", "text/csv", "elapsed_s"),
        ("?format=markdown", "", "text/markdown", "|"),
        ("?format=junit", "", "application/xml", "<testsuite "),
        ("?format=openmetrics", "*/*", "application/openmetrics-text; version=1.0.0", "# EOF"),
        ("?format=load_performance", "*/*", "application/json", "\"http_req_waiting\""),
        ("?format=hdr", "*/*", "text/plain", "1/(1-Percentile)"),
        ("", "text/csv; charset=utf-8", "text/csv", "elapsed_s"),
        ("", "text/markdown, */*;q=0.1", "text/markdown", "|"),
        ("", "application/json;q=0.9,text/plain", "application/json", "\"job_id\""),
        ("", "text/plain", "application/json", "\"job_id\""),
        ("", "text/html,*/*;q=0.8", "application/json", "\"job_id\""),
    ] {
        let answer =
            app.get_with(&format!("/jobs/{id}/result{query}"), &[("accept", accept)]).await;
        assert_eq!(answer.status, StatusCode::OK, "{query} {accept}");
        assert!(
            answer.header("content-type").starts_with(media),
            "{query} {accept}: {:?}",
            answer.headers
        );
        assert!(answer.text().contains(piece), "{query} {accept}: {}", answer.text());
        assert!(answer.header("vary").to_lowercase().contains("accept"));
    }
}

#[tokio::test]
async fn a_format_nobody_knows_is_refused_with_the_known_ones() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 2, 5).await;
    for (query, pointer) in [
        ("format=xml", "/query/format"),
        ("format=table", "/query/format"),
        ("format=", "/query/format"),
        ("format=JSON", "/query/format"),
        ("format=json&format=ab", "/query/format"),
        ("fromat=ab", "/query/fromat"),
    ] {
        let answer = app.get(&format!("/jobs/{id}/result?{query}")).await;
        assert_eq!(answer.pointers(400, "invalid_query"), [pointer], "{query}");
    }
    let problem =
        app.get(&format!("/jobs/{id}/result?format=xml")).await.problem(400, "invalid_query");
    assert!(
        problem["detail"].as_str().unwrap().contains("json, ab, csv, markdown, junit,"),
        "{problem}"
    );
}

#[tokio::test]
async fn there_is_no_result_before_the_end() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let queued = app.get(&format!("/jobs/{id}/result?format=ab")).await;
    queued.problem(409, "not_finished");
    assert_eq!(queued.header("retry-after"), "1");
    let lease = app.claim(id).await;
    app.measure(&lease, 0, 2, at(0)).await;
    app.get(&format!("/jobs/{id}/result")).await.problem(409, "not_finished");
}

#[tokio::test]
async fn a_job_that_measured_nothing_says_why() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.fail(id, "no descriptor was left").await;
    let problem = app.get(&format!("/jobs/{id}/result")).await.problem(409, "no_result");
    assert!(problem["detail"].as_str().unwrap().contains("no descriptor was left"), "{problem}");
}

#[tokio::test]
async fn a_job_cut_short_has_the_result_of_what_was_measured() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let lease = app.claim(id).await;
    app.measure(&lease, 0, 2, at(0)).await;
    app.finish(&lease, JobState::Interrupted, 3).await;
    let result = app.get(&format!("/jobs/{id}/result")).await.json();
    assert_eq!(result["counts"]["ok"], 20);
    assert_ne!(result["verdict"], "pass");
}
