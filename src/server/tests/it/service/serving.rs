use crate::app::{TestApp, promptly};
use crate::samples::job;
use benchd_model::policy::TargetPolicy;
use benchd_server::{ServerConfig, serve};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const LIMIT: Duration = Duration::from_secs(30);

/// The service on a port of its own.
struct Served {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

async fn start(app: &TestApp) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let config = ServerConfig {
        store: app.store.clone(),
        policy: Arc::new(TargetPolicy::default()),
        token: None,
    };
    let task = tokio::spawn(serve(listener, config, stop.clone()));
    Served { address, stop, task }
}

impl Served {
    async fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn stop(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(LIMIT, self.task).await;
        ended.expect("the service ends").unwrap().unwrap();
    }
}

async fn read_all(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    tokio::time::timeout(LIMIT, stream.read_to_end(&mut text)).await.unwrap().unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{fields}\r\n")
}

#[tokio::test]
async fn it_answers_over_tcp() {
    let app = TestApp::new().await;
    let served = start(&app).await;
    let answer = read_all(served.send(&get("/livez", "")).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let head = read_all(served.send(&get("/jobs", "").replace("GET", "HEAD")).await).await;
    assert!(head.ends_with("\r\n\r\n"), "no body after HEAD: {head}");
    served.stop().await;
}

#[tokio::test]
async fn large_heads_are_problems_over_tcp_too() {
    let app = TestApp::new().await;
    let served = start(&app).await;
    let fields: String =
        (0..300).map(|n| format!("X-Field-{n}: {}\r\n", "v".repeat(100))).collect();
    let answer = read_all(served.send(&get("/jobs", &fields)).await).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
    let answer =
        read_all(served.send(&get(&format!("/jobs?{}", "x".repeat(20_000)), "")).await).await;
    assert!(answer.starts_with("HTTP/1.1 414 "), "{answer}");
    served.stop().await;
}

#[tokio::test]
async fn a_stop_ends_waits_and_event_streams() {
    let app = TestApp::new().await;
    let id = app.queue(&job()).await;
    let served = start(&app).await;
    let mut events = served.send(&get(&format!("/jobs/{id}/events"), "")).await;
    let mut first = [0; 512];
    assert!(events.read(&mut first).await.unwrap() > 0);
    let mut waiting = served.send(&get(&format!("/jobs/{id}"), "Prefer: wait=50\r\n")).await;
    let idle = TcpStream::connect(served.address).await.unwrap();
    // Its request was read when another one sent later is answered.
    read_all(served.send(&get("/livez", "")).await).await;
    let (address, stopped) = (served.address, served.stop());
    let ended = tokio::time::timeout(LIMIT, stopped);
    let ((), text) = tokio::join!(async { ended.await.expect("in order") }, async {
        let mut text = String::new();
        waiting.read_to_string(&mut text).await.unwrap();
        text
    });
    assert!(text.starts_with("HTTP/1.1 200 ") && text.contains("\"queued\""), "{text}");
    read_all(events).await;
    drop(idle);
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn without_a_token_only_loopback_is_served() {
    let app = TestApp::new().await;
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let config = ServerConfig {
        store: app.store.clone(),
        policy: Arc::new(TargetPolicy::default()),
        token: None,
    };
    let served = promptly(serve(listener, config, CancellationToken::new())).await;
    let refused = served.unwrap_err();
    assert!(refused.to_string().contains("token"), "{refused}");
}
