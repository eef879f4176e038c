//! What a managed nginx shall be like.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// A certificate and its key for the TLS listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate chain, PEM. nginx's master process must be able to read it.
    pub certificate: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
}

/// The options of a managed nginx. Every default suits a load test on loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NginxOptions {
    /// The binary; found by [`crate::find_nginx`] when it is not named.
    pub binary: Option<PathBuf>,
    /// The address to listen on.
    pub listen: IpAddr,
    /// The plain port; 0 picks a free one.
    pub port: u16,
    /// Queue length of each listener; the kernel's somaxconn caps it.
    pub backlog: u32,
    /// One listening socket per worker.
    pub reuseport: bool,
    /// Worker processes.
    pub workers: u32,
    /// Connection slots per worker. No more than the descriptor limit allows
    /// are rendered.
    pub worker_connections: u32,
    /// `worker_cpu_affinity`, as nginx reads it (`auto`, or masks: `01 10`).
    pub cpu_affinity: Option<String>,
    /// Requests after which nginx closes a kept connection.
    pub keepalive_requests: u64,
    /// Seconds after which nginx closes an idle connection; 0 turns keep-alive off.
    pub keepalive_timeout_s: u32,
    /// Size of `/` (index.html) in bytes.
    pub body_bytes: u64,
    /// Size of `/large` in bytes.
    pub large_bytes: u64,
    /// Whether each request is logged, to `logs/access.log`.
    pub access_log: bool,
    /// A second listener that speaks TLS, on a port of its own.
    pub tls: Option<TlsFiles>,
    /// A further listener that speaks HTTP/2 without TLS, on a port of its own;
    /// the TLS listener then speaks it, too.
    pub http2: bool,
    /// Directives for the main context.
    pub main_extra: String,
    /// Directives for the http block.
    pub http_extra: String,
    /// Directives and locations for the server block.
    pub server_extra: String,
}

impl Default for NginxOptions {
    fn default() -> Self {
        Self {
            binary: None,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            backlog: 4096,
            reuseport: false,
            workers: 1,
            worker_connections: 16_384,
            cpu_affinity: None,
            keepalive_requests: 1_000_000_000,
            keepalive_timeout_s: 75,
            body_bytes: 612,
            large_bytes: 1 << 20,
            access_log: false,
            tls: None,
            http2: false,
            main_extra: String::new(),
            http_extra: String::new(),
            server_extra: String::new(),
        }
    }
}
