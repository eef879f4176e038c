//! Reading a job document field by field, so that one answer names everything
//! that is wrong with it.

use super::fields::{
    Choices, Errors, Fields, check_text, escape, item_text, list, shown, string_map,
};
use super::pace::Pace;
use super::target::target;
use super::{
    FieldError, JobSpec, LoadSpec, OnInconclusive, Protocol, RequestSpec, TargetSpec, addresses,
    compare,
};
use crate::criteria::{Criterion, contradictions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most connections one job may ask for.
pub const MAX_CONNECTIONS: u32 = 100_000;
/// The most requests in flight on one connection.
pub const MAX_STREAMS: u32 = 1000;
/// The most generator threads one job may ask for.
pub const MAX_THREADS: u32 = 256;
/// The most trials one job may ask for.
pub const MAX_TRIALS: u32 = 100;

/// Requests in flight over all connections: each takes memory of its own.
const MAX_IN_FLIGHT: u64 = 1_000_000;
const MAX_REQUESTS: u64 = 10_000_000_000;
const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
const MAX_CRITERIA: usize = 50;
const MAX_LABELS: usize = 50;
const MAX_HEADERS: usize = 100;

/// Headers that the engine writes itself; a second one would change where a
/// response or a request ends.
const FRAMING_HEADERS: [&str; 8] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
];

impl JobSpec {
    /// Reads a job document. `named` resolves the name of a registered target.
    ///
    /// # Errors
    /// Everything that is wrong, in document order.
    pub fn parse(
        document: &Value,
        named: &dyn Fn(&str) -> Option<TargetSpec>,
    ) -> Result<Self, Vec<FieldError>> {
        let mut errors = Errors::default();
        let Some(mut fields) = Fields::of(document, "", &mut errors) else {
            return Err(errors.0);
        };
        let mut spec = Self {
            project: fields.name("project", &mut errors),
            scenario: fields.name("scenario", &mut errors),
            target: target(fields.take("target"), named, &mut errors),
            request: request(fields.take("request"), &mut errors),
            load: load(fields.take("load"), &mut errors),
            trials: fields.whole("trials", 1, u64::from(MAX_TRIALS), 1, &mut errors) as u32,
            compare: None,
            criteria: criteria(fields.take("criteria"), &mut errors),
            on_inconclusive: fields
                .choice("on_inconclusive", ON_INCONCLUSIVE, &mut errors)
                .unwrap_or_default(),
            labels: labels(fields.take("labels"), &mut errors),
        };
        spec.compare = compare::compare(document, &mut fields, named, &spec.load, &mut errors);
        if let Some(compare) = &spec.compare {
            spec.trials = 2 * compare.blocks;
        }
        addresses::check_sources(&spec.target, &spec.load.source_addresses, &mut errors);
        check_criteria(document.get("criteria"), &spec, &mut errors);
        fields.refuse_rest(&mut errors);
        if errors.0.is_empty() {
            compare::check_metric(&spec, &mut errors);
        }
        if errors.0.is_empty() { Ok(spec) } else { Err(errors.0) }
    }
}

const ON_INCONCLUSIVE: Choices<OnInconclusive> =
    &[("warn", OnInconclusive::Warn), ("fail", OnInconclusive::Fail)];
const PROTOCOLS: Choices<Protocol> =
    &[("http1", Protocol::Http1), ("http10", Protocol::Http10), ("h2", Protocol::H2)];

fn request(value: Option<&Value>, errors: &mut Errors) -> RequestSpec {
    let Some(mut fields) = value.and_then(|v| Fields::of(v, "/request", errors)) else {
        return RequestSpec::default();
    };
    let defaults = RequestSpec::default();
    let spec = RequestSpec {
        method: fields.text("method", errors).unwrap_or(defaults.method),
        headers: fields.map("headers", MAX_HEADERS, errors),
        body: fields.text("body", errors),
        body_base64: fields.text("body_base64", errors),
        expect_status: statuses(fields.take("expect_status"), errors)
            .unwrap_or(defaults.expect_status),
    };
    fields.refuse_rest(errors);
    check_method(&spec.method, errors);
    check_headers(&spec.headers, errors);
    check_body(&spec, errors);
    spec
}

fn statuses(value: Option<&Value>, errors: &mut Errors) -> Option<Vec<String>> {
    const POINTER: &str = "/request/expect_status";
    if value.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        errors.add(POINTER, "is empty: name at least one status, such as \"2xx\"");
    }
    let read = |item: &Value| {
        let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        let refusal =
            || format!("{} is no status: write one (\"304\") or a class (\"2xx\")", shown(item));
        is_status(&text).then_some(text).ok_or_else(refusal)
    };
    list(value, POINTER, read, errors)
}

fn check_method(method: &str, errors: &mut Errors) {
    if method.is_empty() || method.len() > 32 || !method.bytes().all(is_token_byte) {
        errors.add(
            "/request/method",
            &format!("{method:?} is no method: write one such as GET or POST"),
        );
    } else if method == "CONNECT" {
        errors.add("/request/method", "CONNECT opens a tunnel, which is no request to measure");
    }
}

fn check_headers(headers: &BTreeMap<String, String>, errors: &mut Errors) {
    let mut spellings: BTreeMap<String, &str> = BTreeMap::new();
    for (name, value) in headers {
        let pointer = format!("/request/headers/{}", escape(name));
        if let Some(other) = spellings.insert(name.to_ascii_lowercase(), name) {
            let why = format!("is the same field as {other:?}: give one of the two");
            errors.add(&pointer, &why);
        }
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            errors.add(&pointer, &format!("{name:?} is no header name"));
        } else if FRAMING_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            errors.add(
                &pointer,
                &format!(
                    "{name:?} is written by benchd itself: use load.keepalive and request.body"
                ),
            );
        } else if name.to_ascii_lowercase().starts_with("proxy-") {
            errors.add(
                &pointer,
                &format!("{name:?} is meant for proxies, and benchd speaks to the target itself"),
            );
        }
        if value.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f) {
            errors.add(
                &pointer,
                &format!("the value of {name:?} holds a control character, which none may"),
            );
        }
    }
}

