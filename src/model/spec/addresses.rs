//! Addresses in a job document: of the target, of this host, and in the file
//! system.

use super::TargetSpec;
use super::fields::{Errors, Fields, item_text, list};
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use url::{Host, Url};

/// The most addresses in one list.
const MOST_ADDRESSES: usize = 256;

/// The bytes that the path of a socket may have: 108 with the NUL behind them.
const LONGEST_PATH: usize = 107;

/// `target.resolve`: addresses used instead of a lookup.
pub(super) fn resolve(fields: &mut Fields<'_>, errors: &mut Errors) -> Option<Vec<IpAddr>> {
    addresses(fields.take("resolve"), "/target/resolve", read, errors)
}

/// `load.source_addresses`: addresses of this host to come from.
pub(super) fn sources(fields: &mut Fields<'_>, errors: &mut Errors) -> Vec<IpAddr> {
    const POINTER: &str = "/load/source_addresses";
    let read = |item: &Value| {
        let address = read(item)?;
        if address.is_unspecified() || address.is_multicast() {
            return Err(format!("{address} is no address of this host to come from"));
        }
        Ok(address)
    };
    let sources = addresses(fields.take("source_addresses"), POINTER, read, errors);
    let sources = sources.unwrap_or_default();
    if sources.iter().any(|source| source.is_ipv4() != sources[0].is_ipv4()) {
        errors.add(POINTER, "holds IPv4 and IPv6 addresses: give those of the target's family");
    }
    sources
}

/// Sources must lead to the target, as far as its addresses stand in the document.
pub(super) fn check_sources(target: &TargetSpec, sources: &[IpAddr], errors: &mut Errors) {
    if target.unix_socket.is_some() && !sources.is_empty() {
        errors.add("/load/source_addresses", "leads to no unix socket: leave it out");
    }
    let literal = match Url::parse(&target.url).ok().as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
        _ => None,
    };
    let known = match target.resolve.as_slice() {
        [] => literal.as_slice(),
        given => given,
    };
    for (index, source) in sources.iter().enumerate() {
        let leads = |address: &IpAddr| address.is_ipv4() == source.is_ipv4();
        if !known.is_empty() && !known.iter().any(leads) {
            let (own, right) = if source.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            let why =
                format!("{source} leads nowhere: the target has no {own} address, give {right}");
            errors.add(&format!("/load/source_addresses/{index}"), &why);
        }
    }
}

fn addresses(
    value: Option<&Value>,
    pointer: &str,
    read: impl Fn(&Value) -> Result<IpAddr, String>,
    errors: &mut Errors,
) -> Option<Vec<IpAddr>> {
    let addresses = list(value, pointer, read, errors)?;
    if addresses.len() > MOST_ADDRESSES {
        let many = addresses.len();
        errors.add(pointer, &format!("holds {many} addresses: at most {MOST_ADDRESSES}"));
    }
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            errors.add(pointer, &format!("names {address} twice: each address stands once"));
        }
    }
    Some(addresses)
}

fn read(item: &Value) -> Result<IpAddr, String> {
    let text = item_text(item)?;
    text.parse().map_err(|_| {
        let bare = text.trim_start_matches('[').trim_end_matches(']');
        if text.contains('%') {
            format!("{text:?} has a zone: link-local addresses are never loaded")
        } else if bare.parse::<IpAddr>().is_ok() {
            format!("{text:?} has brackets: write {bare}")
        } else if let Ok(socket) = text.parse::<SocketAddr>() {
            format!("{text:?} has a port, which the URL gives: write {}", socket.ip())
        } else {
            format!("{text:?} is no IP address: write one such as 127.0.0.1 or ::1")
        }
    })
}

/// Says whether `path` can be that of a socket.
///
/// # Errors
/// What is wrong with it and what would be right.
pub fn check_unix_socket(path: &str) -> Result<(), String> {
    if path.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    if !path.starts_with('/') || path.ends_with('/') {
        return Err(format!("{path:?} is no path of a socket: write one such as /run/app.sock"));
    }
    if path.len() > LONGEST_PATH {
        let long = path.len();
        return Err(format!("is {long} bytes long: a socket's path has at most {LONGEST_PATH}"));
    }
    Ok(())
}
