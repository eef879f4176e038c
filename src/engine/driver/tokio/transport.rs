//! A connection's byte stream, plain or TLS, polled with a borrowed buffer.

use super::socket::Socket;
use rustix::net::RecvFlags;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

/// An open byte stream to the server.
#[derive(Debug)]
pub(super) enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// What a look at an idle stream found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Nothing: it may be used.
    Quiet,
    /// The peer has closed it.
    Closed,
    /// Bytes that nobody asked for.
    Bytes,
}

impl Transport {
    /// Reads what is there; 0 at the end of the stream. A short read also
    /// tells the runtime that the socket is drained, so no probe follows.
    #[inline]
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, &mut buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, &mut buffer),
        })?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Ready when there may be something to read. The context is left with the
    /// stream otherwise, without a system call.
    #[inline]
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Plain(socket) => socket.poll_readable(context),
            // A part of a record may be all that there was.
            Self::Tls(_) => Poll::Ready(()),
        }
    }

    #[inline]
    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    /// Pushes out what TLS still holds back.
    #[inline]
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// Looks at a stream on which nothing is due, and takes no byte away. On a
    /// plain one this costs a system call only when the runtime has heard of
    /// something.
    #[inline]
    pub(super) fn look(&mut self, context: &mut Context<'_>) -> Idle {
        let mut byte = [0];
        let read = match self {
            Self::Plain(socket) => {
                socket.try_read(|| Ok(rustix::net::recv(&*socket, &mut byte, RecvFlags::PEEK)?.0))
            }
            Self::Tls(stream) => match Pin::new(stream).poll_fill_buf(context) {
                Poll::Ready(buffered) => buffered.map(<[u8]>::len),
                Poll::Pending => return Idle::Quiet,
            },
        };
        match read {
            Ok(0) => Idle::Closed,
            Ok(_) => Idle::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Idle::Quiet,
            Err(_) => Idle::Closed,
        }
    }

    /// What the server agreed to speak under TLS; none without TLS.
    pub(super) fn agreed_protocol(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => Some(stream.get_ref().1.alpn_protocol().unwrap_or_default()),
        }
    }

    /// TLS version and cipher suite, if there is any.
    pub(super) fn describe_tls(&self) -> Option<String> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => crate::tls::describe(stream.get_ref().1),
        }
    }
}
