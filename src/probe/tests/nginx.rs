//! The poller against a real nginx and against servers that misbehave.
#![expect(clippy::unwrap_used, reason = "test code; clippy only knows the test functions as such")]

use benchd_model::stub_status::{PollMoment, StubStatus, StubStatusPoll};
use benchd_probe::{PollerError, StubStatusPoller};
use benchd_tuning::{ManagedNginx, NginxOptions};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);
const PAGE: &str = "Active connections: 1 \nserver accepts handled requests\n 1 1 1 \n\
                    Reading: 0 Writing: 1 Waiting: 0 \n";

fn poller(url: &str, address: SocketAddr, timeout: Duration) -> StubStatusPoller {
    StubStatusPoller::new(&Url::parse(url).unwrap(), address, timeout).unwrap()
}

fn poller_of(nginx: &ManagedNginx) -> StubStatusPoller {
    poller(&nginx.stub_status_url(), nginx.address(), LONG)
}

async fn poll(poller: &mut StubStatusPoller) -> StubStatusPoll {
    poller.poll(PollMoment::During, || 7).await
}

async fn page(poller: &mut StubStatusPoller) -> StubStatus {
    let poll = poll(poller).await;
    poll.status.unwrap_or_else(|| panic!("{poll:?}"))
}

fn started(options: NginxOptions) -> ManagedNginx {
    ManagedNginx::start(options).unwrap_or_else(|error| panic!("{error}"))
}

/// A server that answers the n-th connection's first request with the n-th
/// text, closes, and gives the requests it read when all texts are gone.
async fn scripted(answers: Vec<String>) -> (SocketAddr, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(read_head(&mut stream).await);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    });
    (address, served)
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Polls a server that gives one answer and closes.
async fn error_of(answer: &str) -> (String, StubStatusPoll) {
    let (address, _served) = scripted(vec![answer.to_owned()]).await;
    let poll = poll(&mut poller("http://x/", address, LONG)).await;
    assert!(poll.status.is_none(), "{poll:?}");
    (poll.error.clone().unwrap(), poll)
}

#[tokio::test]
async fn a_poll_costs_nginx_one_request_and_no_connection() {
    let nginx = started(NginxOptions::default());
    let mut poller = poller_of(&nginx);
    let first = poller.poll(PollMoment::Before, || -5).await;
    assert_eq!((first.offset_us, first.moment), (-5, PollMoment::Before));
    assert!(first.sent && first.connected, "{first:?}");
    assert_eq!(first.software.as_deref(), Some(nginx.version()));
    let begin = first.status.unwrap();
    assert_eq!((begin.active, begin.reading, begin.writing, begin.waiting), (1, 0, 1, 0));
    for polls in 1..=50 {
        let next = poll(&mut poller).await;
        assert!(next.sent && !next.connected, "{next:?}");
        let status = next.status.unwrap();
        assert_eq!(status.requests, begin.requests + polls);
        assert_eq!((status.accepts, status.handled), (begin.accepts, begin.handled));
        assert!(next.at >= first.at);
    }
}

#[tokio::test]
async fn a_connection_that_nginx_ends_in_order_is_replaced_without_a_failure() {
    let nginx = started(NginxOptions { keepalive_requests: 3, ..NginxOptions::default() });
    let mut poller = poller_of(&nginx);
    let mut connected = Vec::new();
    for _ in 0..6 {
        let poll = poll(&mut poller).await;
        assert!(poll.status.is_some(), "{poll:?}");
        connected.push(poll.connected);
    }
    assert_eq!(connected, [true, false, false, true, false, false]);
}

#[tokio::test]
async fn a_stopped_nginx_is_a_failed_poll_and_a_started_one_is_found_again() {
    let mut nginx = started(NginxOptions::default());
    let mut poller = poller_of(&nginx);
    for _ in 0..10 {
        page(&mut poller).await;
    }
    let before = page(&mut poller).await;
    nginx.stop().unwrap();
    // The first may still go into the closed connection, the next cannot.
    poll(&mut poller).await;
    let down = poll(&mut poller).await;
    assert!(!down.sent && !down.connected && down.status.is_none(), "{down:?}");
    assert!(down.error.as_deref().unwrap().contains("Connection refused"), "{down:?}");
    nginx.restart().unwrap();
    let up = poll(&mut poller).await;
    assert!(up.sent && up.connected, "{up:?}");
    assert!(up.status.unwrap().requests < before.requests, "counters begin anew");
}

