//! Response heads: how long the body is and whether the connection stays.
//! [`HeadCache`] keeps the last head of a thread, since servers repeat
//! themselves: equal bytes have an equal meaning, so nothing is guessed.

use super::{MAX_HEAD, Malformed};
use std::mem::MaybeUninit;

/// Enough for every ordinary head; longer ones are parsed with more room.
const COMMON_HEADERS: usize = 64;
const MOST_HEADERS: usize = 8192;

/// What ends the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    Empty,
    /// So many bytes.
    Length(u64),
    /// The last chunk.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// What a response head says, as far as a load generator cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// The connection may carry another request.
    pub(crate) keep: bool,
}

impl Head {
    /// An interim response: the final one is still to come (RFC 9110, 15.2).
    pub(crate) const fn is_interim(self) -> bool {
        matches!(self.status, 100 | 102..200)
    }
}

/// The head parser of one thread, with its memory of the last head.
#[derive(Debug)]
pub(crate) struct HeadCache {
    head_request: bool,
    http10_request: bool,
    last: Vec<u8>,
    head: Head,
    server: Option<String>,
}

impl HeadCache {
    /// `method` and the version are those of every request of the run; both
    /// change what a head means.
    pub(crate) fn new(method: &str, http10_request: bool) -> Self {
        Self {
            head_request: method == "HEAD",
            http10_request,
            last: Vec::new(),
            head: Head { status: 0, framing: Framing::Empty, keep: false },
            server: None,
        }
    }

    /// The parse of the last head, when `input` starts with the same bytes.
    #[inline]
    pub(crate) fn repeated(&self, input: &[u8]) -> Option<(usize, Head)> {
        (!self.last.is_empty() && input.starts_with(&self.last))
            .then_some((self.last.len(), self.head))
    }

    /// Parses `bytes`, one whole head with its empty line.
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> Result<Head, Malformed> {
        if bytes.len() > MAX_HEAD {
            return Err("a response head larger than 64 KiB");
        }
        match later_minor_version(bytes) {
            Some(as_1_1) => self.parse_roomily(&as_1_1),
            None => self.parse_roomily(bytes),
        }
    }

    fn parse_roomily(&mut self, bytes: &[u8]) -> Result<Head, Malformed> {
        let mut room = [const { MaybeUninit::uninit() }; COMMON_HEADERS];
        match self.parse_with(bytes, &mut room) {
            Err(httparse::Error::TooManyHeaders) => {
                let mut room = vec![MaybeUninit::uninit(); MOST_HEADERS];
                self.parse_with(bytes, &mut room).map_err(in_words)?
            }
            parsed => parsed.map_err(in_words)?,
        }
    }

    /// The `Server` field of the last head.
    pub(crate) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    fn parse_with<'b>(
        &mut self,
        bytes: &'b [u8],
        room: &mut [MaybeUninit<httparse::Header<'b>>],
    ) -> Result<Result<Head, Malformed>, httparse::Error> {
        let mut config = httparse::ParserConfig::default();
        config
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true);
        let mut response = httparse::Response::new(&mut []);
        let status = config.parse_response_with_uninit_headers(&mut response, bytes, room)?;
        if status != httparse::Status::Complete(bytes.len()) {
            return Ok(Err("a malformed response head"));
        }
        let parsed = self.interpret(&response);
        if let Ok(head) = parsed
            && !head.is_interim()
        {
            self.head = head;
            self.last.clear();
            self.last.extend_from_slice(bytes);
            self.remember_server(response.headers);
        }
        Ok(parsed)
    }

    fn remember_server(&mut self, headers: &[httparse::Header<'_>]) {
        let value = headers.iter().find(|h| h.name.eq_ignore_ascii_case("server"));
        let value = value.map(|h| String::from_utf8_lossy(h.value));
        if self.server.as_deref() != value.as_deref() {
            self.server = value.map(|v| v.into_owned());
        }
    }

    fn interpret(&self, response: &httparse::Response<'_, '_>) -> Result<Head, Malformed> {
        // Codes outside of 100 to 599 are final ones without a meaning, as good
        // as a 5xx (RFC 9110, 15).
        let status = response.code.unwrap_or(0);
        let http10_response = response.version == Some(0);
        let mut fields = Fields::default();
        response.headers.iter().for_each(|header| fields.take(header));
        let bodyless = self.head_request || matches!(status, 100..200 | 204 | 304);
        let framing = if bodyless { Framing::Empty } else { fields.framing()? };
        // RFC 9112, 9.3, and 6.1: a 1.0 message with a transfer coding is not
        // to be trusted about its framing. An HTTP/1.0 request persists only
        // when the server says so.
        let persists = if http10_response || self.http10_request {
            fields.keep_alive && !(http10_response && fields.transfer_coding.is_some())
        } else {
            true
        };
        let keep = persists && !fields.close && framing != Framing::UntilClose && status != 101;
        Ok(Head { status, framing, keep })
    }
}

