//! Why a plan cannot be run, in words.

use super::DRIVER_VARIABLE;
use crate::endpoint::Endpoint;
use std::net::IpAddr;

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// There is nowhere to connect.
    #[error("no address to connect to")]
    NoAddress,
    /// No socket can have that path.
    #[error("{0} is longer than the 107 bytes that the path of a socket may have")]
    LongPath(String),
    /// No connection leads from there to where the target is.
    #[error("no connection leads from source address {0} to {1}: both must be of one family")]
    Source(IpAddr, Endpoint),
    /// The URL is neither http nor https, or names no host.
    #[error("the target is no http or https URL with a host")]
    Url,
    /// No connection can make no request.
    #[error("connections, streams and threads must be at least 1")]
    NoConnections,
    /// One request at a time is all that HTTP/1 has on a connection.
    #[error("only HTTP/2 carries several requests at the same time on one connection")]
    Streams,
    /// A field that speaks of one HTTP/1 connection.
    #[error("header field {0:?} is about an HTTP/1 connection and has no place in HTTP/2")]
    NotForHttp2(String),
    /// HTTP/2 without kept connections.
    #[error("HTTP/2 connections are kept: measure new connections with HTTP/1.1")]
    NotKept,
    /// Neither a count nor a time ends the run.
    #[error("either requests or duration must be given")]
    Endless,
    /// The rate is no number of requests per second.
    #[error("{0} is no rate: requests per second are more than 0 and at most 1e9")]
    Rate(f64),
    /// The time limit of a request is zero.
    #[error("the timeout must be longer than zero")]
    NoTime,
    /// The method is no token, or one whose answer is no response.
    #[error("{0:?} is no method to load with")]
    Method(String),
    /// The request target holds a space or a control character.
    #[error("{0:?} is no request target")]
    Target(String),
    /// A field name is no token.
    #[error("{0:?} is no header field name")]
    HeaderName(String),
    /// A field value holds a line end or another control character.
    #[error("the value of header field {0:?} holds a control character")]
    HeaderValue(String),
    /// The host is no name that TLS can verify.
    #[error("{0:?} is no server name for TLS")]
    ServerName(String),
    /// The TLS library refuses its own settings.
    #[error("TLS settings: {0}")]
    Tls(String),
    /// The environment names a driver that there is not.
    #[error("{DRIVER_VARIABLE} is {0:?}, which is none of auto, tokio and io_uring")]
    Driver(String),
}
