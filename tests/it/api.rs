//! A job over HTTP, from the post to every form its result can take.

use crate::support::nginx;
use crate::support::service::Service;
use serde_json::{Value, json};

fn document(nginx: &benchd_tuning::ManagedNginx) -> Value {
    json!({
        "project": "shop", "scenario": "home page",
        "target": {"url": nginx.url("/index.html"), "stub_status": nginx.stub_status_url()},
        "request": {"method": "GET", "headers": {"Accept": "*/*"}},
        "load": {"model": "closed", "connections": 20, "requests": 10_000, "keepalive": true, "timeout": "30s"},
        "trials": 1,
        "criteria": ["latency_p99_ms < 5s", "goodput_rps > 1", "error_ratio < 0.1%"],
        "labels": {"branch": "main", "commit": "4f2c9e1"}
    })
}

#[test]
fn the_documented_job_runs_and_reads_back_in_every_format() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let posted = service.post("/jobs", &[], &document(&nginx).to_string());
    assert_eq!(posted.status, 202, "{posted:?}");
    let id = posted.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(posted.header("location"), Some(format!("/jobs/{id}").as_str()));
    assert!(posted.header("retry-after").is_some());
    assert_eq!(
        posted.header("content-type").map(|t| t.starts_with("application/json")),
        Some(true)
    );

    let job = service.finished(&id);
    assert_eq!((&job["state"], &job["verdict"]), (&json!("completed"), &json!("pass")), "{job:#}");
    for field in [
        "phase",
        "progress",
        "queue_position",
        "spec",
        "summary",
        "created_at",
        "started_at",
        "finished_at",
        "links",
    ] {
        assert!(job.get(field).is_some(), "{field}");
    }

    let result = service.get(&format!("/jobs/{id}/result")).json();
    assert_eq!(result["counts"]["ok"], 10_000);
    assert_eq!(result["status_codes"]["200"], 10_000);
    assert_eq!(result["server"]["stub_status"]["requests"], 10_000);
    assert_eq!(result["server"]["document_bytes"], 612);
    assert_eq!(result["bytes"]["body"], 6_120_000);
    assert_eq!(result["validity"]["reconciled"], true);

    let ab = service.get(&format!("/jobs/{id}/result?format=ab"));
    assert!(ab.body.contains("Complete requests:      10000\n"), "{}", ab.body);
    assert!(ab.body.contains("Document Length:        612 bytes\n"));
    let csv = service.get(&format!("/jobs/{id}/result?format=csv"));
    assert!(csv.body.starts_with("time,elapsed_s,"), "{}", csv.body);
    let markdown = service.get(&format!("/jobs/{id}/result?format=markdown"));
    assert!(markdown.body.contains("pass"), "{}", markdown.body);

    let events = service.get(&format!("/jobs/{id}/events"));
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert!(events.body.contains("finished"), "{}", events.body);

    let gate = service.get(&format!("/jobs/{id}/gate?wait=1"));
    assert_eq!(gate.status, 200);
    assert_eq!(service.post(&format!("/jobs/{id}/cancel"), &[], "").status / 100, 4);
    let deleted =
        crate::support::http::send(&service.address, "DELETE", &format!("/jobs/{id}"), &[], "");
    assert_eq!(deleted.status, 204);
    assert_eq!(service.get(&format!("/jobs/{id}")).status, 404);
}

#[test]
fn grafana_gets_flat_ascending_rows() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let mut first = document(&nginx);
    first["load"] = json!({"connections": 20, "duration": "2s", "timeout": "30s"});
    let ids: Vec<String> = [first, document(&nginx)]
        .iter()
        .map(|document| service.run(document)["id"].as_str().unwrap().to_owned())
        .collect();

    let series =
        service.get(&format!("/grafana/series?run_id={}&from=0&to=9999999999999", ids[0])).json();
    let timeline = service.get(&format!("/jobs/{}/timeline", ids[0])).json();
    let rows = series.as_array().unwrap();
    assert_eq!(rows.len(), timeline.as_array().unwrap().len());
    for (row, second) in rows.iter().zip(timeline.as_array().unwrap()) {
        assert_eq!(
            (&row["ok"], &row["latency_p99_ms"]),
            (&second["ok"], &second["latency_p99_ms"])
        );
        assert!(
            row.as_object().unwrap().values().all(|v| !v.is_object() && !v.is_array()),
            "{row}"
        );
    }
    let times: Vec<&str> = rows.iter().map(|row| row["time"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times[0].ends_with('Z'), "{times:?}");

    let results = service.get("/grafana/results?project=shop&scenario=home%20page").json();
    let runs: Vec<&str> =
        results.as_array().unwrap().iter().map(|r| r["run_id"].as_str().unwrap()).collect();
    assert_eq!(runs, ids);
    assert_eq!(results[0]["branch"], "main");
    let annotations = service.get("/grafana/annotations").json();
    assert_eq!(annotations.as_array().map(Vec::len), Some(2), "{annotations}");
    let projects = service.get("/grafana/variables/projects").json();
    assert_eq!(projects, json!([{"__text": "shop", "__value": "shop"}]));
    // A picker that has nothing to pick yet.
    assert_eq!(service.get("/grafana/series?run_id=").body.trim(), "[]");
    let metrics = service.get("/metrics").body;
    assert!(metrics.contains("scenario=\"home page\""), "{metrics}");
}

