//! `GET /jobs/{id}/result`.

use crate::aside::aside;
use crate::conditional::tagged_json;
use crate::config::App;
use crate::extract::{JobPath, RawQuery};
use crate::links::{shown, shown_result};
use crate::negotiate::{CSV, MARKDOWN, preferred};
use crate::params::Params;
use crate::problem::{ApiResult, Code, Problem};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::{Job, RunResult};
use benchd_report::{Format, Report, render};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue, VARY};

const FORMATS: [(&str, Format); 8] = [
    ("json", Format::Json),
    ("ab", Format::Ab),
    ("csv", Format::Csv),
    ("markdown", Format::Markdown),
    ("junit", Format::Junit),
    ("openmetrics", Format::OpenMetrics),
    ("load_performance", Format::LoadPerformance),
    ("hdr", Format::Hdr),
];

/// Get a result
///
/// What a finished job measured, with its evidence, validity and verdict. JSON,
/// unless `format` or `Accept` (`text/csv`, `text/markdown`) ask for something
/// else; `format` wins, and JSON wins whenever `Accept` names it.
#[utoipa::path(
    get,
    path = "/jobs/{id}/result",
    tag = "results",
    operation_id = "get_result",
    params(
        ("id" = uuid::Uuid, Path, description = "The job."),
        ("format" = Option<ResultFormat>, Query, description = "`json` (default), `ab` (the layout of ApacheBench), `csv` (the timeline), `markdown` (a short summary), `junit` (a test case for each criterion), `openmetrics` (GitLab's metrics report), `load_performance` (GitLab's load performance report) or `hdr` (the latencies as HdrHistogram prints them)."),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier JSON answer."),
    ),
    responses(
        (status = 200, description = "The result.", content(
            (RunResult = "application/json"),
            (String = "text/plain"),
            (String = "text/csv"),
            (String = "text/markdown"),
            (String = "application/xml"),
            (String = "application/openmetrics-text"),
        ), headers(("ETag" = String, description = "Of a JSON answer."))),
        (status = 304, description = "Nothing changed since the `ETag` given."),
        (status = 400, description = "`invalid_query`"),
        (status = 404, description = "`job_not_found`"),
        (status = 409, description = "`not_finished`: come back when it is; `no_result`: the job measured nothing, `detail` says why.", headers(
            ("Retry-After" = u32, description = "Seconds until it is worth asking again, while it is unfinished."),
        )),
    ),
)]
pub(crate) async fn result(
    State(app): State<App>,
    JobPath(id): JobPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let mut params = Params::strict(query.as_deref());
    let format = params.one_of("format", &FORMATS);
    params.finish()?;
    let format = format.unwrap_or_else(|| match preferred(&headers, &[CSV, MARKDOWN]) {
        Some(CSV) => Format::Csv,
        Some(MARKDOWN) => Format::Markdown,
        _ => Format::Json,
    });

    let job = super::find(&app, id).await?;
    if !job.state.is_finished() {
        return Err(not_finished(&job));
    }
    let Some(result) = app.store.result(id).await? else { return Err(no_result(&job)) };
    let (job, result) = (shown(job), shown_result(result));
    let mut response = if format == Format::Json {
        tagged_json(&headers, &result)
    } else {
        let recordings = app.store.recordings(id).await?;
        let content_type = HeaderValue::from_static(format.content_type());
        let text = aside(move || {
            render(format, &Report { job: &job, result: &result, recordings: &recordings })
        });
        ([(CONTENT_TYPE, content_type)], text.await).into_response()
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The formats of a result.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes the query parameter in the OpenAPI document")]
pub(crate) enum ResultFormat {
    Json,
    Ab,
    Csv,
    Markdown,
    Junit,
    #[schema(rename = "openmetrics")]
    OpenMetrics,
    LoadPerformance,
    Hdr,
}

fn not_finished(job: &Job) -> Problem {
    let detail =
        format!("job {} is {}: its result comes when it is finished", job.id, job.state.name());
    Problem::new(Code::NotFinished, detail).retry_soon()
}

fn no_result(job: &Job) -> Problem {
    let why = job.error.as_deref().unwrap_or("it ended before anything was measured");
    Problem::new(Code::NoResult, format!("job {} is {}: {why}", job.id, job.state.name()))
}
