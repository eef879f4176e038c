//! `GET /jobs/{id}/events`.

use crate::config::App;
use crate::events;
use crate::extract::JobPath;
use crate::problem::{ApiResult, Code, Problem};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::JobId;
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Listen to a job
///
/// Server-sent events: `state`, `phase`, `second` (a timeline row) and, as the
/// last one, `finished`; `data` is JSON. The story is told from its beginning,
/// or after `Last-Event-ID`; a number beyond the last event means the last. A comment every 15 s keeps the connection open.
/// Who has heard everything gets `204`, on which a browser stops reconnecting.
#[utoipa::path(
    get,
    path = "/jobs/{id}/events",
    tag = "jobs",
    operation_id = "listen_to_job",
    params(
        ("id" = uuid::Uuid, Path, description = "The job."),
        ("Last-Event-ID" = Option<u64>, Header, minimum = 0, description = "The last event that was heard."),
    ),
    responses(
        (status = 200, description = "The events, as they happen. The stream ends after `finished`.",
         body = String, content_type = "text/event-stream",
         example = "id: 1\nevent: state\ndata: {\"state\":\"queued\"}\n\n"),
        (status = 204, description = "The job is finished and every event was heard."),
        (status = 400, description = "`invalid_header`: Last-Event-ID is no number."),
        (status = 404, description = "`job_not_found`"),
    ),
)]
pub(crate) async fn events(
    State(app): State<App>,
    JobPath(id): JobPath,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let job = super::find(&app, id).await?;
    let after = last_heard(&app, id, last_event_id(&headers)?).await?;
    let heard_everything = after > 0
        && job.state.is_finished()
        && app.store.events_after(id, after, 1).await?.is_empty();
    if heard_everything {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut response = events::stream(app, id, after).into_response();
    let fields = response.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx in front would otherwise hold events back until its buffer is full.
    fields.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// The last event there is when `number` is beyond it: who claims more would
/// otherwise hear nothing until the job gets there, and never its end.
async fn last_heard(app: &App, id: JobId, number: u64) -> ApiResult<u64> {
    let (mut there, mut sought) = (0, number);
    // Events are numbered without gaps, so that halving finds the last one.
    while there < sought {
        let tried = if sought == number { number } else { there + (sought - there).div_ceil(2) };
        if app.store.events_after(id, tried - 1, 1).await?.is_empty() {
            sought = tried - 1;
        } else {
            there = tried;
        }
    }
    Ok(there)
}

fn last_event_id(headers: &HeaderMap) -> ApiResult<u64> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(0) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse::<u32>().ok());
    number.map(u64::from).ok_or_else(|| {
        Problem::new(Code::InvalidHeader, "Last-Event-ID: the number of an event is expected")
    })
}
