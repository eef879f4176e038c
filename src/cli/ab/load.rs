//! From ab's options to a plan, and the run itself.

use super::options::Options;
use super::progress::Heartbeat;
use super::{FAILED, REFUSED, Stopped, UNKNOWN_HOST};
use crate::output;
use benchd_engine::{
    DriverChoice, Endpoint, HeaderDefaults, Plan, Progress, RequestPlan, Stop, TlsOptions,
};
use benchd_model::policy::{Refusal, TargetPolicy};
use benchd_model::spec::{LoadSpec, OnInconclusive, Protocol, RequestSpec, TargetSpec};
use benchd_model::{JobSpec, Tally, TrialEnd};
use benchd_report::ab::AbRow;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Raw rows kept for exact figures; beyond them histograms serve.
pub(super) const MOST_ROWS: usize = 1_000_000;

/// What a run left.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) tally: Tally,
    pub(super) end: TrialEnd,
    pub(super) rows: Vec<AbRow>,
    /// Start of the measuring window in epoch microseconds.
    pub(super) started_us: i64,
}

/// Resolves the host once, asks the policy about every address, and takes the
/// first one that answers, as ab does.
pub(super) fn endpoint(options: &Options, policy: &TargetPolicy) -> Result<Endpoint, Stopped> {
    let (url, host) = (&options.url, options.url.host.as_str());
    within_limits(options, policy)?;
    if let Some(path) = &url.unix_socket {
        let refused = |refusal: Refusal| Stopped::new(REFUSED, refusal.to_string());
        policy.check_unix_socket(path).map_err(refused)?;
        return Ok(Endpoint::Unix(path.into()));
    }
    let unknown = |why: String| Stopped::new(UNKNOWN_HOST, format!("cannot resolve {host}: {why}"));
    let addresses: Vec<SocketAddr> =
        (host, url.port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?.collect();
    let ips: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    let refused = |why: String| Stopped::new(REFUSED, why);
    policy.check(&url.url, &ips).map_err(|refusal| refused(refusal.to_string()))?;
    let family = |address: &SocketAddr| {
        options.source.is_none_or(|source| source.is_ipv4() == address.is_ipv4())
    };
    let addresses: Vec<SocketAddr> = addresses.into_iter().filter(family).collect();
    let listening = first_listening(&addresses, options.timeout).map(Endpoint::from);
    listening.ok_or_else(|| match options.source {
        Some(source) => {
            Stopped::new(FAILED, format!("-B {source}: {host} has no address of that family"))
        }
        None => unknown("it has no address".to_owned()),
    })
}

/// ab's load has a number of connections, and no rate that it could promise.
fn within_limits(options: &Options, policy: &TargetPolicy) -> Result<(), Stopped> {
    let (target, host) = (&spec(options).target, &options.url.host);
    let refused = |limit: String| {
        Err(Stopped::new(REFUSED, format!("{host} may be loaded with at most {limit}")))
    };
    match (policy.max_connections(target), policy.max_rate(target)) {
        (Some(most), _) if options.concurrency > most => refused(format!("{most} connections")),
        (_, Some(most)) => {
            refused(format!("{most} requests per second: use benchd run --rate {most}"))
        }
        _ => Ok(()),
    }
}

/// A name such as `localhost` often has an address on which nobody listens.
/// The last one is taken as it is, so that a single address is never probed.
fn first_listening(addresses: &[SocketAddr], timeout: Duration) -> Option<SocketAddr> {
    let (last, others) = addresses.split_last()?;
    let listens = |address: &&SocketAddr| TcpStream::connect_timeout(address, timeout).is_ok();
    Some(*others.iter().find(listens).unwrap_or(last))
}

/// ab's way of loading: HTTP/1.0, connections opened as they are needed, one
/// thread, any status and any certificate good.
pub(super) fn plan(options: &Options, endpoint: Endpoint) -> Plan {
    let rows = usize::try_from(options.requests).map_or(MOST_ROWS, |rows| rows.min(MOST_ROWS));
    Plan {
        endpoints: vec![endpoint],
        source_addresses: options.source.into_iter().collect(),
        url: options.url.url.clone(),
        request: RequestPlan {
            method: options.method.clone(),
            headers: options.headers.clone(),
            body: options.body.clone().unwrap_or_default(),
            target: Some(options.url.target.clone()),
            defaults: HeaderDefaults::Ab {
                before: options.before.clone(),
                content_type: options.content_type.clone(),
            },
        },
        protocol: Protocol::Http10,
        connections: options.concurrency,
        streams: 1,
        requests: Some(options.requests),
        duration: options.time_limit,
        rate: None,
        keepalive: options.keepalive,
        warmup: Duration::ZERO,
        timeout: options.timeout,
        grace: Duration::ZERO,
        threads: 1,
        preconnect: false,
        expect_status: ["1xx", "2xx", "3xx", "4xx", "5xx"].map(str::to_owned).to_vec(),
        tls: TlsOptions { insecure: true, min_version: options.tls_min, ..TlsOptions::default() },
        keep_rows: rows,
        driver: DriverChoice::default(),
    }
}

/// The same run in the words of a job, for the report.
pub(super) fn spec(options: &Options) -> JobSpec {
    JobSpec {
        project: "ab".to_owned(),
        scenario: "ab".to_owned(),
        target: TargetSpec {
            url: options.url.url.to_string(),
            insecure: true,
            unix_socket: options.url.unix_socket.clone(),
            ..TargetSpec::default()
        },
        request: RequestSpec {
            method: options.method.clone(),
            // The report asks only whether there is one.
            body: options.body.as_ref().map(|_| String::new()),
            ..RequestSpec::default()
        },
        load: LoadSpec {
            connections: options.concurrency,
            requests: Some(options.requests),
            keepalive: options.keepalive,
            protocol: Protocol::Http10,
            streams: 1,
            ..LoadSpec::default()
        },
        trials: 1,
        compare: None,
        criteria: Vec::new(),
        on_inconclusive: OnInconclusive::default(),
        labels: BTreeMap::new(),
    }
}

/// Runs the plan to its end or to the first Ctrl-C.
pub(super) fn run(plan: &Plan, heartbeat: &mut Heartbeat) -> Result<Measured, Stopped> {
    let stop = stop_on_signal()
        .map_err(|error| Stopped::new(FAILED, format!("cannot listen for signals: {error}")))?;
    let mut measured = Measured::default();
    let mut progress = |progress: Progress| match progress {
        Progress::Phase(_) => {}
        Progress::Started { at } => measured.started_us = at.as_micros(),
        Progress::Second(second) => {
            let counts = &second.tally.counts;
            output::tell_text(&heartbeat.count(counts.ok + counts.failures()));
            measured.tally.merge(&second.tally);
        }
    };
    let run = benchd_engine::run(plan, &stop, &mut progress)
        .map_err(|error| Stopped::new(FAILED, error.to_string()))?;
    measured.end = run.end;
    measured.rows = run
        .rows
        .iter()
        .map(|row| AbRow {
            start_us: row.start_us,
            connect_us: row.connect_us.into(),
            wait_us: row.wait_us.into(),
            total_us: row.total_us.into(),
        })
        .collect();
    Ok(measured)
}

fn stop_on_signal() -> io::Result<Stop> {
    let stop = Stop::default();
    let interrupted = stop.clone();
    crate::signal::on_first(move || interrupted.interrupt())?;
    Ok(stop)
}
