//! From a job's URLs to pinned addresses: resolved once, every address put to
//! the policy, one family chosen. After this nothing asks a resolver again.

use benchd_engine::{Endpoint, check_source};
use benchd_model::policy::{Refusal, TargetPolicy};
use benchd_model::{FieldError, JobSpec};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::net::TcpStream;
use url::{Host, Url};

/// A resolver that takes longer than this has no answer.
const RESOLVE_WITHIN: Duration = Duration::from_secs(10);

/// How long an address family has to accept the connection that chooses it.
const FAMILY_WITHIN: Duration = Duration::from_secs(1);

/// Why a job's URL has no address that may be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The text is no URL.
    #[error("{text:?} is no URL: {source}")]
    NoUrl {
        /// The text.
        text: String,
        /// What is wrong with it.
        source: url::ParseError,
    },
    /// The URL names nothing to connect to.
    #[error("{0} has no host and port to connect to")]
    NoHost(String),
    /// The resolver knows no address.
    #[error("{host} cannot be resolved: {reason}")]
    Unresolved {
        /// The name.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// Connections cannot come from there.
    #[error("source address {address} cannot be used: {reason}")]
    Source {
        /// The address.
        address: IpAddr,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// The job asks for more load than its target may get.
    #[error("{0}")]
    OverLimit(FieldError),
    /// The policy forbids it.
    #[error("{0}")]
    Refused(#[from] Refusal),
}

/// Resolves a job's URLs and puts them to the policy as a worker will when the
/// job runs, so that one that will be refused need not be queued. A status page
/// that cannot be found is let pass: it only fails its polls.
///
/// # Errors
/// Why a worker would fail the job.
pub async fn admit(spec: &JobSpec, policy: &TargetPolicy) -> Result<(), ResolveError> {
    for arm in spec.arms() {
        admit_arm(&spec.arm(*arm), policy).await?;
    }
    Ok(())
}

async fn admit_arm(spec: &JobSpec, policy: &TargetPolicy) -> Result<(), ResolveError> {
    target(policy, spec).await?;
    match &spec.target.stub_status {
        Some(page) => match stub_status(policy, page).await {
            Err(refused @ ResolveError::Refused(_)) => Err(refused),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

/// Where the load goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PinnedTarget {
    /// Addresses of one family, each allowed by the policy, or a socket.
    pub endpoints: Vec<Endpoint>,
    /// True when they belong to this machine.
    pub same_host: bool,
}

/// Resolves and checks the target's URL, and how much load it may get.
pub(crate) async fn target(
    policy: &TargetPolicy,
    spec: &JobSpec,
) -> Result<PinnedTarget, ResolveError> {
    let target = &spec.target;
    let url = parse(&target.url)?;
    if let Some(over) = policy.over_limit(target, &spec.load) {
        return Err(ResolveError::OverLimit(over));
    }
    if let Some(path) = &target.unix_socket {
        policy.check_unix_socket(path)?;
        return Ok(PinnedTarget { endpoints: vec![Endpoint::Unix(path.into())], same_host: true });
    }
    let addresses = if target.resolve.is_empty() {
        let addresses = lookup(&url).await?;
        policy.check(&url, &ips(&addresses))?;
        addresses
    } else {
        policy.check_given(&url, &target.resolve)?;
        let port = port(&url)?;
        target.resolve.iter().map(|address| (*address, port).into()).collect()
    };
    let addresses = match spec.load.source_addresses.as_slice() {
        [] => one_family(addresses).await,
        sources => reachable(&addresses, sources)?,
    };
    let same_host = addresses.iter().all(|address| is_of_this_host(address.ip()));
    let endpoints = addresses.into_iter().map(Endpoint::from).collect();
    Ok(PinnedTarget { endpoints, same_host })
}

/// The addresses that connections from `sources` can lead to.
fn reachable(
    addresses: &[SocketAddr],
    sources: &[IpAddr],
) -> Result<Vec<SocketAddr>, ResolveError> {
    let wrong = |address: IpAddr, reason: String| ResolveError::Source { address, reason };
    let mut reachable = addresses.to_vec();
    for source in sources.iter().copied() {
        if source.is_ipv4() != sources[0].is_ipv4() {
            let reason = format!("it is not of the family of {}, which goes before it", sources[0]);
            return Err(wrong(source, reason));
        }
        check_source(source).map_err(|error| {
            wrong(source, format!("{error}; `ip address` lists those of the generator's host"))
        })?;
        reachable.retain(|address| address.is_ipv4() == source.is_ipv4());
        let Some(first) = reachable.first() else {
            let family = if source.is_ipv4() { "IPv4" } else { "IPv6" };
            return Err(wrong(source, format!("the target has no {family} address")));
        };
        if source.is_loopback() && !first.ip().is_loopback() {
            let reason = format!("from loopback no connection leads to {}", first.ip());
            return Err(wrong(source, reason));
        }
    }
    Ok(reachable)
}

/// Resolves and checks the stub_status page's URL `text`.
pub(crate) async fn stub_status(
    policy: &TargetPolicy,
    text: &str,
) -> Result<(Url, SocketAddr), ResolveError> {
    let url = parse(text)?;
    let addresses = lookup(&url).await?;
    policy.check(&url, &ips(&addresses))?;
    let address = one_family(addresses).await.first().copied();
    Ok((url, address.ok_or_else(|| ResolveError::NoHost(text.to_owned()))?))
}

fn parse(text: &str) -> Result<Url, ResolveError> {
    Url::parse(text).map_err(|source| ResolveError::NoUrl { text: text.to_owned(), source })
}

fn port(url: &Url) -> Result<u16, ResolveError> {
    url.port_or_known_default().ok_or_else(|| ResolveError::NoHost(url.to_string()))
}

async fn lookup(url: &Url) -> Result<Vec<SocketAddr>, ResolveError> {
    let port = port(url)?;
    let name = match url.host().ok_or_else(|| ResolveError::NoHost(url.to_string()))? {
        Host::Ipv4(ip) => return Ok(vec![(ip, port).into()]),
        Host::Ipv6(ip) => return Ok(vec![(ip, port).into()]),
        Host::Domain(name) => name,
    };
    let unresolved = |reason: String| ResolveError::Unresolved { host: name.to_owned(), reason };
    let answer = tokio::time::timeout(RESOLVE_WITHIN, tokio::net::lookup_host((name, port)))
        .await
        .map_err(|_| unresolved(format!("no answer within {} s", RESOLVE_WITHIN.as_secs())))?
        .map_err(|error| unresolved(error.to_string()))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in answer {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(unresolved("the resolver knows no address".to_owned()));
    }
    Ok(addresses)
}

/// Keeps the addresses of one family. A name such as `localhost` has an
/// address in both while its server listens on one, and loading both would
/// count refused connections that are nobody's fault; so the first family in
/// the resolver's order that accepts a connection is taken. A name with one
/// family is taken as it is: what it refuses is data.
async fn one_family(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = addresses.first().copied() else { return addresses };
    let Some(other) = addresses.iter().find(|a| a.is_ipv4() != first.is_ipv4()).copied() else {
        return addresses;
    };
    let use_other = !accepts(first).await && accepts(other).await;
    let chosen = if use_other { other } else { first };
    addresses.into_iter().filter(|address| address.is_ipv4() == chosen.is_ipv4()).collect()
}

async fn accepts(address: SocketAddr) -> bool {
    let connected = tokio::time::timeout(FAMILY_WITHIN, TcpStream::connect(address)).await;
    matches!(connected, Ok(Ok(_)))
}

/// The kernel lets a socket be bound only to an address of this host.
fn is_of_this_host(address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

fn ips(addresses: &[SocketAddr]) -> Vec<IpAddr> {
    addresses.iter().map(SocketAddr::ip).collect()
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, ResolveError, admit, is_of_this_host, one_family, stub_status, target};
    use benchd_model::JobSpec;
    use benchd_model::policy::{RegisteredTarget, TargetPolicy};
    use std::net::SocketAddr;
    use tokio::net::TcpListener;

    fn spec(url: &str) -> JobSpec {
        let mut spec: JobSpec =
            serde_json::from_value(serde_json::json!({"target": {"url": url}})).unwrap();
        spec.load.connections = 10;
        spec
    }

    fn registered(url: &str, stub_status: Option<&str>, cidr: &str) -> TargetPolicy {
        TargetPolicy {
            targets: vec![RegisteredTarget {
                name: "shop".into(),
                url: url.into(),
                stub_status: stub_status.map(str::to_owned),
                allowed_cidrs: vec![cidr.parse().unwrap()],
                max_connections: Some(9),
                ..RegisteredTarget::default()
            }],
            ..TargetPolicy::default()
        }
    }

    fn endpoint(address: &str) -> Endpoint {
        Endpoint::Tcp(address.parse().unwrap())
    }

    #[tokio::test]
    async fn given_addresses_replace_the_lookup_and_not_the_policy() {
        let mut spec = spec("http://nobody.invalid:81/");
        spec.target.resolve = vec!["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()];
        let pinned = target(&TargetPolicy::default(), &spec).await.unwrap();
        assert_eq!(pinned.endpoints, [endpoint("127.0.0.1:81"), endpoint("127.0.0.2:81")]);
        spec.target.resolve.push("10.0.0.1".parse().unwrap());
        let refused = target(&TargetPolicy::default(), &spec).await;
        assert!(matches!(refused, Err(ResolveError::Refused(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn a_socket_needs_no_lookup_and_a_target_that_owns_it() {
        let mut spec = spec("http://nobody.invalid/");
        spec.target.unix_socket = Some("/run/x.sock".into());
        let refused = target(&TargetPolicy::default(), &spec).await;
        assert!(matches!(refused, Err(ResolveError::Refused(_))), "{refused:?}");
        let mut policy = registered("http://nobody.invalid/", None, "10.0.0.0/8");
        policy.targets[0].unix_socket = Some("/run/x.sock".into());
        let limited = target(&policy, &spec).await.unwrap_err();
        assert!(limited.to_string().contains("at most 9"), "{limited}");
        spec.load.connections = 9;
        let pinned = target(&policy, &spec).await.unwrap();
        assert_eq!(pinned.endpoints, [Endpoint::Unix("/run/x.sock".into())]);
        assert!(pinned.same_host);
    }

    #[tokio::test]
    async fn sources_are_of_this_host_and_of_the_target_s_family() {
        let mut spec = spec("http://localhost:81/");
        spec.target.resolve = vec!["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()];
        spec.load.source_addresses = vec!["127.0.0.2".parse().unwrap()];
        let pinned = target(&TargetPolicy::default(), &spec).await.unwrap();
        assert_eq!(pinned.endpoints, [endpoint("127.0.0.1:81")]);
        for (source, words) in [
            // TEST-NET-1 (RFC 5737) is nobody's.
            ("192.0.2.1", "`ip address` lists"),
            ("::1", "has no IPv6 address"),
        ] {
            spec.target.resolve = vec!["127.0.0.1".parse().unwrap()];
            spec.load.source_addresses = vec![source.parse().unwrap()];
            let wrong = target(&TargetPolicy::default(), &spec).await.unwrap_err().to_string();
            assert!(wrong.contains(source) && wrong.contains(words), "{wrong}");
        }
        let both = ["127.0.0.1:81".parse().unwrap(), "[::1]:81".parse().unwrap()];
        let mixed =
            super::reachable(&both, &["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]);
        let mixed = mixed.unwrap_err().to_string();
        assert!(mixed.contains("::1") && mixed.contains("family of 127.0.0.1"), "{mixed}");
        let away = ["10.1.2.3:80".parse().unwrap()];
        assert!(super::reachable(&away, &["127.0.0.2".parse().unwrap()]).is_err());
    }

    #[tokio::test]
    async fn an_address_is_taken_as_it_stands() {
        let pinned =
            target(&TargetPolicy::default(), &spec("http://127.0.0.1:81/a")).await.unwrap();
        assert_eq!(pinned.endpoints, [endpoint("127.0.0.1:81")]);
        assert!(pinned.same_host);
        let pinned = target(&TargetPolicy::default(), &spec("https://[::1]/")).await.unwrap();
        assert_eq!(pinned.endpoints, [endpoint("[::1]:443")]);
    }

    #[tokio::test]
    async fn a_refused_address_never_becomes_a_target() {
        let refused = target(&TargetPolicy::default(), &spec("http://10.0.0.1/")).await;
        assert!(matches!(refused, Err(ResolveError::Refused(_))), "{refused:?}");
        let refused = stub_status(&TargetPolicy::default(), "http://169.254.169.254/").await;
        assert!(matches!(refused, Err(ResolveError::Refused(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn what_a_worker_would_fail_is_not_admitted() {
        let policy = TargetPolicy::default();
        let mut spec = spec("http://127.0.0.1:81/");
        for (page, admitted) in [
            (None, true),
            (Some("http://127.0.0.1:82/status"), true),
            (Some("http://nobody.invalid/status"), true),
            (Some("http://10.0.0.1/status"), false),
        ] {
            spec.target.stub_status = page.map(str::to_owned);
            assert_eq!(admit(&spec, &policy).await.is_ok(), admitted, "{page:?}");
        }
        spec.target.url = "http://10.0.0.1/".into();
        assert!(matches!(admit(&spec, &policy).await, Err(ResolveError::Refused(_))));
    }

    #[tokio::test]
    async fn more_connections_than_the_target_allows_are_refused() {
        let policy = registered("http://127.0.0.1:81/", None, "10.0.0.0/8");
        let refused = target(&policy, &spec("http://127.0.0.1:81/a")).await.unwrap_err();
        assert!(refused.to_string().contains("at most 9"), "{refused}");
    }

    #[tokio::test]
    async fn a_registered_status_page_follows_the_rules_of_its_target() {
        let page = "http://10.1.2.3:8081/status";
        let policy = registered("http://10.1.2.3/", Some(page), "10.1.0.0/16");
        let (_, address) = stub_status(&policy, page).await.unwrap();
        assert_eq!(address, "10.1.2.3:8081".parse().unwrap());
        assert!(stub_status(&policy, "http://10.1.2.3:8081/other").await.is_err());
    }

    #[tokio::test]
    async fn a_name_without_address_is_unresolved() {
        let failed = target(&TargetPolicy::default(), &spec("http://nobody.invalid/")).await;
        assert!(matches!(failed, Err(ResolveError::Unresolved { .. })), "{failed:?}");
    }

    #[tokio::test]
    async fn the_family_that_listens_is_chosen() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        let closed: SocketAddr = format!("[::1]:{}", open.port()).parse().unwrap();
        assert_eq!(one_family(vec![closed, open]).await, [open]);
        assert_eq!(one_family(vec![open, closed]).await, [open]);
        assert_eq!(one_family(vec![closed]).await, [closed]);
    }

    #[test]
    fn only_own_addresses_are_of_this_host() {
        assert!(is_of_this_host("127.0.0.1".parse().unwrap()));
        assert!(is_of_this_host("::ffff:127.0.0.1".parse().unwrap()));
        // TEST-NET-1 (RFC 5737) is nobody's.
        assert!(!is_of_this_host("192.0.2.1".parse().unwrap()));
    }
}
