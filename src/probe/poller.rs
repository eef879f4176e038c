//! Polls a stub_status page over one persistent connection. Owns that
//! connection and what a poll says of it; knows no schedule and no job.

use crate::parse::parse_stub_status;
use crate::watched::{Watched, Written};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use benchd_model::Timestamp;
use benchd_model::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, LOCATION, SERVER, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use url::Url;

/// The most of an answer that is read, in bytes; head and body each.
const MAX_ANSWER: usize = 64 * 1024;
/// How much of a header value is kept, in characters.
const MAX_HEADER: usize = 200;

/// Why a URL cannot be polled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PollerError {
    /// Only plain HTTP is polled.
    #[error(
        "a stub_status page cannot be polled over {scheme}: give an http URL, such as a location \
         with `stub_status;` on a loopback listener"
    )]
    Scheme {
        /// The scheme that was given.
        scheme: String,
    },
    /// The URL cannot be put into a request.
    #[error("{url} cannot be requested: {reason}")]
    Url {
        /// The URL without credentials.
        url: String,
        /// Why not.
        reason: String,
    },
}

/// Polls one stub_status page at one pinned address.
///
/// Between polls the connection is kept, so that a poll costs nginx one
/// request and no accept. After a failure the next poll opens a new one.
/// Needs a tokio runtime with I/O and time.
pub struct StubStatusPoller {
    address: SocketAddr,
    head: Head,
    timeout: Duration,
    link: Option<Link>,
}

/// What every request of one poller says.
struct Head {
    target: Uri,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
}

/// An open connection and the task that drives it.
struct Link {
    sender: SendRequest<Empty<Bytes>>,
    written: Written,
    driver: JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Why an attempt gave no page.
enum Failure {
    /// Nothing was written, so that a new connection may be tried.
    Unsent(String),
    /// Everything else.
    Final(String),
}

impl StubStatusPoller {
    /// Prepares a poller; nothing is opened yet. The page's URL gives the Host
    /// header, the path and, from `user:password@`, basic authentication;
    /// `address` is where the connection goes, whatever the host says.
    /// `timeout` bounds each poll, connecting included.
    ///
    /// # Errors
    /// [`PollerError`] when the URL is not http or cannot be requested.
    pub fn new(url: &Url, address: SocketAddr, timeout: Duration) -> Result<Self, PollerError> {
        if url.scheme() != "http" {
            return Err(PollerError::Scheme { scheme: url.scheme().to_owned() });
        }
        Ok(Self { address, head: Head::of(url)?, timeout, link: None })
    }

    /// Reads the page once. Failing is an answer, too: the poll says why.
    /// `offset_us` gives the moment on the trial's own time scale and is asked
    /// when the answer is complete or the poll has failed.
    pub async fn poll(
        &mut self,
        moment: PollMoment,
        offset_us: impl FnOnce() -> i64,
    ) -> StubStatusPoll {
        let begin = Instant::now();
        if let Some(link) = &self.link {
            link.written.reset();
        }
        let mut notes = Notes::default();
        let answer = tokio::time::timeout(self.timeout, self.read_page(&mut notes)).await;
        let (took, offset_us, at) = (begin.elapsed(), offset_us(), Timestamp::now());
        let (status, error, sent) = match answer {
            Ok(Ok(page)) => (Some(page), None, true),
            Ok(Err(reason)) => (None, Some(reason), self.hang_up().await),
            Err(_) => {
                let sent = self.hang_up().await;
                let missing =
                    if notes.connected || sent { "complete answer" } else { "connection" };
                (
                    None,
                    Some(format!("no {missing} from {} within {:?}", self.address, self.timeout)),
                    sent,
                )
            }
        };
        StubStatusPoll {
            at,
            offset_us,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            moment,
            sent,
            connected: notes.connected,
            status,
            error,
            software: notes.software,
        }
    }

    /// Reads the page; a kept connection that turns out closed before anything
    /// was written to it is replaced once.
    async fn read_page(&mut self, notes: &mut Notes) -> Result<StubStatus, String> {
        let reused = self.has_open_link().await;
        match self.attempt(notes).await {
            Err(Failure::Unsent(_)) if reused => {
                self.link = None;
                self.attempt(notes).await.map_err(Failure::reason)
            }
            other => other.map_err(Failure::reason),
        }
    }

    /// Drops the connection when its peer has closed it.
    async fn has_open_link(&mut self) -> bool {
        // The driver task may hold the news of a close that it has not read yet.
        tokio::task::yield_now().await;
        if self.link.as_ref().is_some_and(|link| link.sender.is_closed()) {
            self.link = None;
        }
        self.link.is_some()
    }

