use crate::app::TestApp;
use crate::samples::{job, job_with};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_history_is_newest_first_and_walked_by_cursor() {
    let app = TestApp::new().await;
    let mut posted = Vec::new();
    for _ in 0..5 {
        posted.insert(0, app.queue(&job()).await.to_string());
    }
    let first = app.get("/jobs?limit=2&project=shop").await;
    assert_eq!(ids(&first.json()), posted[..2]);
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    let link = first.header("link");
    let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    assert_eq!(next, format!("/jobs?limit=2&project=shop&cursor={cursor}"));
    let second = app.get(next).await;
    assert_eq!(ids(&second.json()), posted[2..4]);
    let next =
        second.header("link").strip_prefix('<').unwrap().split('>').next().unwrap().to_owned();
    let last = app.get(&next).await;
    assert_eq!(ids(&last.json()), posted[4..]);
    assert_eq!(last.json()["next_cursor"], Value::Null);
    assert_eq!(last.header("link"), "");
}

#[tokio::test]
async fn filters_are_joined_by_and() {
    let app = TestApp::new().await;
    let plain = app.queue(&job()).await.to_string();
    let other = job_with(
        json!({"project": "blog", "scenario": "a&b", "labels": {"branch": "dev", "ci": "1"}}),
    );
    let other = app.queue(&other).await.to_string();
    let done = app.queue(&job_with(json!({"target": {"url": "http://localhost:8090/x"}}))).await;
    app.complete(done, 2, 5).await;
    let done = done.to_string();
    let since = "2020-01-01T00%3A00%3A00Z";
    for (query, expected) in [
        ("project=blog", vec![&other]),
        ("scenario=a%26b", vec![&other]),
        ("label.branch=dev&label.ci=1", vec![&other]),
        ("label.branch=dev&label.ci=2", vec![]),
        ("state=completed", vec![&done]),
        ("verdict=pass", vec![&done]),
        ("state=queued&project=shop", vec![&plain]),
        ("target=http://localhost:8090/x", vec![&done]),
        (&format!("since={since}"), vec![&done, &other, &plain]),
        ("until=2020-01-01T00:00:00Z", vec![]),
        ("since=0&limit=1", vec![&done]),
    ] {
        let page = app.get(&format!("/jobs?{query}")).await.json();
        assert_eq!(ids(&page).iter().collect::<Vec<_>>(), expected, "{query}");
    }
}

#[tokio::test]
async fn a_filter_that_is_no_filter_never_shows_everything() {
    let app = TestApp::new().await;
    app.queue(&job()).await;
    for (query, pointer) in [
        ("projct=shop", "/query/projct"),
        ("limit=0", "/query/limit"),
        ("limit=1001", "/query/limit"),
        ("limit=ten", "/query/limit"),
        ("limit=-1", "/query/limit"),
        ("state=done", "/query/state"),
        ("verdict=ok", "/query/verdict"),
        ("since=yesterday", "/query/since"),
        ("until=2026-13-01T00:00:00Z", "/query/until"),
        ("cursor=abc", "/query/cursor"),
        ("project=", "/query/project"),
        ("project=a&project=b", "/query/project"),
        ("scenario=%00", "/query/scenario"),
        ("label.=x", "/query/label."),
        ("project", "/query/project"),
    ] {
        let pointers = app.get(&format!("/jobs?{query}")).await.pointers(400, "invalid_query");
        assert_eq!(pointers, [pointer], "{query}");
    }
    let problem = app.get("/jobs?limt=5&state=x").await.problem(400, "invalid_query");
    assert_eq!(problem["errors"].as_array().unwrap().len(), 2);
    assert!(
        problem["detail"].as_str().unwrap().contains("known are project, scenario"),
        "{problem}"
    );
}

#[tokio::test]
async fn an_empty_history_is_an_empty_page() {
    let app = TestApp::new().await;
    assert_eq!(app.get("/jobs").await.json(), json!({"items": [], "next_cursor": null}));
    assert_eq!(app.get("/jobs?").await.json(), json!({"items": [], "next_cursor": null}));
}