#[tokio::test]
async fn a_reload_costs_at_most_a_connection() {
    let mut nginx = started(NginxOptions::default());
    let mut poller = poller_of(&nginx);
    let before = page(&mut poller).await;
    nginx.reload().unwrap();
    let after = poll(&mut poller).await;
    assert!(after.status.is_some_and(|status| status.requests > before.requests), "{after:?}");
}

#[tokio::test]
async fn a_page_behind_a_password_is_read_with_the_urls_credentials() {
    let (address, served) = scripted(vec![ok(PAGE)]).await;
    let mut poller = poller("http://us%20er:p%2B+w@status.example:8080/s?x=1#f", address, LONG);
    assert!(poll(&mut poller).await.status.is_some());
    let request = served.await.unwrap().remove(0);
    assert!(request.starts_with("GET /s?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("host: status.example:8080\r\n"), "{request}");
    // base64 of "us er:p++w"
    assert!(request.contains("authorization: Basic dXMgZXI6cCsrdw==\r\n"), "{request}");
}

#[tokio::test]
async fn a_server_that_hangs_fails_the_poll_in_time_and_not_the_next_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut poller = poller("http://x/", address, SHORT);
    let hung = poll(&mut poller).await;
    assert!(hung.sent && hung.connected && hung.status.is_none(), "{hung:?}");
    assert!(hung.error.as_deref().unwrap().contains("no complete answer"), "{hung:?}");
    assert!(hung.took_us >= 100_000, "{hung:?}");
    let (mut given_up, _) = listener.accept().await.unwrap();
    read_head(&mut given_up).await;
    assert_eq!(given_up.read(&mut [0; 1]).await.unwrap(), 0, "the hung connection is given up");
    let again = poll(&mut poller).await;
    assert!(again.connected && again.sent, "{again:?}");
    assert!(listener.accept().await.is_ok());
}

#[tokio::test]
async fn what_is_no_status_page_is_named() {
    let (html, poll) = error_of(&ok("<html>Welcome to nginx!</html>")).await;
    assert!(html.contains("HTML") && poll.sent && poll.connected, "{html}");
    let (missing, _) =
        error_of("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nServer: other/2\r\n\r\n").await;
    assert!(missing.contains("404 Not Found"), "{missing}");
    let (moved, poll) =
        error_of("HTTP/1.1 301 Moved\r\nLocation: https://x/\r\nServer: other/2\r\nContent-Length: 0\r\n\r\n").await;
    assert!(moved.contains("301") && moved.contains("https://x/"), "{moved}");
    assert_eq!(poll.software.as_deref(), Some("other/2"));
    let (junk, _) = error_of("SSH-2.0-OpenSSH_9.2\r\n\r\n").await;
    assert!(junk.contains("not HTTP"), "{junk}");
    let (large, _) = error_of(&ok(&"x".repeat(64 * 1024 + 1))).await;
    assert!(large.contains("larger than 64 KiB"), "{large}");
}

#[tokio::test]
async fn a_connection_closed_early_is_named() {
    let (silent, poll) = error_of("").await;
    assert!(silent.contains("closed without an answer") && poll.sent, "{silent}");
    let (cut, _) = error_of(&ok(PAGE)[..80]).await;
    assert!(cut.contains("cut short"), "{cut}");
    let (head, _) = error_of("HTTP/1.1 200 OK\r\nContent-Le").await;
    assert!(head.contains("closed"), "{head}");
}

#[tokio::test]
async fn every_failure_is_followed_by_a_new_connection() {
    let bad = ok("<html>");
    let (address, served) = scripted(vec![bad.clone(), ok(PAGE), bad, ok(PAGE)]).await;
    let mut poller = poller("http://x/", address, LONG);
    for good in [false, true, false, true] {
        let poll = poll(&mut poller).await;
        assert_eq!((poll.status.is_some(), poll.connected), (good, true), "{poll:?}");
    }
    assert_eq!(served.await.unwrap().len(), 4);
}

#[test]
fn only_http_is_polled() {
    let address = "127.0.0.1:443".parse().unwrap();
    let url = Url::parse("https://user:secret@x/nginx_status").unwrap();
    let error = StubStatusPoller::new(&url, address, LONG).err().unwrap();
    assert_eq!(error, PollerError::Scheme { scheme: "https".into() });
    assert!(!error.to_string().contains("secret"));
}
