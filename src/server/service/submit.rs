//! Taking a job in: the spec is checked, its target is resolved and checked
//! against the policy, and the store queues it.

use benchd_model::policy::{Refusal, RegisteredTarget, TargetPolicy};
use benchd_model::spec::TargetSpec;
use benchd_model::statistics::Arm;
use benchd_model::{FieldError, Job, JobId, JobSpec, Timestamp};
use benchd_store::{Idempotency, NewJob, Store, StoreError};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::time::Duration;
use url::{Host, Url};

/// How long a name may take to resolve.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a job was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    /// These fields are wrong.
    #[error("the job is invalid")]
    Invalid(Vec<FieldError>),
    /// The policy forbids the target.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The key stands for another body.
    #[error("the idempotency key belongs to another job")]
    IdempotencyMismatch,
    /// There are too many queued jobs.
    #[error("the queue is full")]
    QueueFull,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// A job that was taken.
pub(crate) struct Submitted {
    pub(crate) job: Job,
    /// True when an earlier request with the same key had made it.
    pub(crate) replayed: bool,
}

/// Takes the job that `document` describes. With `key`, the same document makes
/// one job however often it is sent.
pub(crate) async fn submit(
    store: &Store,
    policy: &TargetPolicy,
    document: &Value,
    key: Option<String>,
    now: Timestamp,
) -> Result<Submitted, SubmitError> {
    let spec = parse(policy, document)?;
    check_targets(policy, &spec).await?;
    let idempotency = key.map(|key| Idempotency { key, body_hash: fingerprint(&spec) });
    let target_host = spec.target_host();
    let new = NewJob { id: JobId::new(), spec, target_host, created_at: now, idempotency };
    match store.create_job(new).await {
        Ok(created) => Ok(Submitted { job: created.job, replayed: created.replayed }),
        Err(StoreError::IdempotencyMismatch) => Err(SubmitError::IdempotencyMismatch),
        Err(StoreError::QueueFull(_)) => Err(SubmitError::QueueFull),
        Err(error) => Err(SubmitError::Store(error)),
    }
}

fn parse(policy: &TargetPolicy, document: &Value) -> Result<JobSpec, SubmitError> {
    let named = |name: &str| policy.named(name).map(RegisteredTarget::spec);
    let mut errors = Vec::new();
    find_nul(document, &mut String::new(), &mut errors);
    match JobSpec::parse(document, &named) {
        Ok(spec) if errors.is_empty() => Ok(spec),
        Ok(_) => Err(SubmitError::Invalid(errors)),
        Err(found) => {
            errors.retain(|nul| found.iter().all(|error| error.pointer != nul.pointer));
            errors.extend(found);
            Err(SubmitError::Invalid(errors))
        }
    }
}

/// NUL characters are legal JSON, but no text of a database holds them.
fn find_nul(value: &Value, pointer: &mut String, errors: &mut Vec<FieldError>) {
    let mut refuse = |pointer: &str| {
        let detail = "a NUL character is in the text; binary bodies go into body_base64".to_owned();
        errors.push(FieldError { pointer: pointer.to_owned(), detail });
    };
    match value {
        Value::String(text) if text.contains('\0') => refuse(pointer),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                descend(pointer, &index.to_string(), |pointer| find_nul(item, pointer, errors));
            }
        }
        Value::Object(fields) => {
            if fields.keys().any(|name| name.contains('\0')) {
                refuse(pointer);
            }
            for (name, field) in fields {
                let step = name.replace('~', "~0").replace('/', "~1");
                descend(pointer, &step, |pointer| find_nul(field, pointer, errors));
            }
        }
        _ => {}
    }
}

fn descend(pointer: &mut String, step: &str, visit: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(step);
    visit(pointer);
    pointer.truncate(length);
}

/// Checks every URL that the job would make this host talk to, and the limits
/// of its targets. The worker resolves and checks again before it loads.
async fn check_targets(policy: &TargetPolicy, spec: &JobSpec) -> Result<(), SubmitError> {
    let mut errors = Vec::new();
    for arm in spec.arms() {
        let place = if *arm == Arm::A { "/compare/baseline" } else { "" };
        let found = check_target(policy, &spec.arm(*arm)).await?;
        errors.extend(found.into_iter().map(|FieldError { pointer, detail }| FieldError {
            pointer: format!("{place}{pointer}"),
            detail,
        }));
    }
    if errors.is_empty() { Ok(()) } else { Err(SubmitError::Invalid(errors)) }
}

async fn check_target(
    policy: &TargetPolicy,
    spec: &JobSpec,
) -> Result<Vec<FieldError>, SubmitError> {
    let mut errors = Vec::new();
    let target = &spec.target;
    let load = check_load(policy, target).await;
    let page = match &target.stub_status {
        Some(page) => check_url(policy, page).await,
        None => Ok(()),
    };
    for (pointer, found) in [("/target/url", load), ("/target/stub_status", page)] {
        match found {
            Ok(()) => {}
            Err(Check::Refused(refusal)) => return Err(refusal.into()),
            Err(Check::Unreachable(detail)) => {
                errors.push(FieldError { pointer: pointer.to_owned(), detail });
            }
        }
    }
    errors.extend(policy.over_limit(&spec.target, &spec.load));
    Ok(errors)
}

enum Check {
    Refused(Refusal),
    Unreachable(String),
}

/// Checks wherever the load would go.
async fn check_load(policy: &TargetPolicy, target: &TargetSpec) -> Result<(), Check> {
    if let Some(path) = &target.unix_socket {
        return policy.check_unix_socket(path).map_err(Check::Refused);
    }
    if target.resolve.is_empty() {
        return check_url(policy, &target.url).await;
    }
    policy.check_given(&parse_url(&target.url)?, &target.resolve).map_err(Check::Refused)
}

async fn check_url(policy: &TargetPolicy, text: &str) -> Result<(), Check> {
    let url = parse_url(text)?;
    let addresses = resolve(&url).await.map_err(Check::Unreachable)?;
    policy.check(&url, &addresses).map_err(Check::Refused)
}

fn parse_url(text: &str) -> Result<Url, Check> {
    let no_url = |error| Check::Unreachable(format!("{text:?} is no URL: {error}"));
    Url::parse(text).map_err(no_url)
}

/// Every address of the URL's host, or a sentence on why there is none.
async fn resolve(url: &Url) -> Result<Vec<IpAddr>, String> {
    let name = match url.host() {
        Some(Host::Ipv4(address)) => return Ok(vec![address.into()]),
        Some(Host::Ipv6(address)) => return Ok(vec![address.into()]),
        Some(Host::Domain(name)) => name,
        None => return Err("the URL has no host".to_owned()),
    };
    let port = url.port_or_known_default().unwrap_or(80);
    let lookup = tokio::net::lookup_host((name, port));
    match tokio::time::timeout(RESOLVE_TIMEOUT, lookup).await {
        Ok(Ok(addresses)) => Ok(addresses.map(|address| address.ip()).collect()),
        Ok(Err(error)) => Err(format!("{name:?} does not resolve: {error}")),
        Err(_) => Err(format!("{name:?} did not resolve within {} s", RESOLVE_TIMEOUT.as_secs())),
    }
}

/// Equal for documents that ask for the same, however they are written.
fn fingerprint(spec: &JobSpec) -> Vec<u8> {
    let canonical = serde_json::to_vec(spec).expect("a spec is plain JSON");
    Sha256::digest(&canonical).to_vec()
}