/// A final transfer coding, as far as it decides where the body ends.
#[derive(Clone, Copy)]
enum Coding {
    Chunked,
    ChunkedWithParameters,
    Other,
}

/// What the fields say that matter here.
#[derive(Default)]
struct Fields {
    length: Option<Result<u64, Malformed>>,
    /// The final transfer coding.
    transfer_coding: Option<Coding>,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    fn take(&mut self, header: &httparse::Header<'_>) {
        match header.name.len() {
            10 if header.name.eq_ignore_ascii_case("connection") => {
                for token in list(header.value) {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                list(header.value).for_each(|token| self.take_length(token));
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                // An empty list names no coding, and no end of the body either.
                self.transfer_coding.get_or_insert(Coding::Other);
                for token in list(header.value).filter(|token| !token.is_empty()) {
                    self.transfer_coding = Some(coding(token));
                }
            }
            _ => {}
        }
    }

    /// Repeated equal lengths are one length, anything else is an error.
    fn take_length(&mut self, token: &[u8]) {
        let length = match (self.length, number(token)) {
            (Some(Err(known)), _) => Err(known),
            (Some(Ok(known)), Ok(length)) if known != length => {
                Err("conflicting Content-Length fields")
            }
            (_, length) => length,
        };
        self.length = Some(length);
    }

    /// Where a body ends (RFC 9112, 6.3, rules 4 to 8): a transfer coding
    /// overrides whatever the length says.
    fn framing(&self) -> Result<Framing, Malformed> {
        match (self.transfer_coding, self.length) {
            (Some(Coding::Chunked), _) => Ok(Framing::Chunked),
            (Some(Coding::ChunkedWithParameters), _) => {
                Err("a chunked transfer coding with parameters")
            }
            (Some(Coding::Other), _) | (None, None) => Ok(Framing::UntilClose),
            (None, Some(length)) => length.map(Framing::Length),
        }
    }
}

fn coding(token: &[u8]) -> Coding {
    let name = token.split(|byte| *byte == b';').next().unwrap_or_default();
    match name.trim_ascii().eq_ignore_ascii_case(b"chunked") {
        false => Coding::Other,
        true if name.len() < token.len() => Coding::ChunkedWithParameters,
        true => Coding::Chunked,
    }
}

fn number(token: &[u8]) -> Result<u64, Malformed> {
    if token.is_empty() || !token.iter().all(u8::is_ascii_digit) {
        return Err("a Content-Length that is no number");
    }
    let digits = std::str::from_utf8(token).ok();
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or("a Content-Length that does not fit in 64 bits")
}

/// `bytes` with version 1.1 instead of a later 1.x, which is to be taken as the
/// highest one that we know (RFC 9110, 2.5).
fn later_minor_version(bytes: &[u8]) -> Option<Vec<u8>> {
    let minor = bytes.strip_prefix(b"HTTP/1.")?;
    if !matches!(minor, [b'2'..=b'9', b' ', ..]) {
        return None;
    }
    let mut bytes = bytes.to_vec();
    bytes[b"HTTP/1.".len()] = b'1';
    Some(bytes)
}

fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn in_words(error: httparse::Error) -> Malformed {
    match error {
        httparse::Error::HeaderName => "a malformed header field name",
        httparse::Error::HeaderValue => "a malformed header field value",
        httparse::Error::NewLine => "a malformed line end in the response head",
        httparse::Error::Status => "a malformed status line",
        httparse::Error::Token => "a malformed token in the response head",
        httparse::Error::TooManyHeaders => "more than 8192 header fields",
        httparse::Error::Version => "an HTTP version other than 1.x",
    }
}

#[cfg(test)]
mod tests {
    use super::{Framing, Head, HeadCache};

