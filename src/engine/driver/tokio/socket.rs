//! A byte stream to an endpoint of either kind, opened without blocking.

use crate::driver::failure::met_itself;
use crate::endpoint::{self, Endpoint};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

/// A connected socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(super) async fn open(endpoint: &Endpoint, source: Option<IpAddr>) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp(address) => open_tcp(*address, source).await.map(Self::Tcp),
            Endpoint::Unix(path) => UnixStream::connect(path).await.map(Self::Unix),
        }
    }

    /// Does `work` if the runtime has heard that something can be read.
    pub(super) fn try_read<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Tcp(stream) => stream.try_io(Interest::READABLE, work),
            Self::Unix(stream) => stream.try_io(Interest::READABLE, work),
        }
    }

    /// Ready when the runtime has heard that something can be read.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<()> {
        let heard = match self {
            Self::Tcp(stream) => stream.poll_read_ready(context),
            Self::Unix(stream) => stream.poll_read_ready(context),
        };
        heard.map(drop)
    }
}

async fn open_tcp(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_nodelay(true)?;
    if let Some(source) = source {
        endpoint::bind(&socket, source)?;
    }
    let stream = socket.connect(address).await?;
    if address.ip().is_loopback() && stream.local_addr()? == address {
        return Err(met_itself());
    }
    Ok(stream)
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
