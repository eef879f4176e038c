//! Which addresses may be loaded, whoever says that a host has them.

use super::{Refusal, RegisteredTarget};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Url;

/// Who says that a host has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Resolver,
    Job,
}

pub(super) fn check_address(
    url: &Url,
    address: IpAddr,
    entry: Option<&RegisteredTarget>,
    origin: Origin,
) -> Result<(), Refusal> {
    let host = host_of(url);
    if is_never_allowed(address) {
        return Err(Refusal(format!(
            "{host} is refused: {address} is a link-local, metadata or multicast address, which benchd never loads"
        )));
    }
    if address.is_loopback() {
        return Ok(());
    }
    let Some(entry) = entry else {
        return Err(Refusal(format!(
            "{host} ({address}) is refused: only loopback targets may be loaded until the target is \
             registered under [[targets]] in benchd.toml"
        )));
    };
    let listed = entry.allowed_cidrs.iter().any(|range| range.contains(&address))
        || entry.resolve.iter().any(|known| canonical(*known) == address);
    if listed || (origin == Origin::Resolver && !is_private(address)) {
        return Ok(());
    }
    let what = match origin {
        Origin::Resolver => "a private address",
        Origin::Job => "an address that the job itself gives",
    };
    Err(Refusal(format!(
        "{host} ({address}) is refused: {what} needs a range in allowed_cidrs of target {:?}",
        entry.name
    )))
}

pub(super) fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or("the target")
}

/// IPv4 addresses hidden in IPv6 forms come out as IPv4.
pub(super) fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    if let Some(mapped) = v6.to_ipv4_mapped() {
        return IpAddr::V4(mapped);
    }
    let s = v6.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        // 6to4
        [0x2002, high, low, ..] => embedded(high, low),
        // NAT64, well-known prefix
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // IPv4-compatible, but for :: and ::1
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => embedded(high, low),
        // Teredo carries the client address inverted
        [0x2001, 0, .., high, low] => embedded(!high, !low),
        _ => address,
    }
}

fn is_never_allowed(address: IpAddr) -> bool {
    const METADATA_V4: [Ipv4Addr; 2] =
        [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
    const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254);
    match address {
        IpAddr::V4(v4) => {
            v4.is_link_local()
                || v4.is_multicast()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || METADATA_V4.contains(&v4)
        }
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.is_unspecified()
                || v6 == METADATA_V6
        }
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            // RFC 1918, RFC 6598 shared space, RFC 2544 benchmarking, 0.0.0.0/8, 240.0.0.0/4
            v4.is_private()
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (b == 18 || b == 19))
                || a == 0
                || a >= 240
        }
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}
