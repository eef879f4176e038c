//! `action.yml` and `docs/ci/gitlab.yml`, step by step, as a runner runs them.

use super::repository;
use crate::support::command::Ended;
use crate::support::nginx;
use crate::support::service::Service;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

type Variables = BTreeMap<String, String>;

fn yaml(path: &str) -> Value {
    let text = std::fs::read_to_string(repository(path)).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|why| panic!("{path}: {why}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Runs a script as a runner does, with nothing of the tester's environment.
fn shell(folder: &Path, script: &str, variables: &Variables) -> Ended {
    std::fs::write(folder.join("step.sh"), script).unwrap();
    let mut command = Command::new("sh");
    command.args(["-e", "step.sh"]).env_clear().current_dir(folder).envs(variables);
    command.output().expect("sh starts").into()
}

/// A folder of programs that has `benchd` under this name.
fn programs(folder: &Path, name: &str) -> PathBuf {
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_benchd"), programs.join(name)).unwrap();
    programs
}

fn path_with(programs: &Path) -> String {
    format!("{}:{}", programs.display(), std::env::var("PATH").unwrap())
}

/// What is between `${{` and `}}` replaced by its value.
fn filled(text: &str, values: &Variables) -> String {
    let mut parts = text.split("${{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("an expression has an end");
        let value = values.get(name.trim()).unwrap_or_else(|| panic!("{name} has no value"));
        filled.push_str(value);
        filled.push_str(rest);
    }
    filled
}

/// What came of the action: how its last step ended, and its outputs.
struct Acted {
    ended: Ended,
    outputs: Variables,
}

/// Runs the composite action with these inputs and variables.
fn act(folder: &Path, inputs: &[(&str, &str)], variables: &[(&str, &str)]) -> Acted {
    let action = yaml("action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    let mut values = Variables::new();
    for (name, input) in action["inputs"].as_object().unwrap() {
        values.insert(format!("inputs.{name}"), text(&input["default"]).to_owned());
        assert!(!text(&input["description"]).is_empty());
    }
    for (name, value) in inputs {
        let known = values.insert(format!("inputs.{name}"), (*value).to_owned());
        assert!(known.is_some(), "the action has no input {name}");
    }
    let mut last = None;
    for step in action["runs"]["steps"].as_array().unwrap() {
        assert_eq!(step["shell"], "sh");
        let output = folder.join("output");
        std::fs::write(&output, "").unwrap();
        let mut environment: Variables = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("XDG_DATA_HOME", folder.display().to_string()),
            ("GITHUB_ACTION_PATH", repository("").display().to_string()),
            ("GITHUB_OUTPUT", output.display().to_string()),
            ("GITHUB_STEP_SUMMARY", folder.join("summary.md").display().to_string()),
            ("RUNNER_TEMP", folder.display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in variables {
            environment.insert((*name).to_owned(), (*value).to_owned());
        }
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            environment.insert(name.clone(), filled(text(value), &values));
        }
        let ended = shell(folder, &filled(text(&step["run"]), &values), &environment);
        for line in read(&output).lines() {
            let (name, value) = line.split_once('=').expect("an output is NAME=VALUE");
            values.insert(format!("steps.{}.outputs.{name}", text(&step["id"])), value.to_owned());
        }
        let failed = ended.code != 0;
        last = Some(ended);
        if failed {
            break;
        }
    }
    let outputs = action["outputs"].as_object().unwrap().iter();
    let outputs = outputs.map(|(name, output)| {
        let absent = |name: &str| (name.to_owned(), String::new());
        let mut all: Variables = ["verdict", "result", "exit-code"]
            .map(|n| absent(&format!("steps.measure.outputs.{n}")))
            .into();
        all.extend(values.clone());
        (name.clone(), filled(text(&output["value"]), &all))
    });
    Acted { outputs: outputs.collect(), ended: last.expect("the action has steps") }
}

#[test]
fn the_action_measures_and_tells_verdict_result_and_summary() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (folder, url) = (folder.path(), nginx.url("/"));
    std::fs::write(folder.join("summary.md"), "what was there").unwrap();
    let acted = act(
        folder,
        &[
            ("url", &url),
            ("path", env!("CARGO_BIN_EXE_benchd")),
            ("criteria", "latency_p50_ms < 5s\n\n  rps > 1\n"),
            ("outputs", "junit=junit.xml\nopenmetrics=metrics.txt\n"),
        ],
        &[("BENCHD_REQUESTS", "300")],
    );
    assert_eq!(acted.ended.code, 0, "{}", acted.ended.stderr);
    assert_eq!((&*acted.outputs["verdict"], &*acted.outputs["exit-code"]), ("pass", "0"));
    let result: Value =
        serde_json::from_str(&read(&folder.join(&acted.outputs["result"]))).unwrap();
    assert_eq!(result["counts"]["ok"], 300);
    assert_eq!(result["criteria"].as_array().map(Vec::len), Some(3), "{}", result["criteria"]);
    let summary = read(&folder.join("summary.md"));
    assert!(summary.starts_with("what was there\n### benchd: pass, "), "{summary}");
    assert!(read(&folder.join("junit.xml")).contains("tests=\"3\""));
    assert!(read(&folder.join("metrics.txt")).ends_with("# EOF\n"));
}

#[test]
fn the_action_fails_by_the_verdict_and_hands_on_job_server_and_token() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    std::fs::write(folder.join("token"), "friend\n").unwrap();
    let service = Service::start_with(folder, &["--token-file", "token"]);
    let server = format!("http://{}", service.address);
    let job = json!({"target": {"url": nginx.url("/")}, "load": {"requests": 300, "connections": 2},
        "criteria": ["latency_p50_ms < 5s"]});
    std::fs::write(folder.join("job.json"), job.to_string()).unwrap();
    let programs = programs(folder, "benchd");
    let path = path_with(&programs);
    let run = |inputs: &[(&str, &str)]| {
        let all = [&[("job", "job.json"), ("server", &*server)], inputs].concat();
        act(folder, &all, &[("PATH", &path)])
    };
    let passed = run(&[("token", "friend")]);
    assert_eq!(
        (passed.ended.code, &*passed.outputs["verdict"]),
        (0, "pass"),
        "{}",
        passed.ended.stderr
    );
    let failed = run(&[("token", "friend"), ("criteria", "latency_p50_ms < 0.0001")]);
    assert_eq!((failed.ended.code, &*failed.outputs["verdict"]), (99, "fail"));
    assert_eq!(failed.outputs["exit-code"], "99");
    let undecided = run(&[("token", "friend"), ("criteria", "latency_p99.99_ms < 5s")]);
    assert_eq!((undecided.ended.code, &*undecided.outputs["verdict"]), (125, "inconclusive"));
    // What an earlier run left is nobody's verdict.
    let refused = run(&[("token", "foe")]);
    assert_eq!((refused.ended.code, &*refused.outputs["verdict"]), (2, ""));
    let summary = read(&folder.join("summary.md"));
    assert_eq!(summary.matches("### benchd: ").count(), 3, "{summary}");
    assert!(summary.contains(&format!("[job](<{server}/jobs/")), "{summary}");
}

#[test]
fn the_action_builds_its_own_benchd_where_there_is_none() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    // Stands in for cargo, which would take minutes: notes what it is asked for,
    // and installs the benchd that is built already.
    let programs = programs(folder, "built");
    let cargo = format!(
        "#!/bin/sh\nset -eu\necho \"$*\" >'{0}/asked'\nwhile [ \"$1\" != --root ]; do shift; done\n\
         mkdir -p \"$2/bin\"\ncp -L '{1}/built' \"$2/bin/benchd\"\n",
        folder.display(),
        programs.display()
    );
    std::fs::write(programs.join("cargo"), cargo).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(programs.join("cargo"), mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let url = nginx.url("/");
    let acted = act(folder, &[("url", &url)], &[("PATH", &path), ("BENCHD_REQUESTS", "300")]);
    assert_eq!(acted.ended.code, 0, "{}", acted.ended.stderr);
    let asked = read(&folder.join("asked"));
    let source = asked.split(' ').skip_while(|word| *word != "--path").nth(1).unwrap();
    assert!(
        asked.starts_with("install --locked ") && Path::new(source).join("Cargo.toml").exists()
    );
}

/// The GitLab template, run with these variables of the job beside its own.
fn gitlab(folder: &Path, variables: &[(&str, &str)]) -> (Ended, Value) {
    let template = yaml("docs/ci/gitlab.yml")[".benchd"].take();
    let given: Variables = [
        ("CI_PROJECT_PATH_SLUG", "team-shop"),
        ("CI_COMMIT_REF_NAME", "feature/x"),
        ("CI_COMMIT_SHA", "4f2c9e1"),
    ]
    .iter()
    .chain(variables)
    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
    .collect();
    let mut environment = given.clone();
    for (name, value) in template["variables"].as_object().unwrap() {
        let value = given.iter().fold(text(value).to_owned(), |value, (name, known)| {
            value.replace(&format!("${name}"), known)
        });
        assert!(!value.contains('$'), "{name}: {value}");
        environment.insert(name.clone(), value);
    }
    let lines: Vec<&str> = template["script"].as_array().unwrap().iter().map(text).collect();
    environment.insert("XDG_DATA_HOME".to_owned(), folder.display().to_string());
    (shell(folder, &lines.join("\n"), &environment), template)
}

#[test]
fn the_gitlab_template_leaves_every_artifact_it_names() {
    let (nginx, folder) = (nginx::start(), tempfile::tempdir().unwrap());
    let (folder, url) = (folder.path(), nginx.url("/"));
    let path = path_with(&programs(folder, "benchd"));
    for (criteria, code, verdict) in [
        ("latency_p50_ms < 5s; error_ratio < 0.1%", 0, "pass"),
        ("latency_p50_ms < 0.0001", 99, "fail"),
        ("latency_p99.99_ms < 5s", 125, "inconclusive"),
    ] {
        let (ended, template) = gitlab(
            folder,
            &[
                ("PATH", &path),
                ("BENCHD_URL", &url),
                ("BENCHD_CRITERIA", criteria),
                ("BENCHD_REQUESTS", "300"),
            ],
        );
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        // Only what is neither pass nor fail is a warning.
        assert_eq!(template["allow_failure"], json!({"exit_codes": [125]}));
        let artifacts = &template["artifacts"];
        assert_eq!(artifacts["when"], "always");
        let report = |kind: &str| read(&folder.join(text(&artifacts["reports"][kind])));
        assert!(report("junit").contains(&format!("value=\"{verdict}\"")));
        assert!(report("metrics").contains("benchd_latency_seconds{project=\"team-shop\""));
        let widget: Value = serde_json::from_str(&report("load_performance")).unwrap();
        assert!(widget["metrics"]["http_req_waiting"]["p(95)"].is_number(), "{widget}");
        for path in artifacts["paths"].as_array().unwrap() {
            let result: Value = serde_json::from_str(&read(&folder.join(text(path)))).unwrap();
            assert_eq!(result["verdict"], verdict);
        }
    }
}
