//! Who may be loaded. Default deny: loopback only, until a target is
//! registered; link-local and metadata addresses never.

use crate::spec::{TargetSpec, TlsSpec};
use ipnet::IpNet;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Url;

/// A target as `benchd.toml` registers it (`[[targets]]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredTarget {
    /// The name jobs may use instead of a URL.
    pub name: String,
    /// Its URL. A job may load any path of this scheme, host and port.
    pub url: String,
    /// Its stub_status page.
    pub stub_status: Option<String>,
    /// Address ranges it may resolve to beside loopback and public ones;
    /// private addresses need one that covers them.
    #[serde(default)]
    pub allowed_cidrs: Vec<IpNet>,
    /// The most connections a job may open to it.
    pub max_connections: Option<u32>,
    /// The socket it listens on, instead of a port of the URL's host.
    pub unix_socket: Option<String>,
    /// Addresses it has, instead of looking its name up.
    #[serde(default)]
    pub resolve: Vec<IpAddr>,
    /// How its TLS is spoken.
    #[serde(default)]
    pub tls: TlsSpec,
}

impl RegisteredTarget {
    /// The target as a job that names it means it.
    #[must_use]
    pub fn spec(&self) -> TargetSpec {
        TargetSpec {
            name: Some(self.name.clone()),
            url: self.url.clone(),
            stub_status: self.stub_status.clone(),
            insecure: false,
            tls: self.tls.clone(),
            resolve: self.resolve.clone(),
            unix_socket: self.unix_socket.clone(),
        }
    }
}

/// All rules of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPolicy {
    /// The registered targets.
    pub targets: Vec<RegisteredTarget>,
    /// Whether sockets that no target is registered with may be loaded. Behind
    /// a socket can be what rules the whole host, so this is for those alone
    /// who could reach it themselves: the command line, and never a service.
    pub any_unix_socket: bool,
}

/// Why a target may not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl TargetPolicy {
    /// The registered target of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&RegisteredTarget> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Decides whether `url`, whose host resolved to `addresses`, may be
    /// loaded. Every address must pass, so that no answer of a resolver leads
    /// the load elsewhere.
    ///
    /// # Errors
    /// The refusal in words.
    pub fn check(&self, url: &Url, addresses: &[IpAddr]) -> Result<(), Refusal> {
        self.check_all(url, addresses, Origin::Resolver)
    }

    /// The same for addresses that the job itself gives. A resolver tells whose
    /// a public address is; a job may say anything, so that each address needs
    /// to be known to the target's entry.
    ///
    /// # Errors
    /// The refusal in words.
    pub fn check_given(&self, url: &Url, addresses: &[IpAddr]) -> Result<(), Refusal> {
        self.check_all(url, addresses, Origin::Job)
    }

    /// Decides whether the socket at `path` may be loaded.
    ///
    /// # Errors
    /// The refusal in words.
    pub fn check_unix_socket(&self, path: &str) -> Result<(), Refusal> {
        if self.any_unix_socket || self.entry_for_socket(path).is_some() {
            return Ok(());
        }
        Err(Refusal(format!(
            "{path} is refused: only a socket that is the unix_socket of a target under \
             [[targets]] in benchd.toml may be loaded"
        )))
    }

    /// The connection limit for `target`, when its entry has one.
    #[must_use]
    pub fn max_connections(&self, target: &TargetSpec) -> Option<u32> {
        let entry = match &target.unix_socket {
            Some(path) => self.entry_for_socket(path),
            None => self.entry_for(&Url::parse(&target.url).ok()?),
        };
        entry.and_then(|entry| entry.max_connections)
    }

    fn check_all(&self, url: &Url, addresses: &[IpAddr], origin: Origin) -> Result<(), Refusal> {
        if addresses.is_empty() {
            return Err(Refusal(format!("{} has no address", host_of(url))));
        }
        let entry = self.entry_for(url);
        let check = |address: &IpAddr| check_address(url, canonical(*address), entry, origin);
        addresses.iter().try_for_each(check)
    }

    /// The entry whose rules hold for `url`: any path of a target's origin, and
    /// the very page that a target is registered with, whatever its port. The
    /// URL of a target with a socket leads nowhere but there.
    fn entry_for(&self, url: &Url) -> Option<&RegisteredTarget> {
        self.targets.iter().find(|target| {
            let page = target.stub_status.as_deref().map(Url::parse);
            let known = Url::parse(&target.url).ok().filter(|_| target.unix_socket.is_none());
            page.is_some_and(|page| page.as_ref() == Ok(url))
                || known.is_some_and(|known| known.origin() == url.origin())
        })
    }

    fn entry_for_socket(&self, path: &str) -> Option<&RegisteredTarget> {
        self.targets.iter().find(|target| target.unix_socket.as_deref() == Some(path))
    }
}

/// Who says that a host has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Resolver,
    Job,
}

fn check_address(
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

fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or("the target")
}

