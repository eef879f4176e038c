//! Every query of the dashboards, asked of a real service after a real run.

use super::dashboards::dashboard_queries;
use crate::support::{nginx, service::Service};
use std::collections::BTreeMap;

#[test]
fn every_query_is_answered_with_the_columns_it_declares() {
    let (folder, nginx) = (tempfile::tempdir().expect("a folder"), nginx::start());
    let service = Service::start(folder.path());
    let document = serde_json::json!({
        "project": "shop & co", "scenario": "home page",
        "target": {"url": nginx.url("/"), "stub_status": nginx.stub_status_url()},
        "load": {"model": "closed", "connections": 4, "duration": "2s"},
        "labels": {"branch": "main", "commit": "4f2c9e1"}
    });
    // A step in the level, since one of the panels shows changes.
    for path in [["/large"; 8], ["/"; 8]].concat() {
        let mut brief = document.clone();
        brief["target"]["url"] = nginx.url(path).into();
        brief["load"]["duration"] = "300ms".into();
        service.run(&brief);
    }
    let runs = [service.run(&document), service.run(&document)];
    let [first, second] = runs.each_ref().map(|job| {
        assert_eq!(job["state"], "completed", "{job}");
        job["id"].as_str().expect("an id").to_owned()
    });
    let minute = |job: &serde_json::Value, key: &str, offset: i64| {
        let time: benchd_model::Timestamp =
            job[key].as_str().expect("a time").parse().expect("RFC 3339");
        (time.as_millis() + offset * 60_000).to_string()
    };
    let variables = BTreeMap::from([
        ("project", "shop & co".to_owned()),
        ("scenario", "home page".to_owned()),
        ("branch", "main".to_owned()),
        ("run", first.clone()),
        ("compare", format!("{first},{second}")),
        ("__timeFrom", minute(&runs[0], "started_at", -5)),
        ("__timeTo", minute(&runs[1], "finished_at", 1)),
    ]);
    let mut complaints = Vec::new();
    for query in dashboard_queries() {
        let target = query.target(&variables);
        let answer = service.get(&target);
        assert_eq!(answer.status, 200, "{}: {target}: {answer:?}", query.name);
        complaints.extend(query.complaints(&answer.json()));
        // A dashboard whose variables are not set yet shows nothing, not an error.
        let unset = query.target(&BTreeMap::new());
        assert_eq!(service.get(&unset).status, 200, "{}: {unset}", query.name);
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}
