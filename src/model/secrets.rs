//! What must not be shown: redaction of specs and URLs.

use crate::JobSpec;
use crate::spec::{RequestSpec, TargetSpec};
use url::Url;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Parts of a name that tell of a secret wherever they stand, however the name
/// is joined (`api_key`, `Api-Key`, `apikey`).
const TELLING: [&str; 9] = [
    "token",
    "secret",
    "passw",
    "apikey",
    "accesskey",
    "session",
    "credential",
    "signature",
    "authoriz",
];

/// Words that tell of a secret when they stand alone between separators.
const TELLING_WORDS: [&str; 8] = ["auth", "key", "sig", "pwd", "pass", "jwt", "cookie", "pin"];

/// True when a header, a query parameter or a field of this name holds a secret.
#[must_use]
pub fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    TELLING.iter().any(|part| joined.contains(part))
        || words.any(|word| TELLING_WORDS.contains(&word))
}

/// The URL without user information and without the values of telling query
/// parameters. What is no URL comes back as it is.
#[must_use]
pub fn redact_url(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return text.to_owned();
    };
    let mut changed = false;
    // A token may stand in either half: `https://TOKEN@host/`.
    if !url.username().is_empty() {
        changed |= url.set_username("redacted").is_ok();
    }
    if url.password().is_some() {
        changed |= url.set_password(Some("redacted")).is_ok();
    }
    if url.query_pairs().any(|(name, _)| is_telling(&name)) {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let value =
                    if is_telling(&name) { REDACTED.to_owned() } else { value.into_owned() };
                (name.into_owned(), value)
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
        changed = true;
    }
    if changed { url.into() } else { text.to_owned() }
}

/// A body that names a secret is not shown at all: what shape it has, and so
/// where the secret ends, only its reader knows.
fn redact_body(body: &mut String) {
    let names = body.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')));
    let telling = names.into_iter().any(is_telling);
    if telling {
        REDACTED.clone_into(body);
    }
}

fn redact_target(target: &mut TargetSpec) {
    target.url = redact_url(&target.url);
    target.stub_status = target.stub_status.as_deref().map(redact_url);
}

fn redact_request(request: &mut RequestSpec) {
    for (name, value) in &mut request.headers {
        if is_telling(name) {
            REDACTED.clone_into(value);
        }
    }
    let bytes = request.body_bytes();
    if let Some(body) = &mut request.body {
        redact_body(body);
    }
    if request.body_base64.is_some() {
        let mut body = String::from_utf8_lossy(&bytes).into_owned();
        redact_body(&mut body);
        if body == REDACTED {
            request.body_base64 = Some(body);
        }
    }
}

impl JobSpec {
    /// The spec as it may be shown.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut shown = self.clone();
        redact_target(&mut shown.target);
        redact_request(&mut shown.request);
        if let Some(compare) = &mut shown.compare {
            compare.baseline.target.as_mut().map(redact_target);
            compare.baseline.request.as_mut().map(redact_request);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::{is_telling, redact_url};
    use crate::JobSpec;
    use serde_json::json;

    #[test]
    fn secrets_are_known_by_name_however_it_is_written() {
        for name in [
            "Authorization",
            "COOKIE",
            "X-Api-Key",
            "api_key",
            "apikey",
            "X-Auth-Token",
            "Proxy-Authorization",
            "sig",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "pwd",
            "user_password",
            "key",
            "jwt",
        ] {
            assert!(is_telling(name), "{name}");
        }
        for name in ["Accept", "q", "monkey", "keyboard", "passenger", "design", "Content-Type"] {
            assert!(!is_telling(name), "{name}");
        }
    }

    #[test]
    fn urls_lose_user_information_and_telling_values_only() {
        assert_eq!(redact_url("http://u:pw@h/x?a=1"), "http://redacted:redacted@h/x?a=1");
        assert_eq!(redact_url("http://t0ken@h/"), "http://redacted@h/");
        assert_eq!(redact_url("http://h/?api_key=abc&q=1"), "http://h/?api_key=%5Bredacted%5D&q=1");
        assert_eq!(redact_url("http://h/a?q=%20x"), "http://h/a?q=%20x");
        assert_eq!(redact_url("no url"), "no url");
    }

    #[test]
    fn bodies_that_name_a_secret_are_not_shown() {
        use base64::Engine as _;
        let login = r#"{"user":"a","password":"hunter2"}"#;
        let encoded = base64::engine::general_purpose::STANDARD.encode(login);
        for request in [json!({"body": login}), json!({"body_base64": encoded})] {
            let document = json!({"target": {"url": "http://h/"}, "request": request});
            let shown = JobSpec::parse(&document, &|_| None).unwrap().redacted();
            let text = serde_json::to_string(&shown).unwrap();
            assert!(!text.contains("hunter2") && !text.contains(&encoded), "{text}");
        }
        let compared = json!({"target": {"url": "http://h/"}, "compare": {"baseline": {
            "target": {"url": "http://u:hunter2@h/"}, "request": {"body": login, "headers": {"Cookie": "hunter2"}}
        }}});
        let shown = JobSpec::parse(&compared, &|_| None).unwrap().redacted();
        assert!(!serde_json::to_string(&shown).unwrap().contains("hunter2"));
        let harmless =
            json!({"target": {"url": "http://h/"}, "request": {"body": "{\"q\":\"shoes\"}"}});
        let spec = JobSpec::parse(&harmless, &|_| None).unwrap();
        assert_eq!(spec.redacted(), spec);
    }
}
