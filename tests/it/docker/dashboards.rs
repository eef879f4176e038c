//! The dashboards: their queries are listed, so that each can be asked of a real
//! API and its declared columns compared with the rows that come back.

use super::{DATA_SOURCE, PLUGIN, docker, list, read, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// A column as a query declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The key in a row.
    pub(crate) selector: String,
    /// `timestamp`, `number` or `string`.
    pub(crate) kind: String,
}

/// One query of a dashboard: a panel's, a variable's or an annotation's.
#[derive(Clone, Debug)]
pub(crate) struct DashboardQuery {
    /// Dashboard and panel, for messages.
    pub(crate) name: String,
    /// The path it asks for.
    pub(crate) path: String,
    /// Its parameters, with Grafana's variables in them.
    pub(crate) params: Vec<(String, String)>,
    /// `table`, `timeseries` or `dataframe`.
    pub(crate) format: String,
    /// What it makes of a row.
    pub(crate) columns: Vec<Column>,
}

impl DashboardQuery {
    /// Path and query string with `variables` put in as Grafana does it: by
    /// name (`run`, `project`, `__timeFrom` …), whatever format is asked for.
    /// Variables that are not given become empty.
    pub(crate) fn target(&self, variables: &BTreeMap<&str, String>) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.params {
            query.append_pair(name, &interpolated(value, variables));
        }
        format!("{}?{}", self.path, query.finish())
    }

    /// What is wrong with `rows`, the parsed answer, for this query; nothing
    /// when every row has every declared column in its declared type.
    pub(crate) fn complaints(&self, rows: &Value) -> Vec<String> {
        let Some(rows) = rows.as_array().filter(|rows| !rows.is_empty()) else {
            return vec![format!("{}: no rows in {rows}", self.name)];
        };
        let mut found = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            for Column { selector, kind } in &self.columns {
                let fits = match row.get(selector) {
                    None => false,
                    Some(Value::Null) => kind != "timestamp",
                    Some(Value::Number(_)) => kind == "number",
                    Some(Value::String(text)) => {
                        kind == "string" || (kind == "timestamp" && is_rfc3339(text))
                    }
                    Some(_) => false,
                };
                if !fits {
                    found.push(format!(
                        "{}: row {index} has no {kind} {selector:?}: {row}",
                        self.name
                    ));
                }
            }
        }
        let times: Vec<&str> = rows.iter().filter_map(|row| row["time"].as_str()).collect();
        if !times.is_sorted() {
            found.push(format!("{}: rows do not ascend in time: {times:?}", self.name));
        }
        found
    }
}

/// Every query of every dashboard.
pub(crate) fn dashboard_queries() -> Vec<DashboardQuery> {
    dashboards().iter().flat_map(|(_, dashboard)| queries_of(dashboard)).collect()
}

fn queries_of(dashboard: &Value) -> Vec<DashboardQuery> {
    let title = text(dashboard, "title");
    let panels = list(&dashboard["panels"]).iter().flat_map(|panel| {
        let name = format!("{title} / {}", text(panel, "title"));
        list(&panel["targets"]).iter().map(move |target| query(name.clone(), target))
    });
    let variables = list(&dashboard["templating"]["list"])
        .iter()
        .filter(|variable| variable["type"] == "query")
        .map(|variable| {
            let name = format!("{title} / variable {}", text(variable, "name"));
            query(name, &variable["query"]["infinityQuery"])
        });
    let annotations = list(&dashboard["annotations"]["list"]).iter().map(|annotation| {
        query(format!("{title} / annotation {}", text(annotation, "name")), &annotation["target"])
    });
    panels.chain(variables).chain(annotations).collect()
}

fn query(name: String, target: &Value) -> DashboardQuery {
    for (key, expected) in [("type", "json"), ("source", "url"), ("parser", "backend")] {
        assert_eq!(target[key], expected, "{name}: {key}");
    }
    let params = list(&target["url_options"]["params"]);
    let columns = list(&target["columns"])
        .iter()
        .map(|column| Column { selector: text(column, "selector"), kind: text(column, "type") });
    DashboardQuery {
        path: text(target, "url"),
        params: params.iter().map(|param| (text(param, "key"), text(param, "value"))).collect(),
        format: text(target, "format"),
        columns: columns.collect(),
        name,
    }
}

/// Replaces `${name}` and `${name:format}`.
fn interpolated(value: &str, variables: &BTreeMap<&str, String>) -> String {
    let mut done = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}').expect("a variable ends with a brace");
        let name = inside.split(':').next().unwrap_or(inside);
        done.push_str(before);
        done.push_str(variables.get(name).map_or("", String::as_str));
        rest = behind;
    }
    done + rest
}

fn is_rfc3339(text: &str) -> bool {
    text.contains('T') && text.parse::<benchd_model::Timestamp>().is_ok()
}

fn dashboards() -> Vec<(PathBuf, Value)> {
    let folder = docker().join("grafana/dashboards");
    let entries = fs::read_dir(&folder).expect("the dashboards' folder can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let parsed = serde_json::from_str(&read(&path));
            let dashboard = parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path, dashboard)
        })
        .collect()
}

/// Every value under `key`, at any depth.
fn everywhere<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| everywhere(item, key, found)),
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|field| everywhere(field, key, found));
        }
        _ => {}
    }
}

