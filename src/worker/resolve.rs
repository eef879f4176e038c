//! From a job's URLs to pinned addresses: resolved once, every address put to
//! the policy, one family chosen. After this nothing asks a resolver again.

use benchd_model::JobSpec;
use benchd_model::policy::{Refusal, TargetPolicy};
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
    /// Addresses of one family, each allowed by the policy.
    pub addresses: Vec<SocketAddr>,
    /// True when they belong to this machine.
    pub same_host: bool,
}

/// Resolves and checks the target's URL, and the number of connections to it.
pub(crate) async fn target(
    policy: &TargetPolicy,
    spec: &JobSpec,
) -> Result<PinnedTarget, ResolveError> {
    let url = parse(&spec.target.url)?;
    if let Some(most) = policy.max_connections(&url)
        && spec.load.connections > most
    {
        return Err(ResolveError::Refused(Refusal(format!(
            "{} connections are refused: this target may be loaded with at most {most}",
            spec.load.connections
        ))));
    }
    let addresses = lookup(&url).await?;
    policy.check(&url, &ips(&addresses))?;
    let addresses = one_family(addresses).await;
    let same_host = addresses.iter().all(|address| is_of_this_host(address.ip()));
    Ok(PinnedTarget { addresses, same_host })
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

async fn lookup(url: &Url) -> Result<Vec<SocketAddr>, ResolveError> {
    let no_host = || ResolveError::NoHost(url.to_string());
    let port = url.port_or_known_default().ok_or_else(no_host)?;
    let name = match url.host().ok_or_else(no_host)? {
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
    use super::{ResolveError, admit, is_of_this_host, one_family, stub_status, target};
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
            }],
        }
    }

    #[tokio::test]
    async fn an_address_is_taken_as_it_stands() {
        let pinned =
            target(&TargetPolicy::default(), &spec("http://127.0.0.1:81/a")).await.unwrap();
        assert_eq!(pinned.addresses, ["127.0.0.1:81".parse().unwrap()]);
        assert!(pinned.same_host);
        let pinned = target(&TargetPolicy::default(), &spec("https://[::1]/")).await.unwrap();
        assert_eq!(pinned.addresses, ["[::1]:443".parse().unwrap()]);
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
