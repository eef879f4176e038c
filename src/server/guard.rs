//! What is refused before any handler sees it: heads that are too large, and
//! requests that a web page made through somebody's browser.
//!
//! Without a token the service trusts whoever reaches its loopback address. A
//! page from elsewhere reaches it, too: by a form (stopped by the content type
//! that `POST /jobs` requires and by the `Origin` check here) or by a name that
//! it rebinds to 127.0.0.1 (stopped by the `Host` check here).

use crate::config::App;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method};
use std::net::IpAddr;
use url::{Host, Url};

/// Longest request target, in bytes.
const MAX_TARGET_BYTES: usize = 8 * 1024;

/// Most bytes of names and values in a request's header.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Refuses oversized heads and, without a token, foreign pages.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let checked = check_sizes(&request).and_then(|()| match app.token {
        Some(_) => Ok(()),
        None => check_host(&request).and_then(|()| check_origin(&request)),
    });
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check_sizes(request: &Request) -> Result<(), Problem> {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET_BYTES {
        let detail =
            format!("the request target has {target} bytes; at most {MAX_TARGET_BYTES} are read");
        return Err(Problem::new(Code::UriTooLong, detail));
    }
    let fields = request.headers();
    let header: usize = fields.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if header > MAX_HEADER_BYTES {
        let detail = format!("the header has {header} bytes; at most {MAX_HEADER_BYTES} are read");
        return Err(Problem::new(Code::HeadersTooLarge, detail));
    }
    Ok(())
}

fn check_host(request: &Request) -> Result<(), Problem> {
    match host(request) {
        // No browser leaves it out, so no page can have sent this.
        None => Ok(()),
        Some(host) if is_loopback(&host) => Ok(()),
        Some(host) => Err(Problem::new(
            Code::WrongHost,
            format!(
                "{host:?} is not this host: without a token benchd answers localhost, 127.0.0.1 and [::1] only"
            ),
        )),
    }
}

fn check_origin(request: &Request) -> Result<(), Problem> {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let headers = request.headers();
    let cross_site = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    if cross_site || !origin_is_own(headers, host(request).as_deref()) {
        let detail = "a page of another origin may not change anything here";
        return Err(Problem::new(Code::CrossOrigin, detail));
    }
    Ok(())
}

/// True when there is no `Origin`, or when it names the host that was asked.
fn origin_is_own(headers: &HeaderMap, host: Option<&str>) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let authority = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
    authority.is_some() && authority == host
}

/// Host and port as the client wrote them.
fn host(request: &Request) -> Option<String> {
    let absolute = request.uri().authority().map(ToString::to_string);
    absolute.or_else(|| {
        let value = request.headers().get(HOST)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    })
}

fn is_loopback(authority: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{authority}/")) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn loopback_is_told_from_names_that_only_look_like_it() {
        for own in
            ["localhost", "localhost:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "a.localhost"]
        {
            assert!(is_loopback(own), "{own}");
        }
        for foreign in
            ["", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "evil@x"]
        {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}
