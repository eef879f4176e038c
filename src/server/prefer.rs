//! `Prefer: wait=N` (RFC 7240).

use crate::config::App;
use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::HeaderValue;
use http::header::HeaderName;
use http::request::Parts;
use std::convert::Infallible;
use std::time::Duration;

/// The longest wait: below the 60 s at which many proxies give up.
pub(crate) const MAX_WAIT_S: u64 = 50;

/// Names the preferences that were followed.
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// How long the client would like to wait. A preference that cannot be read is
/// no preference, as the RFC asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefer {
    wait_s: Option<u64>,
}

impl Prefer {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let wait_s = headers
            .get_all("prefer")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|preference| preference.split(';').next()?.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
            .and_then(|(_, seconds)| seconds.trim().trim_matches('"').parse().ok())
            .map(|seconds: u64| seconds.min(MAX_WAIT_S));
        Self { wait_s }
    }

    /// How long to wait; none when nothing was asked.
    pub(crate) fn wait(self) -> Option<Duration> {
        self.wait_s.map(Duration::from_secs)
    }

    /// The value of `Preference-Applied`, when there was one.
    pub(crate) fn applied(self) -> Option<HeaderValue> {
        let seconds = self.wait_s?;
        Some(HeaderValue::try_from(format!("wait={seconds}")).expect("a number is a header value"))
    }
}

impl FromRequestParts<App> for Prefer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::Prefer;
    use http::HeaderMap;

    fn wait(values: &[&str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("prefer", value.parse().unwrap());
        }
        Prefer::of(&headers).wait().map(|wait| wait.as_secs())
    }

    #[test]
    fn a_wait_is_found_among_other_preferences_and_capped() {
        assert_eq!(wait(&["wait=3"]), Some(3));
        assert_eq!(wait(&["respond-async, Wait=\"10\"; x=y"]), Some(10));
        assert_eq!(wait(&["return=minimal", "wait=7"]), Some(7));
        assert_eq!(wait(&["wait=86400"]), Some(50));
        assert_eq!(wait(&["wait=0"]), Some(0));
    }

    #[test]
    fn what_cannot_be_read_is_no_preference() {
        for value in ["wait", "wait=", "wait=-1", "wait=soon", "waiting=5", ""] {
            assert_eq!(wait(&[value]), None, "{value}");
        }
    }
}
