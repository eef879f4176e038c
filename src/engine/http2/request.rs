//! The request of HTTP/2, encoded once per run.

use super::hpack;
use crate::http1::{basic_credentials, host, says_length, target};
use crate::plan::{Plan, PlanError};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

/// Fields of one HTTP/1 connection (RFC 9113, 8.2.2).
const NOT_FOR_HTTP2: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// What every stream of a run asks for.
#[derive(Debug)]
pub(crate) struct Request {
    /// Inserts all that the static table does not have.
    first: Vec<u8>,
    /// Has indices alone, where `first` is all that the table has.
    again: Vec<u8>,
    /// Uses no table but the static one.
    plain: Vec<u8>,
    /// What `first` takes of the table.
    table_size: usize,
    /// Empty for none.
    pub(crate) body: Vec<u8>,
    /// Answers have no content, whatever they say.
    pub(super) is_head: bool,
}

/// How the request is encoded on one connection.
#[derive(Debug)]
pub(super) struct Encoding {
    /// So large a table the server keeps for us, up to what we would use.
    limit: usize,
    /// The server is to be told so (RFC 7541, 4.2).
    changed: bool,
    /// The request's fields are in the table.
    inserted: bool,
}

impl Encoding {
    pub(super) const fn new() -> Self {
        Self { limit: hpack::TABLE, changed: false, inserted: false }
    }

    /// The server has set SETTINGS_HEADER_TABLE_SIZE.
    pub(super) fn set_limit(&mut self, limit: u32) {
        let limit = hpack::TABLE.min(limit as usize);
        if limit != self.limit {
            *self = Self { limit, changed: true, inserted: false };
        }
    }

    /// Hands the block of the next request to `write`.
    #[inline]
    pub(super) fn next(&mut self, request: &Request, write: impl FnOnce(&[u8])) {
        let fits = request.table_size <= self.limit;
        let block = match (fits, self.inserted) {
            (false, _) => &request.plain,
            (true, false) => &request.first,
            (true, true) => &request.again,
        };
        self.inserted = fits;
        if std::mem::take(&mut self.changed) {
            return write(&self.announced(block));
        }
        write(block);
    }

    /// The table's old size may have been any: it is emptied first.
    #[cold]
    fn announced(&self, block: &[u8]) -> Vec<u8> {
        let mut announced = Vec::new();
        hpack::write_size_update(&mut announced, 0);
        hpack::write_size_update(&mut announced, self.limit);
        announced.extend_from_slice(block);
        announced
    }
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
        let pseudo = pseudo_fields(&method, &uri);
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let is_head = method == Method::HEAD;
        Ok(Self { body: request.body.clone(), is_head, ..Self::encoded(pseudo.chain(fields)) })
    }

    /// A request of this method for `http://127.0.0.1/`.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn for_test(method: &str) -> Self {
        let authority = (":authority", "127.0.0.1");
        let fields = [(":method", method), (":scheme", "http"), authority, (":path", "/")];
        let fields = fields.map(|(name, value)| (name, value.as_bytes()));
        Self { is_head: method == "HEAD", ..Self::encoded(fields.into_iter()) }
    }

    fn encoded<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut first, mut plain, mut table_size) = (Vec::new(), Vec::new(), 0);
        // Of each field, its static index.
        let mut indices = Vec::new();
        for (name, value) in fields {
            let name = name.as_bytes();
            let index = hpack::static_field(name, value);
            if let Some(index) = index {
                hpack::write_indexed(&mut first, index);
                hpack::write_indexed(&mut plain, index);
            } else {
                hpack::write_literal(&mut first, name, value, true);
                hpack::write_literal(&mut plain, name, value, false);
                table_size += hpack::size(name, value);
            }
            indices.push(index);
        }
        let (mut again, mut newer) = (Vec::new(), indices.iter().filter(|i| i.is_none()).count());
        for index in indices {
            newer -= usize::from(index.is_none());
            hpack::write_indexed(&mut again, index.unwrap_or(hpack::dynamic_index(newer)));
        }
        Self { first, again, plain, table_size, body: Vec::new(), is_head: false }
    }
}

/// RFC 9113, 8.3.1, and for CONNECT 8.5.
fn pseudo_fields<'a>(
    method: &'a Method,
    uri: &'a Uri,
) -> impl Iterator<Item = (&'a str, &'a [u8])> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    [
        (":method", method.as_str()),
        (":scheme", uri.scheme_str().unwrap_or("http")),
        (":authority", authority),
        (":path", path),
    ]
    .into_iter()
    .filter(|(name, _)| *method != Method::CONNECT || matches!(*name, ":method" | ":authority"))
    .map(|(name, value)| (name, value.as_bytes()))
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
mod tests;
