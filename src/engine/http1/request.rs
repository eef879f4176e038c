//! A request as bytes, built once per run.

use crate::plan::{HeaderDefaults, Plan};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use benchd_model::spec::Protocol;
use url::Url;

/// The request of `plan`, head and body, as it goes over the wire.
pub(crate) fn request_bytes(plan: &Plan) -> Vec<u8> {
    let head = match &plan.request.defaults {
        HeaderDefaults::Benchd => benchd_head(plan),
        HeaderDefaults::Ab { before, content_type } => {
            ab_head(plan, before, content_type.as_deref())
        }
    };
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&plan.request.body);
    bytes
}

fn benchd_head(plan: &Plan) -> String {
    let request = &plan.request;
    let given = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let version = match plan.protocol {
        Protocol::Http1 => "1.1",
        Protocol::Http10 => "1.0",
    };
    let mut head = format!("{} {} HTTP/{version}\r\n", request.method, target(plan));
    if !given("host") {
        field(&mut head, "Host", &host(&plan.url));
    }
    if !given("user-agent") {
        field(&mut head, "User-Agent", concat!("benchd/", env!("CARGO_PKG_VERSION")));
    }
    if !given("accept") {
        field(&mut head, "Accept", "*/*");
    }
    if let Some(credentials) = basic_credentials(&plan.url).filter(|_| !given("authorization")) {
        field(&mut head, "Authorization", &credentials);
    }
    for (name, value) in &request.headers {
        field(&mut head, name, value);
    }
    if !given("connection") {
        match (plan.protocol, plan.keepalive) {
            (Protocol::Http1, false) => field(&mut head, "Connection", "close"),
            (Protocol::Http10, true) => field(&mut head, "Connection", "Keep-Alive"),
            (Protocol::Http1, true) | (Protocol::Http10, false) => {}
        }
    }
    // RFC 9110, 8.6: methods that are defined to carry content say so even
    // when there is none.
    let carries = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if (!request.body.is_empty() || carries)
        && !given("content-length")
        && !given("transfer-encoding")
    {
        field(&mut head, "Content-Length", &request.body.len().to_string());
    }
    head + "\r\n"
}

fn ab_head(plan: &Plan, before: &[(String, String)], content_type: Option<&str>) -> String {
    let request = &plan.request;
    let given = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut head = format!("{} {} HTTP/1.0\r\n", request.method, target(plan));
    if plan.keepalive {
        field(&mut head, "Connection", "Keep-Alive");
    }
    for (name, value) in before {
        field(&mut head, name, value);
    }
    if !request.body.is_empty() || matches!(request.method.as_str(), "POST" | "PUT") {
        field(&mut head, "Content-length", &request.body.len().to_string());
        field(&mut head, "Content-type", content_type.unwrap_or("text/plain"));
    }
    for (name, value) in &request.headers {
        field(&mut head, name, value);
    }
    if !given("host") {
        field(&mut head, "Host", &host(&plan.url));
    }
    if !given("user-agent") {
        field(&mut head, "User-Agent", "ApacheBench/2.3");
    }
    if !given("accept") {
        field(&mut head, "Accept", "*/*");
    }
    head + "\r\n"
}

fn field(head: &mut String, name: &str, value: &str) {
    head.push_str(name);
    head.push_str(": ");
    head.push_str(value);
    head.push_str("\r\n");
}

fn target(plan: &Plan) -> String {
    let url = &plan.url;
    match (&plan.request.target, url.query()) {
        (Some(verbatim), _) => verbatim.clone(),
        (None, Some(query)) => format!("{}?{query}", url.path()),
        (None, None) => url.path().to_owned(),
    }
}

/// Host with its port unless that is the scheme's own; IPv6 in brackets.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

