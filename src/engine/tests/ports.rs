//! Local ports run out in a network of the test's own, whose range of them is
//! small. The tests run again in there; a user namespace gives the right to.

#![expect(clippy::unwrap_used, reason = "a step that fails must end the test")]

mod own_process;

use benchd_engine::{DriverChoice, Endpoint, Plan};
use benchd_model::{JobSpec, Tally, TrialEnd};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;

/// Set in the network of eight ports.
const INSIDE: &str = "BENCHD_TEST_EIGHT_PORTS";
const PREPARE: &str = "ip link set lo up \
    && echo 40000 40007 > /proc/sys/net/ipv4/ip_local_port_range \
    && exec \"$0\" \"$@\"";

/// Runs the test of that name with eight local ports. True in there.
fn with_eight_ports(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let this = std::env::current_exe().unwrap();
    let mut outside = Command::new("unshare");
    outside.args(["--map-root-user", "--net", "sh", "-c", PREPARE]).arg(this);
    let inside = own_process::again(outside, name, INSIDE, "1")
        .output()
        .expect("`unshare` of util-linux can be started");
    let told = String::from_utf8_lossy(&inside.stderr);
    assert!(
        inside.status.success(),
        "in a network of its own (which takes `ip` and the right to make user namespaces): {told}"
    );
    false
}

/// Answers on a port that no other case has used: what closes connections
/// keeps their ports for a while.
fn serve() -> SocketAddr {
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).ok();
    let listener = (8080..8100).find_map(|port| free(&port)).unwrap();
    let address = listener.local_addr().unwrap();
    own_process::answer(listener);
    address
}

/// 300 requests over `connections`; none where the kernel has no such driver.
fn load(
    driver: DriverChoice,
    connections: u32,
    sources: &[&str],
    targets: usize,
) -> Option<(Tally, TrialEnd)> {
    let document = serde_json::json!({"target": {"url": "http://127.0.0.1:1/"},
        "load": {"connections": connections, "requests": 300, "source_addresses": sources}});
    let spec = JobSpec::parse(&document, &|_| None).unwrap();
    let endpoints = (0..targets).map(|_| Endpoint::from(serve())).collect();
    own_process::made(&Plan { driver, ..Plan::from_spec(&spec, endpoints).unwrap() })
}

const DRIVERS: [DriverChoice; 2] = [DriverChoice::Tokio, DriverChoice::Uring];

#[test]
fn one_address_runs_out_of_ports_and_what_was_answered_stays() {
    if !with_eight_ports("one_address_runs_out_of_ports_and_what_was_answered_stays") {
        return;
    }
    for sources in [&[][..], &["127.0.0.1"]] {
        for (total, end) in DRIVERS.into_iter().filter_map(|driver| load(driver, 20, sources, 1)) {
            let counts = total.counts;
            assert_eq!((counts.issued, counts.ok + counts.local), (300, 300), "{end:?}");
            assert!(counts.local > 0 && counts.ok > 0, "{counts:?}");
            assert_eq!(end.connections_achieved, 8);
            let reasons: Vec<&String> = end.failure_reasons.keys().collect();
            assert_eq!(reasons, ["cannot assign requested address (os error 99)"]);
            let remedies = ["no free local port", "ip_local_port_range", "--source-address"];
            let note = end.notes.iter().find(|note| remedies.iter().all(|r| note.contains(r)));
            assert!(note.is_some(), "{:?}", end.notes);
        }
    }
}

#[test]
fn each_further_source_address_brings_its_own_ports() {
    if !with_eight_ports("each_further_source_address_brings_its_own_ports") {
        return;
    }
    let sources = ["127.0.0.1", "127.0.0.2"];
    for (total, end) in DRIVERS.into_iter().filter_map(|driver| load(driver, 16, &sources, 1)) {
        assert_eq!((total.counts.ok, end.connections_achieved), (300, 16), "{end:?}");
    }
    // The same ports lead to each of several targets: binding takes none away.
    for (total, end) in DRIVERS.into_iter().filter_map(|driver| load(driver, 16, &sources[..1], 2))
    {
        assert_eq!((total.counts.ok, end.connections_achieved), (300, 16), "{end:?}");
    }
    for (total, end) in DRIVERS.into_iter().filter_map(|driver| load(driver, 32, &sources, 2)) {
        assert_eq!((total.counts.ok, end.connections_achieved), (300, 32), "{end:?}");
    }
}