    fn parse(text: &str) -> Result<Head, &'static str> {
        HeadCache::new("GET", false).parse(text.as_bytes())
    }

    fn framing(fields: &str) -> Framing {
        parse(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")).unwrap().framing
    }

    #[test]
    fn chunked_beats_length_and_only_when_it_is_final() {
        assert_eq!(
            framing("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
            Framing::Chunked
        );
        assert_eq!(framing("Transfer-Encoding: gzip, Chunked\r\n"), Framing::Chunked);
        assert_eq!(
            framing("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
            Framing::Chunked
        );
        assert_eq!(framing("Transfer-Encoding: chunked, gzip\r\n"), Framing::UntilClose);
        assert_eq!(
            framing("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"),
            Framing::UntilClose
        );
    }

    #[test]
    fn equal_lengths_are_one_and_others_are_malformed() {
        assert_eq!(framing("Content-Length: 5\r\ncontent-length: 5, 5\r\n"), Framing::Length(5));
        for bad in ["5\r\nContent-Length: 6", "5, 6", "-5", "+5", "5a", "", "99999999999999999999"]
        {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {bad}\r\n\r\n");
            assert!(parse(&text).is_err(), "{bad}");
            let chunked = format!("Transfer-Encoding: chunked\r\nContent-Length: {bad}\r\n");
            assert_eq!(framing(&chunked), Framing::Chunked, "{bad}");
            let empty = format!("HTTP/1.1 304 X\r\nContent-Length: {bad}\r\n\r\n");
            assert_eq!(parse(&empty).unwrap().framing, Framing::Empty, "{bad}");
        }
    }

    #[test]
    fn some_responses_never_have_a_body() {
        for status in [101, 204, 304] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 100\r\n\r\n");
            assert_eq!(parse(&text).unwrap().framing, Framing::Empty, "{status}");
        }
        let head = HeadCache::new("HEAD", false)
            .parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .unwrap();
        assert_eq!((head.framing, head.keep), (Framing::Empty, true));
    }

    #[test]
    fn persistence_follows_versions_and_connection_fields() {
        let keep = |http10_request, version: &str, fields: &str| {
            let text = format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{fields}\r\n");
            HeadCache::new("GET", http10_request).parse(text.as_bytes()).unwrap().keep
        };
        assert!(keep(false, "1.1", ""));
        assert!(!keep(false, "1.1", "Connection: foo, Close\r\n"));
        assert!(!keep(false, "1.0", ""));
        assert!(keep(false, "1.0", "connection: Keep-Alive\r\n"));
        assert!(!keep(true, "1.1", ""));
        assert!(keep(true, "1.1", "Connection: keep-alive\r\n"));
        assert!(!keep(false, "1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
        assert!(!keep(true, "1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n"));
    }

    #[test]
    fn a_repeated_head_is_recognised_by_its_bytes_alone() {
        let mut cache = HeadCache::new("GET", false);
        let bytes = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(cache.repeated(bytes), None);
        let head = cache.parse(bytes).unwrap();
        assert_eq!(cache.repeated(&[&bytes[..], b"abc"].concat()), Some((bytes.len(), head)));
        assert_eq!(cache.repeated(&bytes[..bytes.len() - 1]), None);
        assert_eq!(cache.server(), Some("nginx/1.22.1"));
        let mut other = bytes.to_vec();
        other[50] = b'9';
        assert_eq!(cache.repeated(&other), None);
    }

    #[test]
    fn hundreds_of_fields_and_folded_lines_are_taken() {
        let many = "X-A: b\r\n".repeat(700);
        assert_eq!(framing(&format!("{many}Content-Length: 7\r\n")), Framing::Length(7));
        assert_eq!(framing("X: a\r\n  b\r\nContent-Length : 7\r\n"), Framing::Length(7));
    }
}
