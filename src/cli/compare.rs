//! `benchd compare`: two loads measured in turns in one job, or finished jobs.

use crate::args::{CompareArgs, RunArgs};
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::run::document;
use crate::run::outputs::{Form, Outputs, json_text};
use crate::serve::read_token;
use crate::{local, run};
use benchd_model::comparing::{ComparedJobs, Comparing};
use benchd_model::policy::TargetPolicy;
use benchd_model::statistics::{Comparison, Decision};
use benchd_model::{FieldError, JobId};
use benchd_report::{Format, comparison_markdown, render_comparison};
use benchd_store::CompareError;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;

/// Compares what was asked for and delivers the comparison.
pub(crate) async fn compare(args: CompareArgs, policy: TargetPolicy) -> anyhow::Result<Exit> {
    let (request, run) = request(args)?;
    match Comparing::parse(&request).map_err(|errors| refusal(&errors))? {
        Comparing::Loads(document) => {
            let outputs = Outputs::prepare(&run)?.of_comparison();
            run::measure(&run, &document, policy, outputs).await
        }
        Comparing::Jobs(jobs) => of_jobs(&run, &request, &jobs).await,
    }
}

/// What to compare, as the API takes it, and the flags that a measurement needs.
fn request(args: CompareArgs) -> anyhow::Result<(Value, RunArgs)> {
    let CompareArgs {
        baseline,
        candidate,
        question,
        load,
        request,
        target,
        judge,
        output,
        sources,
    } = args;
    let (mut run, stub_status) = {
        let stub_status = target.stub_status.clone();
        let (url, file) = (None, None);
        (RunArgs { url, file, load, request, target, judge, output, sources }, stub_status)
    };
    let mut asked = Map::new();
    let (baseline, candidate) = match candidate {
        Some(candidate) => (Some(baseline), candidate),
        None => (None, baseline),
    };
    if let Some(text) = &baseline {
        run.target.stub_status = question.baseline_stub_status;
        let is_file = is_document(text);
        let mut side = side(&mut run, text)?;
        if let Some(document) = side.as_object_mut() {
            let counts = |key: &str| key == "target" || (is_file && key != "trials");
            document.retain(|key, _| counts(key));
        }
        asked.insert("baseline".to_owned(), side);
    } else if question.itself {
        asked.insert("baseline".to_owned(), json!({}));
    } else if finished(&candidate).is_none() {
        let message = "CANDIDATE: is missing: give a second load, or --self; only a finished job \
                       alone is compared, with the stored baseline";
        return Err(Stop::error(Exit::Usage, message));
    }
    run.target.stub_status = stub_status;
    asked.insert("candidate".to_owned(), side(&mut run, &candidate)?);
    document::put(&mut asked, "quick", question.quick.then_some(true));
    document::put(&mut asked, "metric", question.metric);
    document::put(&mut asked, "margin_pct", question.margin);
    document::put(&mut asked, "blocks", question.blocks);
    document::put(&mut asked, "seed", question.seed);
    document::put(&mut asked, "force", question.force.then_some(true));
    Ok((Value::Object(asked), run))
}

/// One side: ids of finished jobs, or the document of a load.
fn side(run: &mut RunArgs, text: &str) -> anyhow::Result<Value> {
    if let Some(ids) = finished(text) {
        return Ok(json!(ids));
    }
    (run.url, run.file) = match is_document(text) {
        true => (None, Some(text.into())),
        false => (Some(text.to_owned()), None),
    };
    document::build(run)
}

/// The ids of finished jobs, when it holds nothing else.
fn finished(text: &str) -> Option<Vec<&str>> {
    let ids: Vec<&str> = text.split(',').collect();
    ids.iter().all(|id| id.parse::<JobId>().is_ok()).then_some(ids)
}

/// A target is a URL or a name; what ends like this is a file.
fn is_document(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|extension| extension == "json")
        && !text.contains("://")
}

/// What is wrong with the request, by what was typed.
fn refusal(errors: &[FieldError]) -> anyhow::Error {
    let flag = |pointer: &str| match pointer {
        "/baseline" => Some("BASELINE"),
        "/candidate" => Some("CANDIDATE"),
        "/quick" => Some("--quick"),
        "/metric" => Some("--metric"),
        "/margin_pct" => Some("--margin"),
        "/blocks" => Some("--blocks"),
        "/seed" => Some("--seed"),
        _ => None,
    };
    let line = |error: &FieldError| match flag(&error.pointer) {
        Some(flag) => format!("{flag}: {}", error.detail),
        None => error.to_string(),
    };
    let lines: Vec<String> = errors.iter().map(line).collect();
    Stop::error(Exit::Usage, lines.join("\nbenchd: "))
}

