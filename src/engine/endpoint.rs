//! Where connections go and where they come from. It knows addresses and what
//! must be set on a socket before it connects, but no driver.

use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{SocketAddrAny, SocketAddrUnix};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// The bytes of a path that fit into an address, a NUL behind them.
const LONGEST_PATH: usize = 107;

/// A place to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Over TCP.
    Tcp(SocketAddr),
    /// A stream socket in the file system.
    Unix(PathBuf),
}

impl Endpoint {
    /// True where connections have neither ports nor TIME_WAIT.
    #[must_use]
    pub const fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// The address as the kernel takes it.
    ///
    /// # Errors
    /// When a path is longer than an address can be.
    pub(crate) fn as_any(&self) -> io::Result<SocketAddrAny> {
        Ok(match self {
            Self::Tcp(address) => address.as_any(),
            Self::Unix(path) if path.as_os_str().len() > LONGEST_PATH => {
                return Err(Errno::NAMETOOLONG.into());
            }
            Self::Unix(path) => SocketAddrUnix::new(path)?.as_any(),
        })
    }
}

impl fmt::Display for Endpoint {
    /// `127.0.0.1:80`, or `unix:/run/x.sock`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// From where to where one connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The number of the endpoint.
    pub(crate) endpoint: u32,
    /// The address to come from; the kernel's choice when there is none.
    pub(crate) source: Option<IpAddr>,
}

/// Binds a TCP socket to `source` and leaves the port to connect(2), which may
/// then take one that is in use towards another destination.
pub(crate) fn bind(socket: impl AsFd, source: IpAddr) -> io::Result<()> {
    setsockopt(&socket, IpBindAddressNoPort, &true)?;
    Ok(rustix::net::bind(&socket, &SocketAddr::new(source, 0))?)
}

/// Says whether connections can come from `source`.
///
/// # Errors
/// What the kernel answers: that the address is not of this host, mostly.
pub fn check_source(source: IpAddr) -> io::Result<()> {
    // UDP: a test takes no TCP port.
    UdpSocket::bind((source, 0)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, check_source};

    #[test]
    fn endpoints_read_as_they_are_typed() {
        let tcp = Endpoint::from("[::1]:80".parse::<std::net::SocketAddr>().unwrap());
        assert_eq!(tcp.to_string(), "[::1]:80");
        assert_eq!(Endpoint::Unix("/run/x.sock".into()).to_string(), "unix:/run/x.sock");
    }

    #[test]
    fn a_path_that_no_address_holds_is_an_error() {
        let path = |length: usize| Endpoint::Unix(format!("/{}", "a".repeat(length - 1)).into());
        assert!(path(107).as_any().is_ok());
        assert!(path(108).as_any().is_err());
    }

    #[test]
    fn only_this_host_s_addresses_can_be_sources() {
        check_source("127.0.0.2".parse().unwrap()).unwrap();
        // TEST-NET-1 (RFC 5737) is nobody's.
        assert!(check_source("192.0.2.1".parse().unwrap()).is_err());
    }
}
