//! Who may be loaded. Default deny: loopback only, until a target is
//! registered; link-local and metadata addresses never.

mod addresses;

use crate::FieldError;
use crate::spec::{LoadSpec, TargetSpec, TlsSpec};
use addresses::{Origin, canonical, check_address, host_of};
use ipnet::IpNet;
use serde::Deserialize;
use std::net::IpAddr;
use url::Url;

/// A target as `benchd.toml` registers it (`[[targets]]`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    /// The most requests per second a job may make. Closed loops, whose rate
    /// nobody knows before, are refused where there is such a limit.
    pub max_rate: Option<f64>,
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
#[derive(Clone, Debug, Default, PartialEq)]
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
        self.entry_of(target).and_then(|entry| entry.max_connections)
    }

    /// The limit of requests per second for `target`, when its entry has one.
    #[must_use]
    pub fn max_rate(&self, target: &TargetSpec) -> Option<f64> {
        self.entry_of(target).and_then(|entry| entry.max_rate)
    }

    /// Which field of `load` asks for more than `target` may be loaded with, and
    /// why.
    #[must_use]
    pub fn over_limit(&self, target: &TargetSpec, load: &LoadSpec) -> Option<FieldError> {
        let refuse = |pointer: &str, detail: String| {
            Some(FieldError { pointer: pointer.to_owned(), detail })
        };
        if let Some(most) = self.max_connections(target).filter(|most| load.connections > *most) {
            let asked = load.connections;
            return refuse(
                "/load/connections",
                format!(
                    "{asked} connections are too many: this target may be loaded with at most {most}"
                ),
            );
        }
        let most = self.max_rate(target)?;
        let limit = format!("this target may be loaded with at most {most} requests per second");
        match load.rate {
            Some(rate) if rate <= most => None,
            Some(rate) => refuse("/load/rate", format!("{rate} is too many: {limit}")),
            None => refuse("/load/rate", format!("is missing: {limit}, so give a load.rate")),
        }
    }

    /// The entry whose rules hold for `target`.
    fn entry_of(&self, target: &TargetSpec) -> Option<&RegisteredTarget> {
        match &target.unix_socket {
            Some(path) => self.entry_for_socket(path),
            None => self.entry_for(&Url::parse(&target.url).ok()?),
        }
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

#[cfg(test)]
mod tests {
    use super::{RegisteredTarget, TargetPolicy, TargetSpec};
    use crate::spec::LoadSpec;
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
    fn a_limit_refuses_more_and_a_limited_rate_every_load_without_one() {
        let mut policy = registered("http://shop/", &[]);
        let at = |url: &str| TargetSpec { url: url.to_owned(), ..TargetSpec::default() };
        let over = |policy: &TargetPolicy, connections, rate| {
            let load = LoadSpec { connections, rate, ..LoadSpec::default() };
            policy.over_limit(&at("http://shop/cart"), &load).map(|error| format!("{error}"))
        };
        assert_eq!(over(&policy, 1000, None), None);
        policy.targets[0].max_connections = Some(10);
        assert_eq!(over(&policy, 10, None), None);
        assert!(over(&policy, 11, None).unwrap().contains("/load/connections: 11"));
        policy.targets[0].max_rate = Some(99.5);
        assert_eq!(over(&policy, 10, Some(99.5)), None);
        assert!(over(&policy, 10, Some(100.0)).unwrap().contains("/load/rate: 100 is too many"));
        assert!(over(&policy, 10, None).unwrap().contains("give a load.rate"));
        assert_eq!(policy.over_limit(&at("http://other/"), &LoadSpec::default()), None);
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
