//! What must not be shown: redaction of specs and URLs.

use crate::JobSpec;
use url::Url;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Header names (lower case) that carry secrets; names that merely contain one
/// of [`TELLING`] do, too.
const SECRET_HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

const TELLING: [&str; 6] = ["token", "secret", "password", "api-key", "apikey", "session"];

/// True when a header of this name holds a secret.
#[must_use]
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_HEADERS.contains(&name.as_str()) || TELLING.iter().any(|word| name.contains(word))
}

/// The URL without its password and without the values of telling query parameters.
#[must_use]
pub fn redact_url(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return text.to_owned();
    };
    let mut changed = false;
    if url.password().is_some() {
        changed |= url.set_password(Some("redacted")).is_ok();
    }
    let telling = |name: &str| TELLING.iter().any(|word| name.to_ascii_lowercase().contains(word));
    if url.query_pairs().any(|(name, _)| telling(&name)) {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let value = if telling(&name) { REDACTED.to_owned() } else { value.into_owned() };
                (name.into_owned(), value)
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
        changed = true;
    }
    if changed { url.into() } else { text.to_owned() }
}

impl JobSpec {
    /// The spec as it may be shown.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut shown = self.clone();
        shown.target.url = redact_url(&shown.target.url);
        shown.target.stub_status = shown.target.stub_status.as_deref().map(redact_url);
        for (name, value) in &mut shown.request.headers {
            if is_secret_header(name) {
                REDACTED.clone_into(value);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::{is_secret_header, redact_url};

    #[test]
    fn secrets_are_known_by_name() {
        for name in ["Authorization", "COOKIE", "X-Api-Key", "X-Auth-Token", "Proxy-Authorization"]
        {
            assert!(is_secret_header(name), "{name}");
        }
        assert!(!is_secret_header("Accept"));
    }

    #[test]
    fn urls_lose_passwords_and_telling_values_only() {
        assert_eq!(redact_url("http://u:pw@h/x?a=1"), "http://u:redacted@h/x?a=1");
        assert_eq!(
            redact_url("http://h/?access_token=abc&q=1"),
            "http://h/?access_token=%5Bredacted%5D&q=1"
        );
        assert_eq!(redact_url("http://h/a?q=%20x"), "http://h/a?q=%20x");
    }
}
