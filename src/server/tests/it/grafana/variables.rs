use crate::app::TestApp;
use crate::samples::{job, job_with};
use serde_json::json;

#[tokio::test]
async fn what_there_is_can_be_chosen() {
    let app = TestApp::new().await;
    assert!(app.get("/grafana/variables/projects").await.rows().is_empty());
    let id = app.queue(&job()).await;
    app.complete(id, 1, 5).await;
    app.queue(&job_with(
        json!({"project": "blog", "scenario": "feed", "labels": {"branch": "dev"}}),
    ))
    .await;
    let choice = |name: &str| json!({"__text": name, "__value": name});
    for (path, expected) in [
        ("projects", vec!["blog", "shop"]),
        ("scenarios", vec!["feed", "home page"]),
        ("scenarios?project=shop", vec!["home page"]),
        ("branches?project=", vec!["dev", "main"]),
        ("branches?project=none", vec![]),
    ] {
        let rows = app.get(&format!("/grafana/variables/{path}")).await.rows();
        assert_eq!(rows, expected.into_iter().map(choice).collect::<Vec<_>>(), "{path}");
    }
    let runs = app.get("/grafana/variables/runs").await.rows();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["__value"], id.to_string());
    assert!(runs[0]["__text"].as_str().unwrap().contains("home page"));
}

#[tokio::test]
async fn other_variables_do_not_exist() {
    let app = TestApp::new().await;
    for name in ["colours", "Projects", "%ff"] {
        app.get(&format!("/grafana/variables/{name}")).await.problem(404, "not_found");
    }
    let answer = app.get("/grafana/variables/runs?scenario=x").await;
    assert_eq!(answer.pointers(400, "invalid_query"), ["/query/scenario"]);
}
