//! What is true of every operation is said here once, not by each handler: the
//! errors of the layers around it, the shape of problems, the security scheme
//! and the examples.

use crate::examples;
use crate::problem::{Code, Problem};
use benchd_model::FieldError;
use benchd_model::statistics::Design;
use serde_json::{Map, Value, json};

/// Operations that answer without the database.
const WITHOUT_DATABASE: [&str; 5] = ["livez", "index", "openapi", "docs", "list_metrics"];

/// Documents that always show all of their fields.
const COMPLETE: [&str; 17] = [
    "Annotation",
    "BaselineList",
    "Choice",
    "Comparison",
    "Gate",
    "Index",
    "Job",
    "JobList",
    "LatestRow",
    "LevelChange",
    "LongRow",
    "Progress",
    "ResultRow",
    "RunResult",
    "TimelineRow",
    "Trend",
    "TrendRun",
];

/// Completes the document.
pub(super) fn finish(document: &mut Value) {
    let paths = document["paths"].as_object_mut().expect("there are paths");
    for operations in paths.values_mut() {
        for (method, operation) in operations.as_object_mut().expect("a path has operations") {
            plain_parameters(operation);
            refer_to_shared_responses(method, operation);
            problem_bodies(operation);
            add_examples(operation);
        }
    }
    let components = &mut document["components"];
    components["responses"] = shared_responses();
    components["securitySchemes"]["bearer"] = json!({
        "type": "http",
        "scheme": "bearer",
        "description": "The token that the service was started with (`--token-file`)."
    });
    target_by_name(&mut components["schemas"]);
    for name in COMPLETE {
        all_required(&mut components["schemas"][name]);
    }
    // Both shapes are arrays, and an empty one is either.
    let rows =
        components["schemas"]["SeriesRows"].as_object_mut().expect("series rows are described");
    let shapes = rows.remove("oneOf").expect("rows have two shapes");
    rows.insert("anyOf".to_owned(), shapes);
    // A service without a token, on loopback, asks for none.
    document["security"] = json!([{"bearer": []}, {}]);
}

/// A parameter may be left out, but there is no way to write null in a query.
fn plain_parameters(operation: &mut Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let schema = &mut parameter["schema"];
        if let Some(types) = schema["type"].as_array() {
            schema["type"] = types.iter().find(|t| *t != "null").cloned().unwrap_or_default();
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let real = choices.iter().find(|choice| choice["type"] != "null").cloned();
            *schema = real.unwrap_or_default();
        }
    }
}

/// What the layers around every handler may answer: name, status, description.
const SHARED: [(&str, &str, &str); 8] = [
    ("Unauthorized", "401", "`unauthorized`: the bearer token is missing or wrong."),
    ("CrossOrigin", "403", "`cross_origin`: a web page of another origin sent this."),
    ("UriTooLong", "414", "`uri_too_long`: more than 8 KiB."),
    ("WrongHost", "421", "`wrong_host`: without a token only loopback host names are answered."),
    ("HeadersTooLarge", "431", "`headers_too_large`: more than 16 KiB."),
    ("Internal", "500", "`internal`: something broke; the log says what."),
    ("Unavailable", "503", "`unavailable`: the database does not answer just now."),
    ("Timeout", "504", "`timeout`: no answer within 75 s."),
];

fn refer_to_shared_responses(method: &str, operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let needs_token = operation["security"].is_null();
    let responses = operation["responses"].as_object_mut().expect("there are responses");
    for (name, status, _) in SHARED {
        let applies = match name {
            "Unauthorized" => needs_token,
            "CrossOrigin" => method == "post" || method == "delete",
            "Unavailable" => !WITHOUT_DATABASE.contains(&id.as_str()),
            _ => true,
        };
        if applies {
            let shared = json!({"$ref": format!("#/components/responses/{name}")});
            responses.entry(status).or_insert(shared);
        }
    }
}

fn shared_responses() -> Value {
    let mut responses = json!({});
    for (name, status, description) in SHARED {
        responses[name] = json!({"description": description});
        if status == "401" {
            responses[name]["headers"]["WWW-Authenticate"] =
                json!({"description": "`Bearer`", "schema": {"type": "string"}});
        }
        problem_body(&mut responses[name]);
    }
    responses
}

/// Every error has the same shape.
fn problem_bodies(operation: &mut Value) {
    let responses = operation["responses"].as_object_mut().expect("there are responses");
    let errors = responses.iter_mut().filter(|(status, _)| status.as_str() >= "400");
    errors.filter(|(_, response)| response["$ref"].is_null()).for_each(|(_, r)| problem_body(r));
}

/// Its examples are the codes that the description names.
fn problem_body(response: &mut Value) {
    let description = response["description"].as_str().unwrap_or_default();
    let examples: Map<String, Value> = codes_in(description)
        .map(|code| (code.name().to_owned(), json!({"value": example_of(code)})))
        .collect();
    response["content"] = json!({"application/problem+json": {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": examples
    }});
}

/// The codes that stand in backticks.
fn codes_in(description: &str) -> impl Iterator<Item = Code> + '_ {
    let quoted = description.split('`').skip(1).step_by(2);
    quoted.filter_map(|word| Code::ALL.into_iter().find(|code| code.name() == word))
}

