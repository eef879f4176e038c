//! A URL as ab takes it: the scheme may be left out, the path may not, and
//! everything behind the host is sent as it was typed, a fragment included.

use url::Url;

/// Where a run goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbUrl {
    /// The URL as the engine and the target policy see it.
    pub(super) url: Url,
    /// Host as typed, IPv6 without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Path, query and fragment as typed.
    pub(super) target: String,
}

impl AbUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
            Some((scheme, _)) if !scheme.contains('/') => {
                return Err("the scheme is neither http nor https");
            }
            _ => ("http", text),
        };
        let slash = rest.find('/').ok_or("there is no / after the host")?;
        let (authority, target) = rest.split_at(slash);
        if authority.contains('@') {
            return Err("a user name and password belong to -A");
        }
        if target.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("white space must be written as %20");
        }
        let url = Url::parse(&format!("{scheme}://{authority}{target}"))
            .map_err(|_| "host and port cannot be read")?;
        let port = url.port_or_known_default().ok_or("there is no port")?;
        let host = match authority.rfind(']') {
            Some(end) => authority[..end].trim_start_matches('['),
            None => authority.split(':').next().unwrap_or(authority),
        };
        if host.is_empty() || port == 0 {
            return Err("host and port cannot be read");
        }
        Ok(Self { host: host.to_owned(), port, target: target.to_owned(), url })
    }
}

#[cfg(test)]
mod tests {
    use super::AbUrl;

    #[test]
    fn urls_are_read_as_ab_reads_them() {
        for (text, host, port, target) in [
            ("http://127.0.0.1:8088/", "127.0.0.1", 8088, "/"),
            ("localhost/a?b=c#d", "localhost", 80, "/a?b=c#d"),
            ("https://Shop.example/x/../%7e", "Shop.example", 443, "/x/../%7e"),
            ("http://[::1]:81/http://other/", "::1", 81, "/http://other/"),
            ("127.0.0.1:8088/?u=http://x", "127.0.0.1", 8088, "/?u=http://x"),
        ] {
            let url = AbUrl::parse(text).unwrap();
            assert_eq!(
                (url.host.as_str(), url.port, url.target.as_str()),
                (host, port, target),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_a_reason() {
        for (text, reason) in [
            ("http://127.0.0.1:8088", "no / after the host"),
            ("ftp://host/", "neither http nor https"),
            ("http://u:p@host/", "belong to -A"),
            ("http://host/a b", "%20"),
            ("http://host:99999/", "cannot be read"),
            ("http://:80/", "cannot be read"),
            ("/", "cannot be read"),
            ("http://host:0/", "cannot be read"),
        ] {
            let refusal = AbUrl::parse(text).unwrap_err();
            assert!(refusal.contains(reason), "{text}: {refusal}");
        }
    }
}
