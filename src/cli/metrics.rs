//! `benchd metrics`: what criteria may speak of.

use crate::args::MetricsArgs;
use crate::exit::Exit;
use crate::output;
use benchd_model::metrics::{self, Better, Metric};

/// Prints the catalogue.
pub(crate) fn list(args: &MetricsArgs) -> anyhow::Result<Exit> {
    let metrics = metrics::catalogue();
    let text = match args.format.as_str() {
        "json" => format!("{}\n", serde_json::to_string_pretty(&metrics)?),
        _ => table(&metrics),
    };
    output::print(&text)?;
    Ok(Exit::Pass)
}

fn table(metrics: &[Metric]) -> String {
    let width = |text: fn(&Metric) -> &str| metrics.iter().map(|m| text(m).len()).max();
    let name = width(|metric| &metric.name).unwrap_or(0);
    let unit = width(|metric| &metric.unit).unwrap_or(0).max("unit".len());
    let mut text = format!("{:name$}  {:unit$}  better   samples  meaning\n", "metric", "unit");
    for metric in metrics {
        let better = match metric.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "neither",
        };
        let samples = metric.min_samples.map_or_else(|| "N".to_owned(), |n| n.to_string());
        let (called, of, meaning) = (&metric.name, &metric.unit, &metric.meaning);
        text.push_str(&format!(
            "{called:name$}  {of:unit$}  {better:7}  {samples:>7}  {meaning}\n"
        ));
    }
    text.push_str(
        "\nWith fewer samples a criterion has no data, and does not pass. pN is any percentile and takes\n\
         1000 / min(N, 100 - N) samples: p50 20, p90 100, p99 1000, p99.9 10000.\n",
    );
    text
}
