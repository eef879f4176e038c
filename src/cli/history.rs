//! `benchd history`: the runs of a scenario, with marks where a level changed.

use crate::args::HistoryArgs;
use crate::exit::{Exit, Stop};
use crate::output;
use crate::records::{Records, path, table};
use benchd_model::criteria::six_digits;
use benchd_model::metrics;
use benchd_model::statistics::Strength;
use benchd_model::trend::{MAX_RUNS, Trend, TrendRun, keep_environment, trend};
use benchd_store::{JobFilter, Store};

pub(crate) async fn show(args: HistoryArgs) -> anyhow::Result<Exit> {
    let trend: Trend = match Records::at(&args.place).await? {
        Records::Service(client) => {
            let asked = [
                ("project", Some(args.project.as_str())),
                ("scenario", Some(args.scenario.as_str())),
                ("metric", Some(args.metric.as_str())),
                ("branch", args.branch.as_deref()),
                ("environment", args.environment.as_deref()),
            ];
            client.json(&path("history", &asked)).await?
        }
        Records::Local(store) => of_store(&store, &args).await?,
    };
    let text = if args.form.is_json() {
        format!("{}\n", serde_json::to_string_pretty(&trend)?)
    } else {
        if trend.runs.is_empty() {
            output::tell(format_args!(
                "no completed run of project {:?}, scenario {:?} is like this",
                trend.project, trend.scenario
            ));
        }
        shown(&trend)
    };
    output::print(&text)?;
    Ok(Exit::Pass)
}

async fn of_store(store: &Store, args: &HistoryArgs) -> anyhow::Result<Trend> {
    let usage = |why: String| Stop::error(Exit::Usage, format!("--metric: {why}"));
    metrics::metric(&args.metric).map_err(usage)?;
    let branch = args.branch.clone().map(|branch| ("branch".to_owned(), branch));
    let filter = JobFilter {
        project: Some(args.project.clone()),
        scenario: Some(args.scenario.clone()),
        labels: branch.into_iter().collect(),
        ..JobFilter::default()
    };
    let mut runs =
        store.completed_runs(&filter, MAX_RUNS, std::slice::from_ref(&args.metric)).await?;
    keep_environment(&mut runs, args.environment.as_deref());
    trend(&args.project, &args.scenario, &args.metric, &runs).map_err(usage)
}

fn shown(trend: &Trend) -> String {
    let mark = |place: usize| {
        if trend.environment_changes.contains(&place) {
            return "the environment changed".to_owned();
        }
        if trend.load_changes.contains(&place) {
            return "the load changed".to_owned();
        }
        let mut points = trend.change_points.iter();
        let Some(point) = points.find(|point| point.index == place) else { return String::new() };
        let pct = point.change_pct.map_or_else(
            || format!("from {}", six_digits(point.before)),
            |pct| format!("{pct:+.1} %"),
        );
        match point.strength {
            Strength::Strong => format!("changed by {pct}"),
            Strength::Weak => format!("perhaps changed by {pct}"),
        }
    };
    let row = |(place, run): (usize, &TrendRun)| {
        let value = run.value.map_or_else(String::new, |value| six_digits(value).to_string());
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        [
            run.time.to_string(),
            value,
            run.verdict.to_string(),
            text(&run.branch),
            text(&run.commit),
            run.environment.clone(),
            run.job_id.to_string(),
            mark(place),
        ]
    };
    let rows: Vec<_> = trend.runs.iter().enumerate().map(row).collect();
    let value = format!("{} ({})", trend.metric, trend.unit);
    let titles = ["ended", &value, "verdict", "branch", "commit", "environment", "job", "change"];
    table(titles, &rows)
}
