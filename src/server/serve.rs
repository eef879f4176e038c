//! The listening side: accepts connections, bounds what a client may keep open
//! or send, and ends in order.

use crate::config::{App, ServerConfig};
use crate::router::assemble;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// A head that did not arrive by then closes the connection; so does a
/// connection without a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Most bytes buffered for a head. Well above what `guard` allows, so that it
/// answers with a problem before the connection gives up.
const HEAD_BUFFER: usize = 128 * 1024;

/// Most header fields; the bytes are limited by `guard`.
const MAX_FIELDS: usize = 512;

/// How long open connections may take to end after a stop.
const DRAIN: Duration = Duration::from_secs(5);

/// The pause after `accept` failed, mostly for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the API on `listener` until `shutdown`; then no connection is
/// accepted, waits and event streams end, and requests in flight are finished
/// for up to five seconds.
///
/// # Errors
/// When the listener has no address, or when it is not a loopback one and there
/// is no token: the service would start load for everyone who can reach it.
pub async fn serve(
    listener: TcpListener,
    config: ServerConfig,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    if config.token.is_none() && !address.ip().is_loopback() {
        let refusal = format!("{address} is no loopback address: serving it needs a token");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, refusal));
    }
    let service = TowerToHyperService::new(assemble(App::new(config, shutdown.clone())));
    let http = http();
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        let Some(stream) = accepted_stream(accepted).await else { continue };
        let connection = http.serve_connection(TokioIo::new(stream), service.clone());
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time and are broken off");
    }
    Ok(())
}

fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BUFFER)
        .max_headers(MAX_FIELDS);
    http
}

/// The connection, ready for small answers. A failed accept is logged and
/// passes: the connection is gone, or descriptors are short for a while.
async fn accepted_stream(
    accepted: io::Result<(TcpStream, std::net::SocketAddr)>,
) -> Option<TcpStream> {
    match accepted {
        Ok((stream, _)) => {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set");
            }
            Some(stream)
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}
