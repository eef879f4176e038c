use crate::app::{TestApp, at, promptly};
use crate::samples::job;
use benchd_model::job::Progress;
use benchd_model::{JobId, Phase};
use http::StatusCode;
use std::time::Duration;

#[tokio::test]
async fn a_running_job_tells_phase_and_progress() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let lease = app.claim(id).await;
    let progress = Progress {
        ratio: 0.5,
        trial: 1,
        trials: 1,
        elapsed_s: 1.5,
        issued: 30,
        ok: 29,
        errors: 1,
        rps: 20.0,
    };
    let lease_for = Duration::from_secs(60);
    app.store.heartbeat(&lease, at(1), lease_for, Some(Phase::Measuring), &progress).await.unwrap();
    let answer = app.get(&format!("/jobs/{id}")).await;
    let shown = answer.json();
    assert_eq!((&shown["state"], &shown["phase"]), (&"running".into(), &"measuring".into()));
    assert_eq!(shown["progress"]["ok"], 29);
    assert!(shown["queue_position"].is_null());
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn nothing_new_is_not_sent_again() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let path = format!("/jobs/{id}");
    let first = app.get(&path).await;
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() > 10, "a strong tag: {tag}");
    for known in [tag.clone(), format!("\"x\", {tag}"), format!("W/{tag}"), "*".into()] {
        let again = app.get_with(&path, &[("if-none-match", &known)]).await;
        assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
        assert_eq!(again.header("etag"), tag);
    }
    app.complete(id, 2, 5).await;
    let changed = app.get_with(&path, &[("if-none-match", &tag)]).await;
    assert_eq!(changed.json()["state"], "completed");
    assert_ne!(changed.header("etag"), tag);
    assert_eq!(changed.header("retry-after"), "");
}

#[tokio::test]
async fn a_wait_ends_when_the_state_changes() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let path = format!("/jobs/{id}");
    // The job runs and ends, so that the wait sees a change whenever it began.
    let (answer, _) = tokio::join!(
        promptly(app.get_with(&path, &[("prefer", "wait=50")])),
        app.complete(id, 1, 5)
    );
    assert_eq!(answer.header("preference-applied"), "wait=50");
    assert_ne!(answer.json()["state"], "queued");
}

#[tokio::test]
async fn a_finished_job_is_not_waited_for() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    app.complete(id, 2, 5).await;
    let path = format!("/jobs/{id}");
    let answer = promptly(app.get_with(&path, &[("prefer", "wait=50")])).await;
    assert_eq!(answer.json()["state"], "completed");
}

#[tokio::test]
async fn what_is_no_job_is_not_found() {
    let app = TestApp::new().await;
    let unknown = JobId::new();
    for id in [unknown.to_string().as_str(), "1", "abc", "..", "%2e", "%ff", "' OR 1=1", "null"] {
        let path = format!("/jobs/{}", id.replace(' ', "%20"));
        for rest in ["", "/result", "/timeline", "/events", "/gate"] {
            app.get(&format!("{path}{rest}")).await.problem(404, "job_not_found");
        }
    }
    app.get(&format!("/jobs/{unknown}?x=1")).await.problem(400, "invalid_query");
}
