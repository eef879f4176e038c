use crate::app::{TestApp, at, request};
use crate::samples::job;
use axum::body::Body;
use benchd_model::JobState;
use futures_util::StreamExt;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt;

/// One event of a stream.
#[derive(Debug)]
struct Event {
    id: u64,
    name: String,
    data: Value,
}

fn parse(text: &str) -> Vec<Event> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_default().to_owned()
    };
    text.split("\n\n")
        .filter(|block| block.contains("data:"))
        .map(|block| Event {
            id: field(block, "id").parse().unwrap(),
            name: field(block, "event"),
            data: serde_json::from_str(&field(block, "data")).unwrap(),
        })
        .collect()
}

#[tokio::test]
async fn a_late_listener_hears_the_whole_story_and_its_end() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 3, 5).await;
    let answer = app.get_with(&format!("/jobs/{id}/events"), &[("accept-encoding", "gzip")]).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("content-encoding"), "", "events are never held back by compression");
    let events = parse(&answer.text());
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["state", "state", "phase", "second", "second", "second", "finished"]);
    let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=7).collect::<Vec<_>>());
    assert_eq!(events[0].data["state"], "queued");
    assert_eq!(events[2].data["phase"], "measuring");
    assert_eq!(events[3].data["row"]["ok"], 10);
    assert_eq!(events[6].data["verdict"], "pass");
    let rows = app.get(&format!("/jobs/{id}/timeline")).await.rows();
    let told: Vec<Value> = events[3..6].iter().map(|event| event.data["row"].clone()).collect();
    assert_eq!(told, rows, "the stream and the timeline say the same");
}

#[tokio::test]
async fn who_comes_back_hears_what_was_missed_and_nothing_twice() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 3, 5).await;
    let path = format!("/jobs/{id}/events");
    let missed = parse(&app.get_with(&path, &[("last-event-id", "5")]).await.text());
    assert_eq!(missed.iter().map(|event| event.id).collect::<Vec<_>>(), [6, 7]);
    for heard in ["7", "8", "4000000000"] {
        let answer = app.get_with(&path, &[("last-event-id", heard)]).await;
        assert_eq!((answer.status, answer.body.len()), (StatusCode::NO_CONTENT, 0), "{heard}");
    }
    for bad in ["x", "-1", "1.5", "99999999999999999999", ""] {
        app.get_with(&path, &[("last-event-id", bad)]).await.problem(400, "invalid_header");
    }
}

#[tokio::test]
async fn events_arrive_as_they_happen() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let request = request(Method::GET, &format!("/jobs/{id}/events"), &[], Body::empty());
    let response = app.router.clone().oneshot(request).await.unwrap();
    let mut chunks = response.into_body().into_data_stream();
    let mut heard = Vec::new();
    heard.extend(parse(&String::from_utf8_lossy(&chunks.next().await.unwrap().unwrap())));
    assert_eq!(heard.len(), 1, "queued");
    let lease = app.claim(id).await;
    app.measure(&lease, 0, 2, at(0)).await;
    app.finish(&lease, JobState::Completed, 3).await;
    while let Some(chunk) = chunks.next().await {
        heard.extend(parse(&String::from_utf8_lossy(&chunk.unwrap())));
    }
    assert_eq!(heard.last().unwrap().name, "finished");
    assert_eq!(heard.len(), 6);
}

#[tokio::test]
async fn who_claims_to_have_heard_more_hears_the_rest_and_the_end() {
    let app = TestApp::new().await;
    for heard in ["1", "2", "3", "99999", "4294967295"] {
        let id = app.queue(&job()).await;
        let lease = app.claim(id).await;
        let path = format!("/jobs/{id}/events");
        let request = request(Method::GET, &path, &[("last-event-id", heard)], Body::empty());
        let response = app.router.clone().oneshot(request).await.unwrap();
        app.measure(&lease, 0, 2, at(0)).await;
        app.finish(&lease, JobState::Completed, 3).await;
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let events = parse(&String::from_utf8_lossy(&body));
        let first = if heard == "1" { 2 } else { 3 };
        assert_eq!(events.first().map(|event| event.id), Some(first), "{heard}");
        assert_eq!(events.last().map(|event| event.name.as_str()), Some("finished"), "{heard}");
    }
}

#[tokio::test]
async fn a_job_cancelled_in_the_queue_ends_its_stream() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.call(Method::POST, &format!("/jobs/{id}/cancel")).await.json();
    let events = parse(&app.get(&format!("/jobs/{id}/events")).await.text());
    let last = events.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["state"]), ("finished", &"cancelled".into()));
}
