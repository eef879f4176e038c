//! The OpenAPI document: what the handlers say about themselves, and what is
//! true of all of them (errors, authentication, examples).

mod finish;

use crate::problem::ProblemDocument;
use crate::router::documented;
use utoipa::OpenApi;

/// The document as JSON, pretty, ending with a line break. The same build
/// always makes the same text.
#[must_use]
pub fn openapi_json() -> String {
    let described = documented().into_openapi();
    let mut document = serde_json::to_value(described).expect("an OpenAPI document is plain JSON");
    finish::finish(&mut document);
    document.sort_all_objects();
    let mut text = serde_json::to_string_pretty(&document).expect("JSON can be written");
    text.push('\n');
    text
}

/// The frame that handlers are added to.
pub(crate) fn base() -> utoipa::openapi::OpenApi {
    Base::openapi()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "benchd",
        description = "Benchmark-as-a-service for nginx and every other HTTP server: \
post a job, get a verdict you can trust.\n\n\
**A job.** `POST /jobs` answers `202` with a `Location`; wait with `Prefer: wait=50`, listen to \
`/jobs/{id}/events`, or ask `/jobs/{id}/gate` from a pipeline. The result, with its evidence, \
validity and verdict, is at `/jobs/{id}/result`.\n\n\
**Conventions.** Field names carry their unit (`_ms`, `_s`, `_bytes`, `_rps`, `_ratio` from 0 to 1). \
Durations going in are strings (`\"30s\"`, `\"500ms\"`), figures coming out are numbers. Times are \
RFC 3339, UTC, with milliseconds. Unknown fields and parameters are refused. `HEAD` works wherever \
`GET` does.\n\n\
**Errors** are `application/problem+json` (RFC 9457) with a stable `code`; `errors` points at every \
single thing that is wrong.\n\n\
**Access.** With a token every operation but the health checks needs `Authorization: Bearer`. Without \
one the service listens on loopback only, and answers no other host name.\n\n\
**Targets.** Load is a weapon: only loopback may be loaded until a target is registered in \
`benchd.toml`; link-local and metadata addresses never.",
        license(name = "MIT or Apache 2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "jobs", description = "Post, follow, cancel and delete measurements."),
        (name = "results", description = "What was measured, and whether it is good enough."),
        (name = "baselines", description = "Which finished jobs others are compared with."),
        (name = "comparisons", description = "What two loads, or two sets of jobs, say about each other."),
        (name = "grafana", description = "Flat rows for Grafana's Infinity plugin: bare arrays, ascending, every key always present."),
        (name = "service", description = "The service itself."),
    ),
    components(schemas(
        ProblemDocument,
        crate::api::jobs::result::ResultFormat,
        crate::api::jobs::timeline::TimelineFormat,
        crate::grafana::series::Axis,
        crate::grafana::series::Shape,
        crate::grafana::variables::VariableName,
    )),
)]
struct Base;
