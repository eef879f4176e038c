//! Errors as the API answers them: `application/problem+json` (RFC 9457) with a
//! stable `code`. The only place where errors of inner layers become statuses.

use crate::service::submit::SubmitError;
use axum::response::{IntoResponse, Response};
use benchd_model::{FieldError, Verdict};
use benchd_store::StoreError;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of problems.
pub(crate) const CONTENT_TYPE_PROBLEM: &str = "application/problem+json";

/// What went wrong, as clients may match on it. Codes are never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    AlreadyFinished,
    BadRequest,
    BaselineNotFound,
    BodyTooLarge,
    ComparesNothing,
    CrossOrigin,
    EnvironmentsDiffer,
    GateFailed,
    HeadersTooLarge,
    IdempotencyMismatch,
    Internal,
    InvalidBaseline,
    InvalidComparison,
    InvalidHeader,
    InvalidJob,
    InvalidQuery,
    JobNotFound,
    MalformedJson,
    MethodNotAllowed,
    NoBaseline,
    NotFinished,
    NotFound,
    NotPassed,
    NoResult,
    Pending,
    QueueFull,
    RequestTimeout,
    TargetRefused,
    Timeout,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
    UriTooLong,
    WrongHost,
}

impl Code {
    /// Every code.
    pub(crate) const ALL: [Self; 34] = [
        Self::AlreadyFinished,
        Self::BadRequest,
        Self::BaselineNotFound,
        Self::BodyTooLarge,
        Self::ComparesNothing,
        Self::CrossOrigin,
        Self::EnvironmentsDiffer,
        Self::GateFailed,
        Self::HeadersTooLarge,
        Self::IdempotencyMismatch,
        Self::Internal,
        Self::InvalidBaseline,
        Self::InvalidComparison,
        Self::InvalidHeader,
        Self::InvalidJob,
        Self::InvalidQuery,
        Self::JobNotFound,
        Self::MalformedJson,
        Self::MethodNotAllowed,
        Self::NoBaseline,
        Self::NotFinished,
        Self::NotFound,
        Self::NotPassed,
        Self::NoResult,
        Self::Pending,
        Self::QueueFull,
        Self::RequestTimeout,
        Self::TargetRefused,
        Self::Timeout,
        Self::Unauthorized,
        Self::Unavailable,
        Self::UnsupportedMediaType,
        Self::UriTooLong,
        Self::WrongHost,
    ];

    /// The name in `code`, the status and the title.
    const fn parts(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::AlreadyFinished => {
                ("already_finished", StatusCode::CONFLICT, "The job is already finished")
            }
            Self::BadRequest => ("bad_request", StatusCode::BAD_REQUEST, "Bad request"),
            Self::BaselineNotFound => {
                ("baseline_not_found", StatusCode::NOT_FOUND, "No such baseline")
            }
            Self::BodyTooLarge => {
                ("body_too_large", StatusCode::PAYLOAD_TOO_LARGE, "The body is too large")
            }
            Self::CrossOrigin => {
                ("cross_origin", StatusCode::FORBIDDEN, "A page of another origin may not do this")
            }
            Self::ComparesNothing => {
                ("compares_nothing", StatusCode::NOT_FOUND, "The job has no comparison")
            }
            Self::EnvironmentsDiffer => {
                ("environments_differ", StatusCode::CONFLICT, "The environments differ")
            }
            Self::InvalidComparison => (
                "invalid_comparison",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The comparison is invalid",
            ),
            Self::NoBaseline => ("no_baseline", StatusCode::CONFLICT, "There is no baseline"),
            Self::GateFailed => ("gate_failed", StatusCode::CONFLICT, "The gate is closed"),
            Self::HeadersTooLarge => (
                "headers_too_large",
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "The header is too large",
            ),
            Self::IdempotencyMismatch => (
                "idempotency_mismatch",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The Idempotency-Key belongs to another job",
            ),
            Self::Internal => {
                ("internal", StatusCode::INTERNAL_SERVER_ERROR, "Something broke inside benchd")
            }
            Self::InvalidBaseline => {
                ("invalid_baseline", StatusCode::UNPROCESSABLE_ENTITY, "The baseline is invalid")
            }
            Self::InvalidHeader => {
                ("invalid_header", StatusCode::BAD_REQUEST, "A header field is invalid")
            }
            Self::InvalidJob => {
                ("invalid_job", StatusCode::UNPROCESSABLE_ENTITY, "The job is invalid")
            }
            Self::InvalidQuery => {
                ("invalid_query", StatusCode::BAD_REQUEST, "The query is invalid")
            }
            Self::JobNotFound => ("job_not_found", StatusCode::NOT_FOUND, "No such job"),
            Self::MalformedJson => {
                ("malformed_json", StatusCode::BAD_REQUEST, "The body is no JSON")
            }
            Self::MethodNotAllowed => {
                ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED, "Method not allowed")
            }
            Self::NotFinished => ("not_finished", StatusCode::CONFLICT, "The job is not finished"),
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND, "Nothing is here"),
            Self::NotPassed => ("not_passed", StatusCode::CONFLICT, "The job did not pass"),
            Self::NoResult => ("no_result", StatusCode::CONFLICT, "The job has no result"),
            Self::Pending => {
                ("pending", StatusCode::SERVICE_UNAVAILABLE, "The job is not finished yet")
            }
            Self::QueueFull => ("queue_full", StatusCode::SERVICE_UNAVAILABLE, "The queue is full"),
            Self::RequestTimeout => (
                "request_timeout",
                StatusCode::REQUEST_TIMEOUT,
                "The request did not arrive in time",
            ),
            Self::TargetRefused => {
                ("target_refused", StatusCode::FORBIDDEN, "This target may not be loaded")
            }
            Self::Timeout => ("timeout", StatusCode::GATEWAY_TIMEOUT, "The answer took too long"),
            Self::Unauthorized => {
                ("unauthorized", StatusCode::UNAUTHORIZED, "A valid bearer token is required")
            }
            Self::Unavailable => {
                ("unavailable", StatusCode::SERVICE_UNAVAILABLE, "The service is not ready")
            }
            Self::UnsupportedMediaType => (
                "unsupported_media_type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The body must be application/json",
            ),
            Self::UriTooLong => {
                ("uri_too_long", StatusCode::URI_TOO_LONG, "The request target is too long")
            }
            Self::WrongHost => (
                "wrong_host",
                StatusCode::MISDIRECTED_REQUEST,
                "This host name is not answered here",
            ),
        }
    }

    /// The code as clients see it.
    pub(crate) const fn name(self) -> &'static str {
        self.parts().0
    }

    /// The code that stands for a bare status which some layer answered.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 => Self::RequestTimeout,
            413 => Self::BodyTooLarge,
            414 => Self::UriTooLong,
            415 => Self::UnsupportedMediaType,
            431 => Self::HeadersTooLarge,
            400..500 => Self::BadRequest,
            503 => Self::Unavailable,
            504 => Self::Timeout,
            _ => Self::Internal,
        }
    }
}

