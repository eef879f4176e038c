use crate::app::{TestApp, request};
use axum::body::Body;
use benchd_model::JobId;
use benchd_server::openapi_json;
use http::{Method, StatusCode};
use serde_json::Value;
use std::collections::BTreeSet;

fn document() -> Value {
    serde_json::from_str(&openapi_json()).unwrap()
}

/// Every operation: method, path, itself.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            found.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    found
}

#[test]
fn the_committed_document_is_what_the_code_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/openapi.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let same = committed == openapi_json();
    assert!(same, "openapi/openapi.json is stale: run `make openapi` and commit it");
}

#[test]
fn the_document_is_deterministic_and_31() {
    assert_eq!(openapi_json(), openapi_json());
    assert_eq!(document()["openapi"], "3.1.0");
    assert!(openapi_json().ends_with("}\n"));
}

#[tokio::test]
async fn every_documented_operation_exists() {
    let app = TestApp::new().await;
    for (method, path, _) in operations(&document()) {
        let filled = path.replace("{id}", &JobId::new().to_string()).replace("{name}", "projects");
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = app.send(request(method.clone(), &filled, &[], Body::empty())).await;
        assert_ne!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        let text = answer.text();
        assert!(!text.contains("\"code\":\"not_found\""), "{method} {path}: {text}");
    }
}

#[test]
fn every_route_of_the_contract_is_documented() {
    let documented: BTreeSet<String> = operations(&document())
        .into_iter()
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    let contract: BTreeSet<String> = [
        "GET /",
        "GET /baselines",
        "POST /baselines",
        "GET /baselines/{id}",
        "DELETE /baselines/{id}",
        "GET /docs",
        "GET /grafana/annotations",
        "GET /grafana/changes",
        "GET /grafana/latest",
        "GET /grafana/results",
        "GET /grafana/series",
        "GET /grafana/variables/{name}",
        "GET /healthz",
        "GET /history",
        "GET /jobs",
        "POST /jobs",
        "GET /jobs/{id}",
        "DELETE /jobs/{id}",
        "POST /jobs/{id}/cancel",
        "GET /jobs/{id}/events",
        "GET /jobs/{id}/gate",
        "POST /comparisons",
        "GET /comparisons/{id}",
        "GET /jobs/{id}/result",
        "GET /jobs/{id}/timeline",
        "GET /livez",
        "GET /metrics",
        "GET /metrics-catalogue",
        "GET /openapi.json",
        "GET /readyz",
    ]
    .map(ToOwned::to_owned)
    .into();
    assert_eq!(documented, contract);
}

#[test]
fn every_operation_is_described_whole() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let name = format!("{method} {path}");
        for part in ["summary", "description", "operationId"] {
            assert!(
                operation[part].as_str().is_some_and(|text| !text.is_empty()),
                "{name}: {part}"
            );
        }
        let parts = operation.as_object().unwrap();
        assert!(parts.values().all(|part| !part.is_null()), "{name}: {parts:?}");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{name}");
        assert!(ids.insert(operation["operationId"].to_string()), "{name}: the id is used twice");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["description"].is_string(), "{name}: {parameter}");
        }
        let in_path = path.matches('{').count();
        let described = operation["parameters"].as_array().into_iter().flatten();
        assert_eq!(described.filter(|p| p["in"] == "path").count(), in_path, "{name}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            check_response(&document, &format!("{name} {status}"), status, response);
        }
    }
}

fn check_response(document: &Value, name: &str, status: &str, response: &Value) {
    let resolved = match response["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => response,
    };
    assert!(resolved["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    if status < "400" {
        return;
    }
    let content = &resolved["content"]["application/problem+json"];
    assert_eq!(content["schema"]["$ref"], "#/components/schemas/Problem", "{name}");
    let examples = content["examples"].as_object().unwrap();
    assert!(!examples.is_empty(), "{name}: no code is named");
    for (code, example) in examples {
        assert_eq!(example["value"]["code"], *code, "{name}");
        assert_eq!(example["value"]["status"].to_string(), status, "{name}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let found = document.pointer(reference.trim_start_matches('#'));
                    assert!(found.is_some(), "{reference}");
                }
                fields.values().for_each(|field| walk(document, field));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(document, item)),
            _ => {}
        }
    }
    let document = document();
    walk(&document, &document);
}

#[test]
fn json_answers_have_examples_and_health_checks_need_no_token() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let open = ["/livez", "/readyz", "/healthz"].contains(&path.as_str());
        assert_eq!(operation["security"].is_array(), open, "{method} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let json = &response["content"]["application/json"];
            let generic = ["/", "/openapi.json", "/metrics-catalogue"].contains(&path.as_str());
            if json.is_object() && !generic {
                assert!(!json["example"].is_null(), "{method} {path} {status}");
            }
        }
    }
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[test]
fn examples_of_jobs_are_in_the_state_that_their_answer_says() {
    let document = document();
    for (path, method, status, state) in [
        ("/jobs", "post", "202", "queued"),
        ("/jobs", "post", "200", "completed"),
        ("/jobs/{id}/cancel", "post", "200", "cancelled"),
        ("/jobs/{id}/cancel", "post", "202", "running"),
    ] {
        let answer = &document["paths"][path][method]["responses"][status];
        let example = &answer["content"]["application/json"]["example"];
        assert_eq!(example["state"], state, "{method} {path} {status}");
    }
}

#[tokio::test]
async fn the_posted_examples_are_jobs_that_are_taken() {
    let app = TestApp::new().await;
    let document = document();
    let body = &document["paths"]["/jobs"]["post"]["requestBody"]["content"]["application/json"];
    for (name, example) in body["examples"].as_object().unwrap() {
        let answer = app.post(&example["value"]).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{name}: {}", answer.text());
    }
}
