//! The job document that a command line asks for.

use super::target;
use crate::args::{LoadArgs, RequestArgs, RunArgs};
use crate::exit::{Exit, Stop};
use anyhow::Context as _;
use serde_json::{Map, Value, json};

/// Builds the document: the file first, then the flags over it.
pub(crate) fn build(args: &RunArgs) -> anyhow::Result<Value> {
    let mut document = match &args.file {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?
        }
        None => json!({}),
    };
    let Some(root) = document.as_object_mut() else {
        return Err(Stop::error(Exit::Usage, "the job document is no JSON object"));
    };
    put(root, "project", args.judge.project.as_deref());
    put(root, "scenario", args.judge.scenario.as_deref());
    put(root, "trials", args.load.trials.as_ref());
    target::set(root, args)?;
    set_load(root, &args.load);
    set_request(root, &args.request)?;
    if !args.judge.criteria.is_empty() {
        root.insert("criteria".to_owned(), json!(args.judge.criteria));
    }
    set_labels(root, &args.judge.labels)?;
    Ok(document)
}

fn set_load(root: &mut Map<String, Value>, args: &LoadArgs) {
    let load = section(root, "load");
    // A rate makes an open loop, whatever the file says.
    put(load, "model", args.rate.is_some().then_some("open"));
    put(load, "rate", args.rate.as_ref());
    put(load, "arrivals", args.arrivals.as_deref());
    put(load, "max_queued", args.max_queued.as_ref());
    put(load, "connections", args.connections.as_ref());
    put(load, "requests", args.requests.as_ref());
    put(load, "duration", args.duration.as_deref());
    put(load, "keepalive", args.no_keepalive.then_some(false));
    put(load, "warmup", args.warmup.as_deref());
    put(load, "timeout", args.timeout.as_deref());
    put(load, "threads", args.threads.as_ref());
    put(load, "protocol", args.protocol.as_deref());
    if !args.source_addresses.is_empty() {
        put(load, "source_addresses", Some(&args.source_addresses));
    }
    put(load, "streams", args.streams.as_ref());
    drop_empty(root, "load");
}

fn set_request(root: &mut Map<String, Value>, args: &RequestArgs) -> anyhow::Result<()> {
    use base64::Engine as _;
    let body = args
        .body_file
        .as_ref()
        .map(|path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display())))
        .transpose()?;
    let request = section(root, "request");
    let method = args.method.clone().or_else(|| body.is_some().then(|| "POST".to_owned()));
    put(request, "method", method);
    put(request, "body_base64", body.map(|b| base64::engine::general_purpose::STANDARD.encode(b)));
    if !args.expect_status.is_empty() {
        put(request, "expect_status", Some(&args.expect_status));
    }
    let headers = section(request, "headers");
    for (index, field) in args.headers.iter().enumerate() {
        // Without its text, which may be a secret.
        let (name, value) = field.split_once(':').ok_or_else(|| {
            let message = format!("-H number {} is no header: write 'Name: value'", index + 1);
            Stop::error(Exit::Usage, message)
        })?;
        let name = name.trim();
        let earlier = args.headers[..index].iter().filter_map(|field| field.split_once(':'));
        if earlier.into_iter().any(|(other, _)| other.trim().eq_ignore_ascii_case(name)) {
            let message = format!("-H gives {name:?} twice: give it once");
            return Err(Stop::error(Exit::Usage, message));
        }
        // The file may spell it otherwise.
        headers.retain(|other, _| !other.eq_ignore_ascii_case(name));
        headers.insert(name.to_owned(), json!(value.trim()));
    }
    drop_empty(request, "headers");
    drop_empty(root, "request");
    Ok(())
}

fn set_labels(root: &mut Map<String, Value>, labels: &[String]) -> anyhow::Result<()> {
    let section = section(root, "labels");
    for (index, label) in labels.iter().enumerate() {
        let (key, value) = label.split_once('=').ok_or_else(|| {
            Stop::error(Exit::Usage, format!("--label {label:?} is no label: write KEY=VALUE"))
        })?;
        if labels[..index].iter().any(|other| other.split('=').next() == Some(key)) {
            let message = format!("--label gives {key:?} twice: give it once");
            return Err(Stop::error(Exit::Usage, message));
        }
        section.insert(key.to_owned(), json!(value));
    }
    drop_empty(root, "labels");
    Ok(())
}

/// The object at `key`, made when it is missing; what is no object there is
/// left for the parser to refuse.
pub(super) fn section<'a>(
    parent: &'a mut Map<String, Value>,
    key: &str,
) -> &'a mut Map<String, Value> {
    let value = parent.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made an object just above")
}

pub(crate) fn put<T: serde::Serialize>(
    object: &mut Map<String, Value>,
    key: &str,
    value: Option<T>,
) {
    if let Some(value) = value {
        object.insert(key.to_owned(), json!(value));
    }
}

pub(super) fn drop_empty(parent: &mut Map<String, Value>, key: &str) {
    if parent.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
        parent.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::build;
    use crate::args::{Cli, Command};
    use clap::Parser as _;
    use serde_json::{Value, json};

    fn document(line: &str) -> anyhow::Result<Value> {
        match Cli::try_parse_from(line.split(' '))?.command {
            Command::Run(args) => build(&args),
            other => anyhow::bail!("{other:?}"),
        }
    }

    #[test]
    fn flags_become_the_documented_job() {
        let built = document(
            "benchd run http://h/ -c 5 -n 100 --no-keepalive --stub-status http://h/s --criteria rps>1 \
             --criteria error_ratio<1% --label a=b=c -H X:y -m HEAD --warmup 2s --timeout 5s --trials 3",
        )
        .unwrap();
        assert_eq!(
            built,
            json!({
                "target": {"url": "http://h/", "stub_status": "http://h/s"},
                "load": {"connections": 5, "requests": 100, "keepalive": false, "warmup": "2s", "timeout": "5s"},
                "request": {"method": "HEAD", "headers": {"X": "y"}},
                "criteria": ["rps>1", "error_ratio<1%"],
                "labels": {"a": "b=c"},
                "trials": 3
            })
        );
    }

    #[test]
    fn a_rate_makes_an_open_loop() {
        assert_eq!(
            document("benchd run http://h/ --rate 0.5 --arrivals poisson --max-queued 7").unwrap(),
            json!({"target": {"url": "http://h/"},
                   "load": {"model": "open", "rate": 0.5, "arrivals": "poisson", "max_queued": 7}})
        );
        for rate in ["NaN", "inf", "fast", ""] {
            let refused = document(&format!("benchd run http://h/ --rate {rate}")).unwrap_err();
            assert!(refused.to_string().contains("such as 1000 or 0.5"), "{refused}");
        }
    }

    #[test]
    fn malformed_flags_are_refused() {
        assert!(document("benchd run http://h/ --label a").is_err());
        for twice in ["-H X:a -H x:b", "--label a=1 --label a=2"] {
            let refusal = document(&format!("benchd run http://h/ {twice}")).unwrap_err();
            assert!(refusal.to_string().contains("twice: give it once"), "{refusal}");
        }
        let refusal = document("benchd run http://h/ -H a:b -H Bearer=hunter2").unwrap_err();
        assert_eq!(refusal.to_string(), "-H number 2 is no header: write 'Name: value'");
        assert!(document("benchd run http://h/ --body-file /nonexistent/x").is_err());
    }
}
