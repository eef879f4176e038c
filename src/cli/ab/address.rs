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
    /// The socket of `unix:/path[:/uri]`, which ab does not know.
    pub(super) unix_socket: Option<String>,
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
        if let Some(rest) = rest.strip_prefix("unix:") {
            return Self::over_socket(scheme, rest);
        }
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
        let (host, target) = (host.to_owned(), target.to_owned());
        Ok(Self { host, port, target, url, unix_socket: None })
    }

    /// `/path[:/uri]` behind `unix:`, as nginx writes it.
    fn over_socket(scheme: &str, text: &str) -> Result<Self, &'static str> {
        let (path, uri) = text.split_once(":/").unwrap_or((text, ""));
        if path.is_empty() {
            return Err("there is no path of a socket after unix:");
        }
        let inner = Self::parse(&format!("{scheme}://localhost/{uri}"))?;
        Ok(Self { unix_socket: Some(path.to_owned()), ..inner })
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
    fn a_socket_is_written_as_nginx_writes_it() {
        for (text, url, target) in [
            ("unix:/run/x.sock:/a?b#c", "http://localhost/a?b#c", "/a?b#c"),
            ("unix:/run/x.sock", "http://localhost/", "/"),
            ("https://unix:/run/x.sock:/", "https://localhost/", "/"),
        ] {
            let read = AbUrl::parse(text).unwrap();
            assert_eq!((read.url.as_str(), read.target.as_str()), (url, target), "{text}");
            assert_eq!(
                (read.unix_socket.as_deref(), &*read.host),
                (Some("/run/x.sock"), "localhost")
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
            ("unix::/", "no path of a socket"),
        ] {
            let refusal = AbUrl::parse(text).unwrap_err();
            assert!(refusal.contains(reason), "{text}: {refusal}");
        }
    }
}
