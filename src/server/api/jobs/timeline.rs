//! `GET /jobs/{id}/timeline`.

use crate::aside::aside;
use crate::config::App;
use crate::extract::{JobPath, RawQuery};
use crate::negotiate::{CSV, preferred};
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::statistics::Arm;
use benchd_model::{TimelineRow, arms, timeline};
use benchd_report::timeline_csv;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue, VARY};

/// Get a timeline
///
/// One row a second of the measuring window, in order: what the client saw
/// beside what nginx counted. The rows sum up to the result. It may be read
/// while the job runs. Of a job that compares it has the candidate's trials; a
/// baseline's is asked for by its number. An array; CSV with `format=csv` or `Accept: text/csv`.
#[utoipa::path(
    get,
    path = "/jobs/{id}/timeline",
    tag = "results",
    operation_id = "get_timeline",
    params(
        ("id" = uuid::Uuid, Path, description = "The job."),
        ("trial" = Option<u32>, Query, minimum = 1, description = "Only this trial, from 1."),
        ("format" = Option<TimelineFormat>, Query, description = "`json` (default) or `csv`."),
    ),
    responses(
        (status = 200, description = "The rows so far.", content(
            (Vec<TimelineRow> = "application/json"),
            (String = "text/csv"),
        )),
        (status = 400, description = "`invalid_query`"),
        (status = 404, description = "`job_not_found`"),
    ),
)]
pub(crate) async fn timeline(
    State(app): State<App>,
    JobPath(id): JobPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let mut params = Params::strict(query.as_deref());
    let csv = params.one_of("format", &[("json", false), ("csv", true)]);
    let csv = csv.unwrap_or_else(|| preferred(&headers, &[CSV]).is_some());
    let job = super::find(&app, id).await?;
    let trial = params.whole("trial", 1..=job.spec.trials);
    params.finish()?;

    let mut recordings = app.store.recordings(id).await?;
    let arm = trial.map_or(Arm::B, |trial| job.spec.arm_of_trial(id, trial - 1));
    let load = job.spec.arm(arm).load;
    let mut response = aside(move || {
        match trial {
            Some(trial) => recordings.retain(|recording| recording.trial + 1 == trial),
            None => arms::keep_candidate(id, &job.spec, &mut recordings),
        }
        let rows = timeline::all(&recordings, &load);
        if csv {
            let content_type = HeaderValue::from_static("text/csv; charset=utf-8");
            ([(CONTENT_TYPE, content_type)], timeline_csv(&rows)).into_response()
        } else {
            Json(rows).into_response()
        }
    })
    .await;
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The formats of a timeline.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes the query parameter in the OpenAPI document")]
pub(crate) enum TimelineFormat {
    Json,
    Csv,
}
