//! One result, every format. Pure: a job, its result and its recordings in,
//! text out. This crate knows no I/O, no SQL and no web server; whoever asks
//! for a report decides where it goes.

pub mod ab;
mod csv;
mod figures;
mod hdr;
mod junit;
mod load_performance;
mod markdown;
pub mod openmetrics;
mod table;

use benchd_model::{Job, RunResult, TrialRecording, arms, assemble, timeline};
use std::borrow::Cow;
use std::str::FromStr;

pub use csv::timeline as timeline_csv;
pub use markdown::comparison_markdown;
pub use table::{render_comparison, render_table, timeline_table};

/// The formats a result can be read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The result document itself.
    Json,
    /// The layout of Apache's `ab`.
    Ab,
    /// The timeline, one row a second: a result is a tree, and the part of it
    /// that is a table is its timeline.
    Csv,
    /// A short summary for a pull request or a job log.
    Markdown,
    /// Test cases for what shows test reports: one for each criterion.
    Junit,
    /// Gauges for GitLab's metrics report.
    OpenMetrics,
    /// k6's summary, for GitLab's load performance widget.
    LoadPerformance,
    /// The latency distribution as HdrHistogram prints it.
    Hdr,
    /// What a person reads in a terminal.
    Table,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 9] = [
        Self::Json,
        Self::Ab,
        Self::Csv,
        Self::Markdown,
        Self::Junit,
        Self::OpenMetrics,
        Self::LoadPerformance,
        Self::Hdr,
        Self::Table,
    ];

    /// The name that `?format=` and `--format` take.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ab => "ab",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Junit => "junit",
            Self::OpenMetrics => "openmetrics",
            Self::LoadPerformance => "load_performance",
            Self::Hdr => "hdr",
            Self::Table => "table",
        }
    }

    /// The media type of the rendered text.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::LoadPerformance => "application/json",
            Self::Junit => "application/xml",
            Self::OpenMetrics => openmetrics::CONTENT_TYPE,
            Self::Ab | Self::Hdr | Self::Table => "text/plain; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Markdown => "text/markdown; charset=utf-8",
        }
    }
}

/// A format name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no report format: one of {known}", known = Format::ALL.map(Format::name).join(", "))]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let named = Self::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// Everything a report may draw on.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was asked for; secrets already redacted.
    pub job: &'a Job,
    /// What came out.
    pub result: &'a RunResult,
    /// What it was computed from.
    pub recordings: &'a [TrialRecording],
}

/// Renders a result. The text ends with a line break, whatever the format.
#[must_use]
pub fn render(format: Format, report: &Report<'_>) -> String {
    match format {
        Format::Json => json(report.result),
        Format::Ab => ab_text(report),
        Format::Csv => csv::timeline(&rows(report)),
        Format::Markdown => markdown::render(report),
        Format::Junit => junit::render(report),
        Format::OpenMetrics => openmetrics::render(report),
        Format::LoadPerformance => load_performance::render(report),
        Format::Hdr => hdr::render(report),
        Format::Table => render_table(report, false),
    }
}

fn json(result: &RunResult) -> String {
    let mut text = serde_json::to_string_pretty(result)
        .expect("a result has string keys and plain values only, which JSON can hold");
    text.push('\n');
    text
}

fn ab_text(report: &Report<'_>) -> String {
    let recordings = judged(report);
    let ends: Vec<_> = recordings.iter().filter_map(|r| r.end.clone()).collect();
    let tally = assemble::total(&recordings);
    ab::AbReport::new(&report.job.spec, &tally, &ends, None).to_text()
}

/// What the result's figures are made from: of a job that compares, what was
/// recorded of its candidate.
fn judged<'a>(report: &Report<'a>) -> Cow<'a, [TrialRecording]> {
    let spec = &report.job.spec;
    if spec.compare.is_none() {
        return Cow::Borrowed(report.recordings);
    }
    let mut recordings = report.recordings.to_vec();
    arms::keep_candidate(report.job.id, spec, &mut recordings);
    Cow::Owned(recordings)
}

/// The timeline of every trial that the result is made from.
fn rows(report: &Report<'_>) -> Vec<benchd_model::TimelineRow> {
    timeline::all(&judged(report), &report.job.spec.load)
}
