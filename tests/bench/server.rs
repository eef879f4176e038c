//! The one nginx that everything is measured against, and its counter.

use crate::works::Exchange;
use benchd_tuning::{ManagedNginx, NginxOptions, TlsFiles};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The body of one of the articles that benchmark nginx.
const LARGE_BYTES: u64 = 53_339;
/// How long nginx may take to see that a client is gone: a connection whose
/// last packet was lost stays until its `keepalive_timeout` of 75 s.
const SETTLING: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Server {
    nginx: ManagedNginx,
    /// nginx before 1.25 speaks only HTTP/2 on a plain port that speaks it at all.
    http2_url: String,
    /// How often its counter was read, which it counts.
    reads: Cell<u64>,
    _certificate: TempDir,
}

impl Server {
    /// One worker on processor 1; TLS 1.3 with one cipher for everybody.
    pub(crate) fn start() -> Self {
        Self::start_with(NginxOptions::default().backlog)
    }

    pub(crate) fn start_with(backlog: u32) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let http2_port = free_port();
        let nginx = ManagedNginx::start(NginxOptions {
            workers: 1,
            cpu_affinity: Some("10".to_owned()),
            backlog,
            worker_connections: 16_384,
            keepalive_requests: 1_000_000_000,
            large_bytes: LARGE_BYTES,
            tls: Some(self_signed(&folder)),
            http_extra: "ssl_protocols TLSv1.3; ssl_prefer_server_ciphers on;".to_owned(),
            server_extra: format!("listen 127.0.0.1:{http2_port} http2;"),
            ..NginxOptions::default()
        })
        .unwrap_or_else(|why| panic!("{why}"));
        let http2_url = format!("http://127.0.0.1:{http2_port}/");
        Self { nginx, http2_url, reads: Cell::new(0), _certificate: folder }
    }

    pub(crate) fn version(&self) -> &str {
        self.nginx.version()
    }

    /// What clients ask for in this kind of exchange.
    pub(crate) fn url(&self, exchange: Exchange) -> String {
        match exchange {
            Exchange::KeepAlive | Exchange::Close => self.nginx.url("/"),
            Exchange::Large => self.nginx.url("/large"),
            Exchange::Tls => self.nginx.tls_url("/").expect("this nginx has a TLS listener"),
            Exchange::Http2 => self.http2_url.clone(),
        }
    }

    pub(crate) fn stub_status_url(&self) -> String {
        self.nginx.stub_status_url()
    }

    /// Requests that nginx counted so far, our own readings left out. Waits
    /// until nobody is connected, so that what a client left behind is in.
    pub(crate) fn requests(&self) -> u64 {
        let deadline = Instant::now() + SETTLING;
        loop {
            let page = self.status_page();
            let (active, requests) = counters(&page);
            if active == 1 {
                return requests - self.reads.get();
            }
            assert!(Instant::now() < deadline, "nginx still has {active} connections");
            std::thread::sleep(PAUSE);
        }
    }

    fn status_page(&self) -> String {
        let mut stream = TcpStream::connect(self.nginx.address()).expect("nginx accepts");
        stream.write_all(b"GET /nginx_status HTTP/1.0\r\n\r\n").expect("nginx takes the request");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("nginx answers with text");
        self.reads.set(self.reads.get() + 1);
        page
    }
}

/// Active connections, this one included, and requests.
fn counters(page: &str) -> (u64, u64) {
    let active = page.lines().find_map(|line| line.strip_prefix("Active connections:"));
    let below = page.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1);
    let requests = below.and_then(|line| line.split_whitespace().nth(2));
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
    number(active).zip(number(requests)).unwrap_or_else(|| panic!("no counters in {page:?}"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a listener has an address").port()
}

fn self_signed(folder: &TempDir) -> TlsFiles {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let files = TlsFiles {
        certificate: folder.path().join("certificate.pem"),
        key: folder.path().join("key.pem"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).expect("the certificate is written");
    std::fs::write(&files.key, made.signing_key.serialize_pem()).expect("the key is written");
    files
}