#[test]
fn the_smallest_job_is_done_to_the_whole() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let mut short = document(&nginx);
    short["load"] = json!({"connections": 2, "requests": 10});
    let job = service.run(&short);
    assert_eq!(job["progress"]["ratio"], 1.0, "{job:#}");
    assert_eq!(
        service.get("/jobs?state=completed").json()["items"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_replayed_key_answers_with_the_same_job() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let body = document(&nginx).to_string();
    let key = [("Idempotency-Key", "build-17")];
    let first = service.post("/jobs", &key, &body);
    let again = service.post("/jobs", &key, &body);
    assert_eq!((first.status, again.status), (202, 200));
    assert_eq!(first.json()["id"], again.json()["id"]);
    let other = service.post("/jobs", &key, &body.replace("4f2c9e1", "0000000"));
    assert_eq!(other.status, 422, "{other:?}");
}

#[test]
fn jobs_on_one_host_wait_for_each_other_and_a_queued_one_can_be_cancelled() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path());
    let mut long = document(&nginx);
    long["load"] = json!({"connections": 2, "duration": "60s"});
    let running = service.post("/jobs", &[], &long.to_string()).json();
    let running = running["id"].as_str().unwrap();
    service.measured(running, 1);
    let queued = service.post("/jobs", &[], &document(&nginx).to_string()).json();
    let queued = queued["id"].as_str().unwrap();
    let waiting = service.get(&format!("/jobs/{queued}")).json();
    assert_eq!((&waiting["state"], &waiting["queue_position"]), (&json!("queued"), &json!(0)));
    assert_eq!(service.get(&format!("/jobs/{queued}/result")).status, 409);
    assert_eq!(service.post(&format!("/jobs/{queued}/cancel"), &[], "").status / 100, 2);
    assert_eq!(service.finished(queued)["state"], "cancelled");

    assert_eq!(service.post(&format!("/jobs/{running}/cancel"), &[], "").status / 100, 2);
    let job = service.finished(running);
    assert_eq!((&job["state"], &job["verdict"]), (&json!("cancelled"), &json!("invalid")));
    let result = service.get(&format!("/jobs/{running}/result")).json();
    assert!(result["counts"]["ok"].as_u64().unwrap() > 0, "what was measured is kept");
    assert_eq!(result["ended"], "cancelled");
}

#[test]
fn bad_input_is_answered_with_a_problem_that_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let job = |field: Value| {
        let mut document = json!({"target": {"url": "http://127.0.0.1:1/"}});
        document.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
        document.to_string()
    };
    for (body, pointer) in [
        (job(json!({"load": {"connections": 0}})), "/load/connections"),
        (job(json!({"load": {"connections": "many"}})), "/load/connections"),
        (job(json!({"load": {"duration": 30}})), "/load/duration"),
        (job(json!({"load": {"speed": 1}})), "/load/speed"),
        (job(json!({"criteria": ["latency_p99 < 5"]})), "/criteria/0"),
        (job(json!({"request": {"headers": {"Host ": "x"}}})), "/request/headers/Host "),
        (job(json!({"trials": -1})), "/trials"),
        (job(json!({"labels": ["a"]})), "/labels"),
        (job(json!({"target": {"url": "gopher://x"}})), "/target/url"),
        (job(json!({"unknown": 1})), "/unknown"),
    ] {
        let answer = service.post("/jobs", &[], &body);
        assert_eq!(answer.status, 422, "{body}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.pointers(), [pointer], "{body}");
    }
    let problem = |answer: crate::support::http::Answer, status: u16| {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
        assert!(answer.json()["code"].is_string());
    };
    problem(service.post("/jobs", &[], "{not json"), 400);
    problem(
        service.post("/jobs", &[], &format!("{{\"project\":\"{}\"}}", "x".repeat(3_000_000))),
        413,
    );
    problem(service.get("/nowhere"), 404);
    problem(service.get("/jobs/not-a-uuid"), 404);
    problem(service.get("/jobs?colour=red"), 400);
    problem(service.get("/jobs?cursor=%00"), 400);
    problem(service.get("/jobs?state=sleeping"), 400);
    problem(service.post("/metrics", &[], ""), 405);
    let plain = crate::support::http::send(
        &service.address,
        "POST",
        "/jobs",
        &[("Content-Type", "text/plain")],
        "{}",
    );
    problem(plain, 415);
}

#[test]
fn targets_that_do_not_answer_as_they_should_end_in_the_right_class() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = closed.local_addr().unwrap();
    drop(closed);
    // The kernel accepts for it; nobody ever answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let babbling = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let babble = babbling.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in babbling.incoming().map_while(Result::ok).take(100) {
            use std::io::Write as _;
            let _peer_may_be_gone = (&stream).write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        }
    });
    for (address, class) in
        [(refused, "connect"), (silent.local_addr().unwrap(), "timeout"), (babble, "protocol")]
    {
        let job = service.run(&json!({
            "target": {"url": format!("http://{address}/")},
            "load": {"connections": 2, "requests": 4, "timeout": "200ms"},
        }));
        assert_eq!(
            (&job["state"], &job["verdict"]),
            (&json!("completed"), &json!("fail")),
            "{class}: {job:#}"
        );
        let result = service.get(&format!("/jobs/{}/result", job["id"].as_str().unwrap())).json();
        assert_eq!(
            (&result["counts"]["issued"], &result["counts"][class]),
            (&json!(4), &json!(4)),
            "{result:#}"
        );
        assert!(!result["failure_reasons"].as_object().unwrap().is_empty(), "{class}");
    }
}