/// IPv4 addresses hidden in IPv6 forms come out as IPv4.
fn canonical(address: IpAddr) -> IpAddr {
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

#[cfg(test)]
mod tests {
    use super::{RegisteredTarget, TargetPolicy, TargetSpec};
    use url::Url;

    fn check(policy: &TargetPolicy, url: &str, address: &str) -> Result<(), String> {
        policy
            .check(&Url::parse(url).unwrap(), &[address.parse().unwrap()])
            .map_err(|refusal| refusal.to_string())
    }

    fn registered(url: &str, cidrs: &[&str]) -> TargetPolicy {
        TargetPolicy {
            targets: vec![RegisteredTarget {
                name: "shop".into(),
                url: url.into(),
                allowed_cidrs: cidrs.iter().map(|c| c.parse().unwrap()).collect(),
                ..RegisteredTarget::default()
            }],
            ..TargetPolicy::default()
        }
    }

    #[test]
    fn a_job_s_own_addresses_must_be_known_to_its_target() {
        let given = |policy: &TargetPolicy, address: &str| {
            policy.check_given(&Url::parse("http://shop/").unwrap(), &[address.parse().unwrap()])
        };
        let mut policy = registered("http://shop/", &["93.184.0.0/16"]);
        assert!(given(&policy, "127.0.0.1").is_ok());
        assert!(given(&policy, "93.184.216.34").is_ok());
        let refusal = given(&policy, "8.8.8.8").unwrap_err().to_string();
        assert!(refusal.contains("the job itself gives"), "{refusal}");
        assert!(check(&policy, "http://shop/", "8.8.8.8").is_ok(), "a resolver may say so");
        policy.targets[0].resolve = vec!["8.8.8.8".parse().unwrap()];
        assert!(given(&policy, "8.8.8.8").is_ok());
        assert!(given(&policy, "169.254.169.254").is_err());
        assert!(given(&TargetPolicy::default(), "8.8.8.8").is_err());
    }

    #[test]
    fn only_registered_sockets_may_be_loaded_unless_any_may() {
        let mut policy = registered("http://shop/", &[]);
        let refusal = policy.check_unix_socket("/run/docker.sock").unwrap_err().to_string();
        assert!(refusal.contains("benchd.toml"), "{refusal}");
        policy.targets[0].unix_socket = Some("/run/shop.sock".into());
        policy.targets[0].max_connections = Some(7);
        assert!(policy.check_unix_socket("/run/shop.sock").is_ok());
        for other in ["/run/docker.sock", "/run/../run/shop.sock", "/run/shop.sock/", ""] {
            assert!(policy.check_unix_socket(other).is_err(), "{other}");
        }
        let target = |unix_socket: Option<&str>| TargetSpec {
            url: "http://shop/".into(),
            unix_socket: unix_socket.map(str::to_owned),
            ..TargetSpec::default()
        };
        assert_eq!(policy.max_connections(&target(Some("/run/shop.sock"))), Some(7));
        assert_eq!(policy.max_connections(&target(None)), None);
        // The entry speaks of its socket, not of what its name resolves to.
        assert!(check(&policy, "http://shop/", "93.184.216.34").is_err());
        policy.any_unix_socket = true;
        assert!(policy.check_unix_socket("/run/docker.sock").is_ok());
    }

    #[test]
    fn only_loopback_may_be_loaded_at_first() {
        let policy = TargetPolicy::default();
        assert!(check(&policy, "http://127.0.0.1/", "127.0.0.1").is_ok());
        assert!(check(&policy, "http://[::1]/", "::1").is_ok());
        assert!(check(&policy, "http://x/", "::ffff:127.0.0.1").is_ok());
        for address in ["10.0.0.1", "192.168.1.1", "93.184.216.34", "2606:4700::1111", "fd12::1"] {
            let refusal = check(&policy, "http://x/", address).unwrap_err();
            assert!(refusal.contains("benchd.toml"), "{refusal}");
        }
    }

    #[test]
    fn link_local_and_metadata_addresses_are_never_loaded() {
        let everything = registered("http://x/", &["0.0.0.0/0", "::/0"]);
        for address in [
            "169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
            "224.0.0.1",
            "0.0.0.0",
            "::",
            "255.255.255.255",
            "::ffff:169.254.169.254",
            "2002:a9fe:a9fe::1",
            "64:ff9b::a9fe:a9fe",
            "::a9fe:a9fe",
        ] {
            assert!(check(&everything, "http://x/", address).is_err(), "{address}");
        }
    }

    #[test]
    fn a_private_address_needs_its_range_on_the_target() {
        let listed = registered("http://shop.internal:8080/", &["10.1.0.0/16"]);
        assert!(check(&listed, "http://shop.internal:8080/any/path", "10.1.2.3").is_ok());
        assert!(check(&listed, "http://shop.internal:8080/", "10.2.0.1").is_err());
        assert!(check(&listed, "http://shop.internal:9090/", "10.1.2.3").is_err());
        assert!(check(&listed, "https://shop.internal:8080/", "10.1.2.3").is_err());
        assert!(check(&registered("http://shop/", &[]), "http://shop/", "93.184.216.34").is_ok());
    }

    #[test]
    fn a_registered_status_page_follows_its_target_on_any_port() {
        let mut policy = registered("http://shop/", &["10.1.0.0/16"]);
        policy.targets[0].stub_status = Some("http://shop:8081/status".into());
        assert!(check(&policy, "http://shop:8081/status", "10.1.2.3").is_ok());
        assert!(check(&policy, "http://shop:8081/other", "10.1.2.3").is_err());
    }

    #[test]
    fn one_bad_answer_among_good_ones_refuses_the_name() {
        let policy = TargetPolicy::default();
        let url = Url::parse("http://x/").unwrap();
        let addresses = ["127.0.0.1".parse().unwrap(), "169.254.169.254".parse().unwrap()];
        assert!(policy.check(&url, &addresses).is_err());
        assert!(policy.check(&url, &[]).is_err());
    }
}