fn basic_credentials(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair = percent_decoded(url.username());
    pair.push(b':');
    pair.extend(percent_decoded(url.password().unwrap_or_default()));
    Some(format!("Basic {}", STANDARD.encode(pair)))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::request_bytes;
    use crate::endpoint::Endpoint;
    use crate::plan::{HeaderDefaults, Plan};
    use benchd_model::JobSpec;
    use benchd_model::spec::Protocol;

    fn plan(url: &str) -> Plan {
        let document = serde_json::json!({"target": {"url": "http://127.0.0.1/"}});
        let spec = JobSpec::parse(&document, &|_| None).unwrap();
        let mut plan =
            Plan::from_spec(&spec, vec![Endpoint::Tcp("127.0.0.1:80".parse().unwrap())]).unwrap();
        plan.url = url.parse().unwrap();
        plan
    }

    fn text(plan: &Plan) -> String {
        String::from_utf8(request_bytes(plan)).unwrap()
    }

    const DEFAULTS: &str =
        concat!("User-Agent: benchd/", env!("CARGO_PKG_VERSION"), "\r\nAccept: */*\r\n");

    #[test]
    fn target_and_host_come_from_the_url_and_the_fragment_stays_here() {
        let expected = format!("GET /a/b?c=d HTTP/1.1\r\nHost: [::1]:8088\r\n{DEFAULTS}\r\n");
        assert_eq!(text(&plan("http://[::1]:8088/a/b?c=d#frag")), expected);
        let expected = format!("GET / HTTP/1.1\r\nHost: example.test\r\n{DEFAULTS}\r\n");
        assert_eq!(text(&plan("https://example.test:443")), expected);
        assert!(text(&plan("http://b\u{fc}cher.test/")).contains("Host: xn--bcher-kva.test\r\n"));
    }

    #[test]
    fn credentials_become_basic_authorization() {
        let sent = text(&plan("http://user:p%40ss%zz@h.test/"));
        // user:p@ss%zz
        assert!(sent.contains("Authorization: Basic dXNlcjpwQHNzJXp6\r\n"), "{sent}");
        assert!(sent.contains("Host: h.test\r\n"));
    }

    #[test]
    fn the_caller_s_fields_replace_the_defaults() {
        let mut plan = plan("http://u@h.test/");
        for (name, value) in [
            ("host", "x"),
            ("USER-AGENT", "y"),
            ("Accept", "z"),
            ("authorization", "w"),
            ("connection", "close"),
        ] {
            plan.request.headers.push((name.into(), value.into()));
        }
        plan.keepalive = false;
        let fields =
            "host: x\r\nUSER-AGENT: y\r\nAccept: z\r\nauthorization: w\r\nconnection: close\r\n";
        assert_eq!(text(&plan), format!("GET / HTTP/1.1\r\n{fields}\r\n"));
    }

    #[test]
    fn versions_say_how_long_the_connection_stays() {
        let mut plan = plan("http://h.test/");
        assert!(!text(&plan).contains("Connection"));
        plan.keepalive = false;
        assert!(text(&plan).contains("\r\nConnection: close\r\n"));
        plan.protocol = Protocol::Http10;
        assert!(
            text(&plan).starts_with("GET / HTTP/1.0\r\n") && !text(&plan).contains("Connection")
        );
        plan.keepalive = true;
        assert!(text(&plan).contains("\r\nConnection: Keep-Alive\r\n"));
    }

    #[test]
    fn bodies_have_a_length() {
        let mut plan = plan("http://h.test/");
        plan.request.body = b"abc".to_vec();
        assert!(text(&plan).ends_with("Content-Length: 3\r\n\r\nabc"));
        plan.request.body.clear();
        assert!(!text(&plan).contains("Content-Length"));
        plan.request.method = "POST".into();
        assert!(text(&plan).ends_with("Content-Length: 0\r\n\r\n"));
    }

    #[test]
    fn ab_s_layout_is_ab_s() {
        let mut plan = plan("http://h.test:8080/x");
        plan.protocol = Protocol::Http10;
        plan.request.target = Some("/x#y".into());
        plan.request.method = "POST".into();
        plan.request.body = b"a=b".to_vec();
        plan.request.headers = vec![("X-A".into(), "1".into())];
        plan.request.defaults = HeaderDefaults::Ab {
            before: vec![
                ("Cookie".into(), "c=d".into()),
                ("Authorization".into(), "Basic eA==".into()),
            ],
            content_type: None,
        };
        assert_eq!(
            text(&plan),
            "POST /x#y HTTP/1.0\r\nConnection: Keep-Alive\r\nCookie: c=d\r\n\
             Authorization: Basic eA==\r\nContent-length: 3\r\nContent-type: text/plain\r\n\
             X-A: 1\r\nHost: h.test:8080\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\na=b"
        );
    }
}
