//! What the demo loads: a real nginx when the machine has one, else a small
//! server of our own with a page and a stub_status page.

use anyhow::Context as _;
use benchd_tuning::{ManagedNginx, NginxOptions, find_nginx};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The page of the built-in target, as long as nginx's welcome page.
const PAGE_BYTES: usize = 612;

pub(super) enum DemoTarget {
    Nginx(Box<ManagedNginx>),
    BuiltIn(SocketAddr),
}

impl DemoTarget {
    /// Starts nginx, or the built-in target on a thread of its own.
    pub(super) async fn start() -> anyhow::Result<Self> {
        if find_nginx().is_some() {
            let started =
                tokio::task::spawn_blocking(|| ManagedNginx::start(NginxOptions::default()));
            let nginx = started.await.context("starting nginx panicked")??;
            return Ok(Self::Nginx(Box::new(nginx)));
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        std::thread::Builder::new()
            .name("demo-target".to_owned())
            .spawn(move || serve(listener))?;
        Ok(Self::BuiltIn(address))
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Nginx(nginx) => {
                format!("{} {} started for the demo", nginx.version(), self.url())
            }
            Self::BuiltIn(_) => {
                format!("{} built into benchd, since this machine has no nginx", self.url())
            }
        }
    }

    pub(super) fn url(&self) -> String {
        match self {
            Self::Nginx(nginx) => nginx.url("/"),
            Self::BuiltIn(address) => format!("http://{address}/"),
        }
    }

    pub(super) fn stub_status_url(&self) -> String {
        match self {
            Self::Nginx(nginx) => nginx.stub_status_url(),
            Self::BuiltIn(address) => format!("http://{address}/nginx_status"),
        }
    }
}

/// The counters of the built-in target's stub_status page.
#[derive(Default)]
struct Counters {
    active: AtomicU64,
    accepts: AtomicU64,
    requests: AtomicU64,
}

fn serve(listener: TcpListener) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let counters = Arc::new(Counters::default());
        while let Ok((stream, _)) = listener.accept().await {
            tokio::task::spawn_local(connection(stream, Arc::clone(&counters)));
        }
    });
}

async fn connection(stream: tokio::net::TcpStream, counters: Arc<Counters>) {
    counters.accepts.fetch_add(1, Relaxed);
    counters.active.fetch_add(1, Relaxed);
    let answering = Arc::clone(&counters);
    let service = service_fn(move |request: Request<Incoming>| {
        let response = answer(&request, &answering);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!("demo target: {error}");
    }
    counters.active.fetch_sub(1, Relaxed);
}

fn answer(request: &Request<Incoming>, counters: &Counters) -> Response<Full<Bytes>> {
    let requests = counters.requests.fetch_add(1, Relaxed) + 1;
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/nginx_status") => {
            let (active, accepts) = (counters.active.load(Relaxed), counters.accepts.load(Relaxed));
            let page = format!(
                "Active connections: {active} \nserver accepts handled requests\n \
                 {accepts} {accepts} {requests} \nReading: 0 Writing: 1 Waiting: {} \n",
                active.saturating_sub(1)
            );
            (StatusCode::OK, Bytes::from(page))
        }
        (&Method::GET | &Method::HEAD, "/") => {
            (StatusCode::OK, Bytes::from_static(&[b'.'; PAGE_BYTES]))
        }
        _ => (StatusCode::NOT_FOUND, Bytes::from_static(b"not found\n")),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert("server", hyper::header::HeaderValue::from_static("benchd-demo"));
    response
}