    async fn attempt(&mut self, notes: &mut Notes) -> Result<StubStatus, Failure> {
        let link = match &mut self.link {
            Some(link) => link,
            none => none.insert(Link::open(self.address, notes).await.map_err(Failure::Final)?),
        };
        let response = link.ask(&self.head).await?;
        notes.software = response.headers().get(SERVER).map(shown);
        let text = body_of(response).await.map_err(Failure::Final)?;
        parse_stub_status(&text).map_err(|error| Failure::Final(error.to_string()))
    }

    /// Closes the connection; true when the poll had been written to it.
    async fn hang_up(&mut self) -> bool {
        let Some(mut link) = self.link.take() else { return false };
        link.driver.abort();
        // Only once the driver is gone can nothing more be written.
        if let Err(error) = (&mut link.driver).await
            && error.is_panic()
        {
            tracing::error!(%error, "the poller's connection task panicked");
        }
        link.written.any()
    }
}

/// What an attempt learns on its way, also when it fails.
#[derive(Default)]
struct Notes {
    connected: bool,
    software: Option<String>,
}

impl Failure {
    fn reason(self) -> String {
        match self {
            Self::Unsent(reason) | Self::Final(reason) => reason,
        }
    }
}

impl Link {
    async fn open(address: SocketAddr, notes: &mut Notes) -> Result<Self, String> {
        let failed = |error: &dyn Error| format!("cannot connect to {address}: {}", chain(error));
        let stream = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
        notes.connected = true;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let (stream, written) = Watched::new(stream);
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_ANSWER)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the poller's connection ended");
            }
        });
        Ok(Self { sender, written, driver })
    }

    /// Sends one request and gives the head of its answer.
    async fn ask(&mut self, head: &Head) -> Result<Response<Incoming>, Failure> {
        if let Err(error) = self.sender.ready().await {
            return Err(Failure::Unsent(chain(&error)));
        }
        self.sender.try_send_request(head.request()).await.map_err(|mut refused| {
            let unsent = refused.take_message().is_some();
            let reason = match refused.into_error() {
                error if error.is_incomplete_message() => {
                    "the connection was closed without an answer".to_owned()
                }
                error if error.is_parse() => format!("the answer is not HTTP: {}", chain(&error)),
                error => chain(&error),
            };
            if unsent { Failure::Unsent(reason) } else { Failure::Final(reason) }
        })
    }
}

impl Head {
    fn of(url: &Url) -> Result<Self, PollerError> {
        let shown =
            || url[..url::Position::BeforeUsername].to_owned() + &url[url::Position::BeforeHost..];
        let refused =
            |reason: &dyn Error| PollerError::Url { url: shown(), reason: reason.to_string() };
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        Ok(Self {
            target: target.parse::<Uri>().map_err(|error| refused(&error))?,
            host: HeaderValue::from_str(host).map_err(|error| refused(&error))?,
            authorization: authorization(url),
        })
    }

    fn request(&self) -> Request<Empty<Bytes>> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = self.target.clone();
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        let agent = concat!("benchd/", env!("CARGO_PKG_VERSION"), " (stub_status)");
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(value) = &self.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
        request
    }
}

/// Basic authentication from the URL's own credentials.
fn authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair = percent_decoded(url.username());
    pair.push(b':');
    pair.extend(percent_decoded(url.password().unwrap_or("")));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    // An urlencoded pair decodes `+` as a blank, which userinfo does not.
    let escaped = text.replace('+', "%2B");
    url::form_urlencoded::parse(format!("v={escaped}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned().into_bytes())
        .unwrap_or_default()
}

async fn body_of(response: Response<Incoming>) -> Result<String, String> {
    let status = response.status();
    if status != StatusCode::OK {
        let location = response.headers().get(LOCATION);
        let to = location.map(|to| format!(" (a redirect to {}, not followed)", shown(to)));
        return Err(format!(
            "the answer is {status}{}; a stub_status page answers 200",
            to.unwrap_or_default()
        ));
    }
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await.map_err(|error| {
        if error.downcast_ref::<LengthLimitError>().is_some() {
            format!(
                "the page is larger than {} KiB; a stub_status page has four lines",
                MAX_ANSWER / 1024
            )
        } else {
            format!("the answer was cut short: {}", chain(error.as_ref()))
        }
    })?;
    String::from_utf8(body.to_bytes().into()).map_err(|_| {
        "the page is not text (no UTF-8); a stub_status page has four lines of text".to_owned()
    })
}

fn shown(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().take(MAX_HEADER).collect()
}

/// An error with its causes, as one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