fn check_body(spec: &RequestSpec, errors: &mut Errors) {
    use base64::Engine as _;
    let Some(encoded) = &spec.body_base64 else {
        return;
    };
    if spec.body.is_some() {
        errors.add("/request/body_base64", "stands beside request.body: give one of the two");
    }
    if base64::engine::general_purpose::STANDARD.decode(encoded).is_err() {
        errors.add("/request/body_base64", "is no base64 (standard alphabet, padded)");
    }
}

fn is_status(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 3
        && (b'1'..=b'5').contains(&bytes[0])
        && (&bytes[1..] == b"xx" || bytes[1..].iter().all(u8::is_ascii_digit))
}

const fn is_token_byte(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'^'..=b'z' | b'|' | b'~')
}

fn load(value: Option<&Value>, errors: &mut Errors) -> LoadSpec {
    let Some(mut fields) = value.and_then(|v| Fields::of(v, "/load", errors)) else {
        return LoadSpec::default();
    };
    let defaults = LoadSpec::default();
    let connections = u64::from(MAX_CONNECTIONS);
    let pace = Pace::read(&mut fields, errors);
    let mut spec = LoadSpec {
        model: pace.model,
        rate: pace.rate,
        arrivals: pace.arrivals,
        max_queued: pace.max_queued,
        connections: fields.whole(
            "connections",
            1,
            connections,
            u64::from(defaults.connections),
            errors,
        ) as u32,
        requests: fields.optional_whole("requests", 1, MAX_REQUESTS, errors),
        duration: fields.span("duration", Duration::from_millis(1), MAX_DURATION, errors),
        keepalive: fields.flag("keepalive", true, errors),
        warmup: fields.span("warmup", Duration::ZERO, MAX_DURATION, errors).unwrap_or_default(),
        timeout: fields
            .span("timeout", Duration::from_millis(1), MAX_TIMEOUT, errors)
            .unwrap_or(defaults.timeout),
        protocol: fields.choice("protocol", PROTOCOLS, errors).unwrap_or_default(),
        streams: fields.whole("streams", 1, u64::from(MAX_STREAMS), 1, errors) as u32,
        threads: fields.whole("threads", 1, u64::from(MAX_THREADS), 1, errors) as u32,
        source_addresses: addresses::sources(&mut fields, errors),
    };
    fields.refuse_rest(errors);
    check_streams(&spec, errors);
    if spec.requests.is_none() && spec.duration.is_none() {
        spec.duration = defaults.duration;
    }
    spec
}

/// What only HTTP/2 has, and what it has not.
fn check_streams(load: &LoadSpec, errors: &mut Errors) {
    let http2 = load.protocol == Protocol::H2;
    if load.streams > 1 && !http2 {
        errors.add(
            "/load/streams",
            "takes load.protocol \"h2\": HTTP/1 has one request at a time on a connection",
        );
    }
    let in_flight = u64::from(load.in_flight());
    if in_flight > MAX_IN_FLIGHT {
        errors.add(
            "/load/streams",
            &format!(
                "{} on each of {} connections are {in_flight} requests in flight: at most \
                 {MAX_IN_FLIGHT} in all",
                load.streams, load.connections
            ),
        );
    }
    if http2 && !load.keepalive {
        errors.add(
            "/load/keepalive",
            "HTTP/2 keeps its connections: leave it on, or measure new connections with \
             load.protocol \"http1\"",
        );
    }
}

fn criteria(value: Option<&Value>, errors: &mut Errors) -> Vec<String> {
    let read = |item: &Value| {
        let expression = item_text(item)?;
        Criterion::parse(expression).map(|_| expression.to_owned())
    };
    let criteria = list(value, "/criteria", read, errors).unwrap_or_default();
    if criteria.len() > MAX_CRITERIA {
        let many = criteria.len();
        errors.add("/criteria", &format!("holds {many} criteria: at most {MAX_CRITERIA}"));
    }
    criteria
}

/// What the criteria have to do with each other and with the load, as far as
/// that can be read.
fn check_criteria(value: Option<&Value>, spec: &JobSpec, errors: &mut Errors) {
    if errors.any_under("/load") || errors.any_under("/target") {
        return;
    }
    let items = value.and_then(Value::as_array).into_iter().flatten().enumerate();
    let read =
        |(place, item): (usize, &Value)| Some((place, Criterion::parse(item.as_str()?).ok()?));
    let criteria: Vec<(usize, Criterion)> = items.take(MAX_CRITERIA).filter_map(read).collect();
    for (place, why) in contradictions(&criteria, spec) {
        errors.add(&format!("/criteria/{place}"), &why);
    }
}

fn labels(value: Option<&Value>, errors: &mut Errors) -> BTreeMap<String, String> {
    let labels = string_map(value, "/labels", MAX_LABELS, errors);
    for (key, value) in &labels {
        let pointer = format!("/labels/{}", escape(key));
        if key.is_empty() || key.len() > 64 {
            errors.add(
                &pointer,
                &format!("{key:?} is no key of a label: one has 1 to 64 characters"),
            );
        }
        check_text(&pointer, value, errors);
    }
    labels
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