#[test]
fn dashboards_are_classic_and_find_their_data_source_without_being_asked() {
    let mut uids = BTreeSet::new();
    for (path, dashboard) in dashboards() {
        let shown = path.display();
        assert!(dashboard.get("__inputs").is_none(), "{shown}");
        assert!(
            dashboard.get("apiVersion").is_none() && dashboard.get("spec").is_none(),
            "{shown}"
        );
        assert!(
            dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 39),
            "{shown}"
        );
        assert!(uids.insert(text(&dashboard, "uid")), "{shown}: the uid is taken");
        let variables = list(&dashboard["templating"]["list"]);
        let source = variables.iter().find(|variable| variable["type"] == "datasource");
        let source =
            source.unwrap_or_else(|| panic!("{shown} has no variable for its data source"));
        assert_eq!(
            (&source["query"], &source["current"]["value"]),
            (&PLUGIN.into(), &DATA_SOURCE.into())
        );
        let mut used = Vec::new();
        everywhere(&dashboard, "datasource", &mut used);
        assert!(!used.is_empty());
        for reference in used {
            assert_eq!(reference["uid"], format!("${{{}}}", text(source, "name")), "{shown}");
        }
        let mut panels = BTreeSet::new();
        for panel in list(&dashboard["panels"]) {
            assert!(panels.insert(panel["id"].as_u64()), "{shown}: an id is there twice");
            assert_eq!(list(&panel["targets"]).len(), 1, "{shown}: {}", panel["title"]);
        }
    }
    assert_eq!(uids.into_iter().collect::<Vec<_>>(), ["benchd-run", "benchd-trend"]);
}

#[test]
fn every_column_is_typed_and_time_is_a_timestamp() {
    let queries = dashboard_queries();
    assert!(queries.len() >= 15, "{}", queries.len());
    for query in &queries {
        let name = &query.name;
        assert!(query.path.starts_with("/grafana/"), "{name}: {}", query.path);
        assert!(!query.columns.is_empty(), "{name}");
        for Column { selector, kind } in &query.columns {
            let is_time = selector == "time" || selector == "timeEnd";
            assert_eq!(kind == "timestamp", is_time, "{name}: {selector} is {kind}");
            assert!(["timestamp", "number", "string"].contains(&kind.as_str()), "{name}: {kind}");
        }
        if query.format == "timeseries" {
            assert_eq!(query.columns[0].selector, "time", "{name}");
        }
    }
    for path in ["series", "results", "annotations", "variables/projects", "variables/runs"] {
        let path = format!("/grafana/{path}");
        assert!(queries.iter().any(|query| query.path == path), "no query of {path}");
    }
}

#[test]
fn every_variable_in_a_query_is_one_of_the_dashboard() {
    for (path, dashboard) in dashboards() {
        let variables = list(&dashboard["templating"]["list"]);
        let mut known: Vec<String> =
            variables.iter().map(|variable| text(variable, "name")).collect();
        known.extend(["__timeFrom".to_owned(), "__timeTo".to_owned()]);
        for query in queries_of(&dashboard) {
            for (_, value) in &query.params {
                let Some(name) = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'))
                else {
                    continue;
                };
                let name = name.split(':').next().unwrap_or(name);
                assert!(known.iter().any(|known| known == name), "{}: {name}", path.display());
            }
        }
    }
}

#[test]
fn the_timeline_shows_columns_that_its_rows_have() {
    let mut recording = benchd_model::TrialRecording { started_us: Some(0), ..Default::default() };
    recording.seconds.push(benchd_model::SecondRecord::default());
    recording.seconds[0].tally.span_us = 1_000_000;
    let rows = serde_json::to_value(benchd_model::timeline::all(&[recording], &Default::default()))
        .expect("rows");
    let wide = |query: &&DashboardQuery| {
        query.path == "/grafana/series" && !query.params.iter().any(|(key, _)| key == "shape")
    };
    let queries = dashboard_queries();
    let complaints: Vec<String> =
        queries.iter().filter(wide).flat_map(|query| query.complaints(&rows)).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn a_query_is_put_together_and_its_rows_are_judged() {
    let column =
        |selector: &str, kind: &str| Column { selector: selector.into(), kind: kind.into() };
    let query = DashboardQuery {
        name: "a panel".into(),
        path: "/grafana/results".into(),
        params: vec![
            ("project".into(), "${project}".into()),
            ("runs".into(), "${compare:csv}".into()),
        ],
        format: "table".into(),
        columns: vec![
            column("time", "timestamp"),
            column("rps", "number"),
            column("branch", "string"),
        ],
    };
    let variables = BTreeMap::from([("project", "a & b".to_owned())]);
    assert_eq!(query.target(&variables), "/grafana/results?project=a+%26+b&runs=");
    let row =
        |time: &str, rps: Value| serde_json::json!({"time": time, "rps": rps, "branch": null});
    let (early, late) = ("2026-11-30T14:00:01.000Z", "2026-11-30T14:00:02.000Z");
    let judged = |rows: Vec<Value>| query.complaints(&Value::Array(rows)).len();
    assert_eq!(judged(vec![row(early, 1.into()), row(late, Value::Null)]), 0);
    assert_eq!(judged(vec![row(late, 1.into()), row(early, 1.into())]), 1);
    assert_eq!(judged(vec![row("soon", 1.into())]), 1);
    assert_eq!(judged(vec![row(early, "1".into())]), 1);
    assert_eq!(judged(vec![serde_json::json!({"time": early, "rps": 1})]), 1);
    assert_eq!(judged(Vec::new()), 1);
}
