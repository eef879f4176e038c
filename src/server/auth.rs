//! The bearer token: who may talk to the service at all.

use crate::config::App;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use sha2::{Digest, Sha256};

/// Routes that answer without a token, so that probes need no secret.
const OPEN: [&str; 3] = ["/livez", "/readyz", "/healthz"];

/// The digest of a token. Comparing digests of equal length byte by byte
/// without an early end leaks nothing about the token.
#[derive(Clone, Copy)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    fn matches(self, token: &str) -> bool {
        let differing = self.0.iter().zip(Self::of(token).0).fold(0, |acc, (a, b)| acc | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

/// Lets requests with the right token through.
pub(crate) async fn require_token(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let Some(expected) = app.token else { return next.run(request).await };
    if OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    match bearer(&request) {
        Some(token) if expected.matches(token) => next.run(request).await,
        Some(_) => {
            refuse("the bearer token is not the right one", "Bearer error=\"invalid_token\"")
        }
        None => refuse("send the header `Authorization: Bearer TOKEN`", "Bearer"),
    }
}

fn bearer(request: &Request) -> Option<&str> {
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn refuse(detail: &str, challenge: &'static str) -> Response {
    Problem::new(Code::Unauthorized, detail)
        .header(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::TokenDigest;

    #[test]
    fn only_the_very_token_matches() {
        let digest = TokenDigest::of("open sesame");
        assert!(digest.matches("open sesame"));
        for wrong in ["", "open sesam", "open sesame ", "Open sesame"] {
            assert!(!digest.matches(wrong), "{wrong:?}");
        }
    }
}
