//! `GET /jobs`.

use crate::config::App;
use crate::documents::JobList;
use crate::extract::RawQuery;
use crate::links::shown;
use crate::params::Params;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use benchd_model::{JobState, Verdict};
use benchd_store::{Cursor, JobFilter};
use http::header::{HeaderValue, LINK};
use url::form_urlencoded;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 1000;

/// List jobs
///
/// The history, newest first, a page at a time. Filters are joined by "and". A
/// parameter that is not known here is refused, so that a misspelt filter never
/// shows everything.
#[utoipa::path(
    get,
    path = "/jobs",
    tag = "jobs",
    operation_id = "list_jobs",
    params(
        ("project" = Option<String>, Query, min_length = 1, description = "The project.", example = "shop"),
        ("scenario" = Option<String>, Query, min_length = 1, description = "The scenario.", example = "home page"),
        ("target" = Option<String>, Query, min_length = 1, description = "The target's URL, its host, or the name it is registered under."),
        ("state" = Option<JobState>, Query, description = "The state."),
        ("verdict" = Option<Verdict>, Query, description = "The verdict."),
        ("label.KEY" = Option<String>, Query, description = "The value of label KEY, such as `label.branch=main`; may be given for several keys."),
        ("since" = Option<String>, Query, min_length = 1, description = "Posted at this time or later: RFC 3339 or epoch milliseconds.", example = "2026-11-30T00:00:00Z"),
        ("until" = Option<String>, Query, min_length = 1, description = "Posted before this time."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Jobs on a page; 50 when not given."),
        ("cursor" = Option<String>, Query, min_length = 1, description = "`next_cursor` of the page before."),
    ),
    responses(
        (status = 200, description = "A page.", body = JobList, headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, when there is one."),
        )),
        (status = 400, description = "`invalid_query`: `errors` lists every parameter that is wrong or unknown."),
    ),
)]
pub(crate) async fn list(State(app): State<App>, RawQuery(query): RawQuery) -> ApiResult<Response> {
    let mut params = Params::strict(query.as_deref());
    let filter = JobFilter {
        project: params.text("project"),
        scenario: params.text("scenario"),
        target: params.text("target"),
        state: params.parsed::<JobState>("state"),
        verdict: params.parsed::<Verdict>("verdict"),
        labels: params.labels(),
        since: params.parsed("since"),
        until: params.parsed("until"),
    };
    let limit = params.whole("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT);
    let after = params.parsed::<Cursor>("cursor");
    params.finish()?;

    let page = app.store.jobs(&filter, after, limit).await?;
    let next_cursor = page.next.map(|cursor| cursor.to_string());
    let link = next_cursor.as_deref().map(|cursor| next_link(query.as_deref(), cursor));
    let items = page.items.into_iter().map(shown).collect();
    let mut response = Json(JobList { items, next_cursor }).into_response();
    response.headers_mut().extend(link.map(|link| (LINK, link)));
    Ok(response)
}

/// The same query with another cursor.
fn next_link(query: Option<&str>, cursor: &str) -> HeaderValue {
    let mut next = form_urlencoded::Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if name != "cursor" {
            next.append_pair(&name, &value);
        }
    }
    next.append_pair("cursor", cursor);
    let link = format!("</jobs?{}>; rel=\"next\"", next.finish());
    HeaderValue::try_from(link).expect("a percent-encoded query is a header value")
}