async fn of_jobs(run: &RunArgs, request: &Value, jobs: &ComparedJobs) -> anyhow::Result<Exit> {
    let outputs = Outputs::prepare(run)?;
    let told =
        |(format, _): &Form| matches!(format, Format::Table | Format::Json | Format::Markdown);
    if let Some((format, _)) = outputs.forms().into_iter().find(|form| !told(form)) {
        let name = format.name();
        let message = format!("{name}: finished jobs are compared as table, json or markdown");
        return Err(Stop::error(Exit::Usage, message));
    }
    let comparison = match &run.output.server {
        Some(server) => {
            let client = Client::new(server, read_token(&run.output.token)?)?;
            client.post("comparisons", request).await?
        }
        None => {
            let store = local::open_store(run.output.database.database.as_deref()).await?;
            store.compare(jobs).await.map_err(not_compared)?
        }
    };
    let mut texts = HashMap::new();
    for form in outputs.forms() {
        let text = match form {
            (Format::Json, _) => json_text(&comparison)?,
            (Format::Markdown, _) => comparison_markdown(&comparison),
            (_, colour) => render_comparison(&comparison, colour),
        };
        texts.insert(form, text);
    }
    outputs.deliver(&texts)?;
    Ok(exit(&comparison))
}

fn not_compared(error: CompareError) -> anyhow::Error {
    match error {
        CompareError::Store(error) => anyhow::Error::new(error).context("the database failed"),
        other => Stop::error(Exit::Usage, other.to_string()),
    }
}

fn exit(comparison: &Comparison) -> Exit {
    match comparison.decision {
        Decision::NoRegression | Decision::Improvement => Exit::Pass,
        Decision::Regression => Exit::Fail,
        Decision::Inconclusive => Exit::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_document, request};
    use crate::args::{Cli, Command};
    use benchd_model::JobId;
    use clap::Parser as _;
    use serde_json::{Value, json};

    fn asked(line: &str) -> Value {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Command::Compare(args) => request(*args).unwrap().0,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_targets_share_the_flags_and_each_has_its_status_page() {
        let asked = asked(
            "benchd compare http://a/ http://b/ --quick --metric latency_p99_ms --margin 2.5 -c 7 \
             --stub-status http://b/s --baseline-stub-status http://a/s --no-keepalive",
        );
        let expected = json!({
            "baseline": {"target": {"url": "http://a/", "stub_status": "http://a/s"}},
            "candidate": {"target": {"url": "http://b/", "stub_status": "http://b/s"},
                          "load": {"connections": 7, "keepalive": false}},
            "quick": true, "metric": "latency_p99_ms", "margin_pct": 2.5
        });
        assert_eq!(asked, expected);
    }

    #[test]
    fn ids_are_finished_jobs_and_one_of_them_has_a_stored_baseline() {
        let [a, b] = [JobId::new(), JobId::new()];
        let two = asked(&format!("benchd compare {a},{b} {b} --force"));
        assert_eq!(two, json!({"baseline": [a, b], "candidate": [b], "force": true}));
        assert_eq!(asked(&format!("benchd compare {a}")), json!({"candidate": [a]}));
    }

    #[test]
    fn a_load_alone_is_compared_with_nothing() {
        let line = "benchd compare http://a/".split(' ');
        let Command::Compare(args) = Cli::try_parse_from(line).unwrap().command else { panic!() };
        let why = request(*args).unwrap_err().to_string();
        assert!(why.starts_with("CANDIDATE: is missing: give a second load, or --self"), "{why}");
    }

    #[test]
    fn a_target_is_compared_with_itself() {
        let itself = asked("benchd compare --self http://a/ --blocks 6");
        assert_eq!(
            itself,
            json!({"baseline": {}, "candidate": {"target": {"url": "http://a/"}}, "blocks": 6})
        );
    }

    #[test]
    fn a_document_of_a_baseline_brings_its_load() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.json");
        let document = json!({"target": {"url": "http://a/"}, "load": {"connections": 3}});
        std::fs::write(&path, document.to_string()).unwrap();
        let asked = asked(&format!("benchd compare {} http://b/", path.display()));
        assert_eq!(asked["baseline"], document);
        assert!(is_document("x/y.json") && !is_document("http://a/y.json"));
    }
}