fn example_of(code: Code) -> Value {
    let error = |pointer: &str, detail: &str| {
        vec![FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() }]
    };
    let problem = match code {
        Code::InvalidJob => Problem::with_errors(
            code,
            error("/load/connections", "0 is too small: a whole number from 1 to 100000"),
        ),
        Code::InvalidQuery => Problem::with_errors(
            code,
            error("/query/limit", "\"0\" is no whole number from 1 to 1000"),
        ),
        Code::MalformedJson => Problem::new(code, "line 1, column 12: expected value"),
        Code::TargetRefused => Problem::new(
            code,
            "shop.example (93.184.216.34) is refused: only loopback targets may be loaded until \
             the target is registered under [[targets]] in benchd.toml",
        ),
        Code::GateFailed => Problem::new(code, "latency_p99_ms < 5 is violated: 12.4").verdict(
            Some(benchd_model::Verdict::Fail),
            Some("latency_p99_ms < 5 is violated: 12.4".into()),
        ),
        Code::InvalidBaseline => {
            Problem::with_errors(code, error("/job", "\"latest\" is no job id: job ids are UUIDs"))
        }
        Code::JobNotFound => Problem::new(code, format!("no job has the id {}", examples::id())),
        other => Problem::new(other, "one sentence on this very case"),
    };
    json!(problem.document())
}

fn add_examples(operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let queued = || json!(examples::queued());
    let running = || json!(examples::running());
    let completed = || json!(examples::completed());
    let responses: Vec<(&str, Value)> = match id.as_str() {
        "create_job" => {
            operation["requestBody"]["content"]["application/json"]["examples"] = json!({
                "complete": {"summary": "Every part", "value": examples::posted()},
                "smallest": {"summary": "The least there is", "value": examples::smallest()}
            });
            vec![("202", queued()), ("200", completed())]
        }
        "list_jobs" => vec![("200", json!({"items": [completed()], "next_cursor": null}))],
        "get_job" => vec![("200", running())],
        "cancel_job" => vec![("200", json!(examples::cancelled())), ("202", running())],
        "get_result" => vec![("200", json!(examples::result()))],
        "get_timeline" | "grafana_series" => vec![("200", json!([examples::timeline_row()]))],
        "ask_gate" => vec![("200", gate())],
        "set_baseline" => {
            operation["requestBody"]["content"]["application/json"]["example"] =
                json!({"job": examples::id(), "name": "default"});
            vec![("201", json!(examples::baseline()))]
        }
        "list_baselines" => vec![("200", json!({"items": [examples::baseline()]}))],
        "get_baseline" => vec![("200", json!(examples::baseline()))],
        "grafana_results" => vec![("200", grafana_results())],
        "grafana_annotations" => vec![("200", grafana_annotations())],
        "grafana_changes" => vec![("200", json!(examples::changes()))],
        "get_history" => vec![("200", json!(examples::trend()))],
        "grafana_variables" => {
            vec![("200", json!([{"__text": "home page", "__value": "home page"}]))]
        }
        "grafana_latest" => vec![(
            "200",
            json!([{"project": "shop", "scenario": "home page", "branch": "main", "value": 4.16}]),
        )],
        "create_comparison" => {
            operation["requestBody"]["content"]["application/json"]["examples"] = json!({
                "loads": {"summary": "Measure two targets", "value": examples::compared_loads()},
                "jobs": {"summary": "Compare finished jobs", "value": {
                    "baseline": examples::earlier_id(), "candidate": examples::id(), "metric": "rps"
                }}
            });
            vec![("202", queued()), ("200", json!(examples::comparison(Design::Historical)))]
        }
        "get_comparison" => vec![("200", json!(examples::comparison(Design::Paired)))],
        "livez" | "readyz" | "healthz" => vec![("200", json!({"status": "ok"}))],
        _ => Vec::new(),
    };
    for (status, example) in responses {
        operation["responses"][status]["content"]["application/json"]["example"] = example;
    }
}

fn gate() -> Value {
    let (job, result) = (examples::completed(), examples::result());
    json!({
        "job_id": job.id, "state": job.state, "verdict": job.verdict, "summary": job.summary,
        "criteria": result.criteria, "links": job.links
    })
}

fn grafana_results() -> Value {
    let row = crate::grafana::results::row(&examples::completed(), &examples::result());
    json!([row])
}

fn grafana_annotations() -> Value {
    let annotation =
        crate::grafana::annotations::annotation(&examples::completed(), &examples::result());
    json!([annotation])
}

/// A job may name a registered target instead of describing one.
fn target_by_name(schemas: &mut Value) {
    let target = &mut schemas["JobSpec"]["properties"]["target"];
    *target = json!({
        "description": "The server under test, or the name of a registered target.",
        "oneOf": [
            {"$ref": "#/components/schemas/TargetSpec"},
            {"type": "string", "description": "The name of a registered target."}
        ]
    });
}

fn all_required(schema: &mut Value) {
    let names = schema["properties"].as_object().map(|fields| fields.keys().cloned());
    schema["required"] = names.into_iter().flatten().collect();
}
