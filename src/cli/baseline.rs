//! `benchd baseline`: which finished jobs others are compared with.

use crate::args::{BaselineCommand, ListArgs, RemoveArgs, SetArgs};
use crate::exit::{Exit, Stop};
use crate::output;
use crate::records::{Records, path, table};
use benchd_model::Timestamp;
use benchd_model::baseline::Baseline;
use benchd_model::spec::NewBaseline;
use benchd_store::{BaselineFilter, SetBaseline, Store};
use serde::Deserialize;

/// What a service lists.
#[derive(Deserialize)]
struct Listed {
    items: Vec<Baseline>,
}

pub(crate) async fn run(command: BaselineCommand) -> anyhow::Result<Exit> {
    match command {
        BaselineCommand::Set(args) => set(args).await?,
        BaselineCommand::List(args) => list(args).await?,
        BaselineCommand::Remove(args) => remove(args).await?,
    }
    Ok(Exit::Pass)
}

async fn set(args: SetArgs) -> anyhow::Result<()> {
    let wanted = NewBaseline { job: args.job, name: args.name, force: args.force };
    let baseline: Baseline = match Records::at(&args.place).await? {
        Records::Service(client) => client.post("baselines", &serde_json::json!(wanted)).await?,
        Records::Local(store) => put(&store, &wanted).await?,
    };
    if args.form.is_json() {
        return print_json(&baseline);
    }
    let Baseline { id, project, scenario, environment, name, job_id, .. } = baseline;
    output::print(&format!(
        "job {job_id} is the baseline {name:?} of {project} / {scenario} in environment \
         {environment}\nid {id}\n"
    ))
}

async fn put(store: &Store, wanted: &NewBaseline) -> anyhow::Result<Baseline> {
    let NewBaseline { job, name, force } = wanted;
    let why = match store.put_baseline(*job, name, *force, Timestamp::now()).await? {
        SetBaseline::Set(baseline) => return Ok(baseline),
        SetBaseline::NotPassed(job)
        | SetBaseline::NotFinished(job)
        | SetBaseline::NoResult(job) => job.why_no_baseline(),
        SetBaseline::NotFound => format!("no job has the id {job} in {}", store.describe()),
    };
    Err(Stop::error(Exit::Usage, why))
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    let ListArgs { project, scenario, form, place } = args;
    let items = match Records::at(&place).await? {
        Records::Service(client) => {
            let asked = [("project", project.as_deref()), ("scenario", scenario.as_deref())];
            client.json::<Listed>(&path("baselines", &asked)).await?.items
        }
        Records::Local(store) => {
            let filter = BaselineFilter { project, scenario, ..BaselineFilter::default() };
            store.baselines(&filter).await?
        }
    };
    if form.is_json() {
        return print_json(&items);
    }
    let row = |baseline: Baseline| {
        let Baseline { id, project, scenario, environment, name, job_id, set_at } = baseline;
        let (job, set, id) = (job_id.to_string(), set_at.to_string(), id.to_string());
        [project, scenario, name, environment, job, set, id]
    };
    let rows: Vec<_> = items.into_iter().map(row).collect();
    let titles = ["project", "scenario", "name", "environment", "job", "set at", "id"];
    output::print(&table(titles, &rows))
}

async fn remove(args: RemoveArgs) -> anyhow::Result<()> {
    let id = args.id;
    match Records::at(&args.place).await? {
        Records::Service(client) => client.delete(&format!("baselines/{id}")).await?,
        Records::Local(store) => {
            if !store.delete_baseline(id).await? {
                let why = format!("no baseline has the id {id} in {}", store.describe());
                return Err(Stop::error(Exit::Usage, why));
            }
        }
    }
    output::print(&format!("removed {id}\n"))
}

fn print_json<T: serde::Serialize>(document: &T) -> anyhow::Result<()> {
    output::print(&format!("{}\n", serde_json::to_string_pretty(document)?))
}