/// What went wrong (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument {
    /// Identifies the kind of problem: `urn:benchd:problem:` and the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:benchd:problem:invalid_job")]
    pub(crate) kind: String,
    /// What kind of problem it is, in words.
    #[schema(example = "The job is invalid")]
    pub(crate) title: String,
    /// The HTTP status.
    #[schema(example = 422, minimum = 400, maximum = 599)]
    pub(crate) status: u16,
    /// The kind again, short. Codes are stable: match on this.
    #[schema(example = "invalid_job")]
    pub(crate) code: String,
    /// What is wrong in this very case.
    #[schema(example = "1 field is invalid: /load/connections: 0 is too small")]
    pub(crate) detail: String,
    /// Everything that is wrong, by JSON pointer into the body; `/query/NAME`
    /// points at a query parameter and `/header/NAME` at a header field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<FieldError>,
    /// The verdict; only the gate says it, and only of a job that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
    /// One sentence on the outcome; only the gate says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
}

/// An error on its way out of a handler.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    document: ProblemDocument,
    headers: HeaderMap,
}

/// What handlers return.
pub(crate) type ApiResult<T> = Result<T, Problem>;

impl Problem {
    /// A problem of this kind, with what is wrong in this case.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let (name, status, title) = code.parts();
        let document = ProblemDocument {
            kind: format!("urn:benchd:problem:{name}"),
            title: title.to_owned(),
            status: status.as_u16(),
            code: name.to_owned(),
            detail: detail.into(),
            errors: Vec::new(),
            verdict: None,
            summary: None,
        };
        Self(Box::new(Parts { document, headers: HeaderMap::new() }))
    }

    /// A problem that lists its errors; the detail repeats them for people who
    /// read a log line.
    pub(crate) fn with_errors(code: Code, errors: Vec<FieldError>) -> Self {
        let listed: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let what = if errors.len() == 1 { "1 error" } else { &format!("{} errors", errors.len()) };
        let mut problem = Self::new(code, format!("{what}: {}", listed.join("; ")));
        problem.0.document.errors = errors;
        problem
    }

    /// The same problem with one more header field.
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.insert(name, value);
        self
    }

    /// The same problem under another status of its kind.
    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.0.document.status = status.as_u16();
        self
    }

    /// The same problem, asking the client to come back in a second.
    pub(crate) fn retry_soon(self) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// The same problem with a verdict and its summary.
    pub(crate) fn verdict(mut self, verdict: Option<Verdict>, summary: Option<String>) -> Self {
        self.0.document.verdict = verdict;
        self.0.document.summary = summary;
        self
    }

    /// The document, for examples and tests.
    pub(crate) fn document(self) -> ProblemDocument {
        self.0.document
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Parts { document, headers } = *self.0;
        let status =
            StatusCode::from_u16(document.status).expect("the status came from a StatusCode");
        let body = serde_json::to_vec(&document).expect("a problem is plain JSON");
        let mut response = (status, body).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE_PROBLEM));
        response.headers_mut().extend(headers);
        response
    }
}

impl From<StoreError> for Problem {
    /// An error of the store is logged here, once, and told without its cause.
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            tracing::warn!(%error, "the database does not answer");
            return Self::new(Code::Unavailable, "the database does not answer just now")
                .retry_soon();
        }
        tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
        Self::new(Code::Internal, "the database did not do its part; the log says why")
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Invalid(errors) => Self::with_errors(Code::InvalidJob, errors),
            SubmitError::Refused(refusal) => Self::new(Code::TargetRefused, refusal.to_string()),
            SubmitError::IdempotencyMismatch => Self::new(
                Code::IdempotencyMismatch,
                "this Idempotency-Key was used for another body; use a new key for a new job",
            ),
            SubmitError::QueueFull => Self::new(
                Code::QueueFull,
                "too many jobs are queued already; try again when some are done",
            )
            .header(RETRY_AFTER, HeaderValue::from_static("10")),
            SubmitError::Store(error) => error.into(),
        }
    }
}
