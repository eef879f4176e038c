//! Which format an answer takes: `?format=` wins, then `Accept`, then JSON.

use http::HeaderMap;
use http::header::ACCEPT;

/// Media types beside JSON that a resource can be had in.
pub(crate) const CSV: &str = "text/csv";
pub(crate) const MARKDOWN: &str = "text/markdown";

/// The media type to answer with: one of `offered`, or none for JSON.
///
/// JSON is the answer whenever it is named as acceptable, whatever its weight:
/// Grafana's Infinity plugin asks for `application/json;q=0.9,text/plain` and
/// reads JSON only. Something else is the answer when it is named outright, and
/// JSON when nothing on offer is named.
pub(crate) fn preferred<'a>(headers: &HeaderMap, offered: &[&'a str]) -> Option<&'a str> {
    let ranges: Vec<(String, f32)> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(range)
        .filter(|(_, weight)| *weight > 0.0)
        .collect();
    let named = |media: &str| ranges.iter().find(|(range, _)| range == media);
    if named("application/json").is_some() || named("application/*").is_some() {
        return None;
    }
    offered
        .iter()
        .filter_map(|media| named(media).map(|(_, weight)| (*media, *weight)))
        .reduce(|best, other| if other.1 > best.1 { other } else { best })
        .map(|(media, _)| media)
}

/// True when HTML is named before JSON: a browser is asking.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    preferred(headers, &["text/html"]).is_some()
}

/// One media range and its weight.
fn range(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .and_then(|(_, weight)| weight.trim().parse().ok())
        .unwrap_or(1.0);
    (media, weight)
}

#[cfg(test)]
mod tests {
    use super::{CSV, MARKDOWN, preferred};
    use http::HeaderMap;
    use http::header::ACCEPT;

    fn choose(accept: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        preferred(&headers, &[CSV, MARKDOWN])
    }

    #[test]
    fn json_wins_whenever_it_is_acceptable() {
        for accept in [
            "application/json;q=0.9,text/plain",
            "text/csv, application/json;q=0.1",
            "*/*",
            "text/plain",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/*;q=0.2, text/markdown",
            "text/csv;q=0",
            ";;,,q=",
        ] {
            assert_eq!(choose(accept), None, "{accept}");
        }
    }

    #[test]
    fn a_format_named_outright_is_given() {
        assert_eq!(choose("text/csv; charset=utf-8"), Some(CSV));
        assert_eq!(choose("text/markdown, */*;q=0.1"), Some(MARKDOWN));
        assert_eq!(choose("text/csv;q=0.5, TEXT/MARKDOWN"), Some(MARKDOWN));
        assert_eq!(choose("application/json;q=0, text/csv"), Some(CSV));
    }
}
