//! The request of HTTP/2, built once per run. Framing is the h2 crate's part.

use crate::http1::{basic_credentials, host, says_length, target};
use crate::plan::{Plan, PlanError};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};

/// Fields of one HTTP/1 connection (RFC 9113, 8.2.2).
const NOT_FOR_HTTP2: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// What every stream of a run asks for.
#[derive(Debug)]
pub(crate) struct Request {
    head: http::Request<()>,
    /// Empty for none.
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn new(plan: &Plan) -> Result<Self, PlanError> {
        let request = &plan.request;
        let mut fields = user_fields(plan)?;
        // Host is written as :authority (RFC 9113, 8.3.1).
        let authority = match fields.remove(HOST) {
            Some(host) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
            None => host(&plan.url),
        };
        let target = target(plan);
        let uri = Uri::builder()
            .scheme(plan.url.scheme())
            .authority(authority)
            .path_and_query(target.as_str())
            .build()
            .map_err(|_| PlanError::Target(target))?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| PlanError::Method(request.method.clone()))?;
        fields
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(concat!("benchd/", env!("CARGO_PKG_VERSION"))));
        fields.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        if let Some(credentials) = basic_credentials(&plan.url) {
            fields.entry(AUTHORIZATION).or_insert(value("authorization", &credentials)?);
        }
        if says_length(request) {
            fields.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(request.body.len()));
        }
        let mut head = http::Request::new(());
        *head.method_mut() = method;
        *head.uri_mut() = uri;
        *head.version_mut() = Version::HTTP_2;
        *head.headers_mut() = fields;
        Ok(Self { head, body: Bytes::from(request.body.clone()) })
    }

    /// The head of one more request.
    #[inline]
    pub(crate) fn head(&self) -> http::Request<()> {
        self.head.clone()
    }
}

fn user_fields(plan: &Plan) -> Result<HeaderMap, PlanError> {
    let mut fields = HeaderMap::new();
    for (name, text) in &plan.request.headers {
        if NOT_FOR_HTTP2.iter().any(|other| name.eq_ignore_ascii_case(other)) {
            return Err(PlanError::NotForHttp2(name.clone()));
        }
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| PlanError::HeaderName(name.clone()))?;
        fields.append(parsed, value(name, text)?);
    }
    Ok(fields)
}

fn value(name: &str, text: &str) -> Result<HeaderValue, PlanError> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| PlanError::HeaderValue(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::Request;
    use crate::Endpoint;
    use crate::plan::{Plan, PlanError};
    use benchd_model::JobSpec;

    fn request(url: &str, headers: &[(&str, &str)]) -> Result<Request, PlanError> {
        let document =
            serde_json::json!({"target": {"url": "http://127.0.0.1/"}, "load": {"protocol": "h2"}});
        let spec = JobSpec::parse(&document, &|_| None).unwrap();
        let mut plan =
            Plan::from_spec(&spec, vec![Endpoint::Tcp("127.0.0.1:80".parse().unwrap())]).unwrap();
        plan.url = url.parse().unwrap();
        plan.request.headers =
            headers.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        Request::new(&plan)
    }

    fn fields(request: &Request) -> String {
        format!("{:?}", request.head.headers())
    }

    #[test]
    fn pseudo_fields_come_from_the_url() {
        let head = request("http://u:p@[::1]:8088/a/b?c={|}#d", &[]).unwrap().head();
        assert_eq!(head.uri().to_string(), "http://[::1]:8088/a/b?c={|}");
        assert_eq!(head.headers()["authorization"], "Basic dTpw");
        let head = request("https://b\u{fc}cher.test:443/", &[("Host", "x.test")]).unwrap().head();
        assert_eq!(head.uri().to_string(), "https://x.test/");
        assert!(!head.headers().contains_key("host"));
    }

    #[test]
    fn the_caller_s_fields_replace_the_defaults_and_may_repeat() {
        let given = [("User-Agent", "x"), ("A", "1"), ("a", "2")];
        let request = request("http://h.test/", &given).unwrap();
        let expected = r#"{"user-agent": "x", "a": "1", "a": "2", "accept": "*/*"}"#;
        assert_eq!(fields(&request), expected);
    }

    #[test]
    fn fields_of_an_http1_connection_are_refused() {
        for name in ["Connection", "keep-alive", "TE", "Upgrade", "Transfer-Encoding"] {
            let refused = request("http://h.test/", &[(name, "x")]).unwrap_err();
            assert_eq!(refused, PlanError::NotForHttp2(name.into()));
        }
    }
}
