//! benchd's own API as any client uses it: HTTP, JSON, problem documents and
//! the event stream.

use crate::exit::{Exit, Stop};
use anyhow::{Context as _, anyhow, bail};
use benchd_model::event::JobEventKind;
use benchd_model::secrets::redact_url;
use benchd_model::{FieldError, Job, JobId};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use hyper::{Method, Request, Response, StatusCode, body::Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long a service has to answer; none of what is asked here takes long.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// An event stream that says nothing for so long is broken: a comment comes
/// every 15 s.
const SILENCE: Duration = Duration::from_secs(60);

/// A client of one service.
pub(crate) struct Client {
    base: Url,
    token: Option<String>,
    http: Http<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// What the API says of an error (RFC 9457).
#[derive(serde::Deserialize)]
struct Problem {
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    errors: Vec<FieldError>,
}

impl Client {
    pub(crate) fn new(server: &str, token: Option<String>) -> anyhow::Result<Self> {
        let text = if server.ends_with('/') { server.to_owned() } else { format!("{server}/") };
        let base = Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .with_context(|| {
                let shown = redact_url(server);
                format!("{shown:?} is no server: write a URL such as http://127.0.0.1:8300")
            })?;
        if !base.username().is_empty() || base.password().is_some() {
            bail!(
                "no name or password belongs into the server's URL: a token goes into BENCHD_TOKEN or --token-file"
            );
        }
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .context("cannot read the system's certificates")?
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self { base, token, http: Http::builder(TokioExecutor::new()).build(connector) })
    }

    /// An absolute URL of the service.
    pub(crate) fn url(&self, path: &str) -> String {
        self.base.join(path.trim_start_matches('/')).map_or_else(|_| path.to_owned(), Into::into)
    }

    /// Posts a job document.
    pub(crate) async fn post_job(&self, document: &Value) -> anyhow::Result<Job> {
        self.post("jobs", document).await
    }

    /// Posts a document and reads what it made.
    pub(crate) async fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        document: &Value,
    ) -> anyhow::Result<T> {
        let request = self
            .request(Method::POST, path)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(document.to_string()))?;
        json(self.send(request).await?).await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        let request = self.request(Method::DELETE, path).body(Full::default())?;
        self.send(request).await.map(drop)
    }

    pub(crate) async fn job(&self, id: JobId) -> anyhow::Result<Job> {
        json(self.get(&format!("jobs/{id}"), "application/json").await?).await
    }

    /// Asks a job to stop; what it measured is kept. One that is over already is
    /// what was wanted.
    async fn cancel(&self, id: JobId) -> anyhow::Result<()> {
        let path = format!("jobs/{id}/cancel");
        let request = self.request(Method::POST, &path).body(Full::default())?;
        let response = self.exchange(request).await?;
        if response.status() == StatusCode::CONFLICT {
            return Ok(());
        }
        self.checked(response).await.map(drop)
    }

    /// Gets a resource as text.
    pub(crate) async fn text(&self, path: &str) -> anyhow::Result<String> {
        let body = self.get(path, "*/*").await?.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Gets a JSON resource.
    pub(crate) async fn json<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
    ) -> anyhow::Result<T> {
        json(self.get(path, "application/json").await?).await
    }

    /// Follows a job's events until it is finished. `shutdown` cancels the job,
    /// whose end is then followed all the same.
    pub(crate) async fn follow(
        &self,
        id: JobId,
        shutdown: &CancellationToken,
        on_event: &mut dyn FnMut(&JobEventKind),
    ) -> anyhow::Result<()> {
        let mut last = 0;
        tokio::select! {
            followed = self.follow_on(id, &mut last, on_event) => return followed,
            () = shutdown.cancelled() => {}
        }
        self.cancel(id).await?;
        self.follow_on(id, &mut last, on_event).await
    }

    /// Follows from behind event `last`. The stream is taken up again where it
    /// broke off, since a service may be started anew.
    async fn follow_on(
        &self,
        id: JobId,
        last: &mut u64,
        on_event: &mut dyn FnMut(&JobEventKind),
    ) -> anyhow::Result<()> {
        const TRIES: u32 = 30;
        const PAUSE: Duration = Duration::from_secs(1);
        let mut tries = 0;
        loop {
            let before = *last;
            let broken = match self.follow_once(id, last, on_event).await {
                Ok(true) => return Ok(()),
                Ok(false) => "it ended early".to_owned(),
                Err(error) if error.is::<Stop>() => return Err(error),
                Err(error) => format!("{error:#}"),
            };
            tries = if *last > before { 1 } else { tries + 1 };
            if tries == TRIES {
                let message =
                    format!("the events of job {id} cannot be heard, it goes on: {broken}");
                return Err(Stop::error(Exit::WaitExpired, message));
            }
            tracing::debug!("the event stream of job {id} broke: {broken}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// True when the last event came.
    async fn follow_once(
        &self,
        id: JobId,
        last: &mut u64,
        on_event: &mut dyn FnMut(&JobEventKind),
    ) -> anyhow::Result<bool> {
        let path = format!("jobs/{id}/events");
        let request = self
            .request(Method::GET, &path)
            .header(ACCEPT, "text/event-stream")
            .header(LAST_EVENT_ID, last.to_string())
            .body(Full::default())?;
        let mut body = self.send(request).await?.into_body();
        let mut buffer = Vec::new();
        while let Some(frame) = timeout(SILENCE, body.frame()).await.context("it fell silent")? {
            if let Ok(data) = frame?.into_data() {
                buffer.extend_from_slice(&data);
            }
            while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
                let block: Vec<u8> = buffer.drain(..end + 2).collect();
                let Some((sequence, event)) = parse_event(&String::from_utf8_lossy(&block)) else {
                    continue;
                };
                *last = sequence;
                on_event(&event);
                if matches!(event, JobEventKind::Finished { .. }) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn get(&self, path: &str, accept: &str) -> anyhow::Result<Response<Incoming>> {
        let request =
            self.request(Method::GET, path).header(ACCEPT, accept).body(Full::default())?;
        self.send(request).await
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let builder = Request::builder().method(method).uri(self.url(path));
        match &self.token {
            Some(token) => builder.header(AUTHORIZATION, format!("Bearer {token}")),
            None => builder,
        }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        let response = self.exchange(request).await?;
        self.checked(response).await
    }

    /// The answer, unless it is a refusal.
    async fn checked(&self, response: Response<Incoming>) -> anyhow::Result<Response<Incoming>> {
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Err(refusal(&self.base, status, &body))
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        let answered = timeout(ANSWER_WITHIN, self.http.request(request)).await;
        let answered = answered.with_context(|| {
            format!("{} did not answer within {} s", self.base, ANSWER_WITHIN.as_secs())
        })?;
        answered.with_context(|| format!("cannot reach {}", self.base))
    }
}

async fn json<T: serde::de::DeserializeOwned>(response: Response<Incoming>) -> anyhow::Result<T> {
    let body = response.into_body().collect().await?.to_bytes();
    serde_json::from_slice(&body).context(
        "the server's answer is not what this version expects: is it a benchd service of another version, or none?",
    )
}

/// One block of an event stream: its number and what happened.
fn parse_event(block: &str) -> Option<(u64, JobEventKind)> {
    let field = |name: &str| {
        block
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim_start))
    };
    let data: Value = serde_json::from_str(field("data")?).ok()?;
    let event = serde_json::json!({"event": field("event")?, "data": data});
    Some((field("id")?.parse().ok()?, serde_json::from_value(event).ok()?))
}

/// A refusal in the service's words; every problem of benchd has a code.
fn refusal(base: &Url, status: StatusCode, body: &[u8]) -> anyhow::Error {
    let problem = serde_json::from_slice::<Problem>(body).ok();
    let Some(problem) = problem.filter(|problem| !problem.code.is_empty()) else {
        return answered(status, strange(base, status));
    };
    let exit = if problem.code == "target_refused" { Exit::Refused } else { Exit::Usage };
    let message = if problem.detail.is_empty() { problem.title } else { problem.detail };
    answered(status, Stop { exit, message, errors: problem.errors })
}

/// An answer that no benchd gives.
fn strange(base: &Url, status: StatusCode) -> Stop {
    let message = if status.is_server_error() {
        format!("{base} answered {status}")
    } else {
        format!("{base} answered {status} and does not look like a benchd service: check --server")
    };
    Stop { exit: Exit::Usage, message, errors: Vec::new() }
}

/// A server that is in trouble may not be so later; everything else is final.
fn answered(status: StatusCode, stop: Stop) -> anyhow::Error {
    if status.is_server_error() { anyhow!(stop.message) } else { stop.into() }
}

#[cfg(test)]
mod tests {
    use super::{parse_event, refusal};
    use benchd_model::event::JobEventKind;
    use benchd_model::{JobState, Phase};
    use hyper::StatusCode;

    #[test]
    fn reads_events_and_passes_over_comments() {
        assert_eq!(
            parse_event("id: 7\nevent: phase\ndata: {\"trial\":1,\"phase\":\"measuring\"}\n\n"),
            Some((7, JobEventKind::Phase { trial: 1, phase: Phase::Measuring }))
        );
        assert_eq!(
            parse_event("event:state\nid:1\ndata:{\"state\":\"running\"}\n\n"),
            Some((1, JobEventKind::State { state: JobState::Running }))
        );
        assert_eq!(parse_event(": keep-alive\n\n"), None);
    }

    #[test]
    fn what_is_no_benchd_is_told_so() {
        let base = "http://127.0.0.1:80/".parse().unwrap();
        for body in ["<html>not found</html>", "{}", "{\"error\": \"not found\"}"] {
            let told = refusal(&base, StatusCode::NOT_FOUND, body.as_bytes()).to_string();
            assert!(told.contains("does not look like a benchd service"), "{told}");
        }
        let problem = br#"{"title": "No such job", "code": "job_not_found"}"#;
        assert_eq!(refusal(&base, StatusCode::NOT_FOUND, problem).to_string(), "No such job");
        let away = refusal(&base, StatusCode::BAD_GATEWAY, b"<html>").to_string();
        assert_eq!(away, "http://127.0.0.1/ answered 502 Bad Gateway");
    }
}
