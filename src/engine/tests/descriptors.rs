//! The limit on open files belongs to the whole process, so this test has one
//! to itself.

#![expect(clippy::unwrap_used, reason = "a step that fails must end the test")]

mod own_process;

use benchd_engine::{
    DriverChoice, EngineError, HeaderDefaults, Plan, RequestPlan, Stop, TlsOptions, run,
};
use benchd_model::spec::Protocol;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Set for the child process that serves, since the limit below must not
/// touch the server.
const SERVE: &str = "BENCHD_TEST_SERVE";

/// Serves until the parent closes our standard input.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(std::env::var(SERVE).unwrap(), listener.local_addr().unwrap().to_string())
        .unwrap();
    println!();
    own_process::answer(listener);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A server in a process of its own: the process, its output, its address.
fn serving_child(file: &Path) -> (Child, BufReader<ChildStdout>, SocketAddr) {
    let this = Command::new(std::env::current_exe().unwrap());
    let mut child = own_process::again(this, NAME, SERVE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut address = String::new();
    while address.is_empty() {
        assert!(output.read_line(&mut String::new()).unwrap() > 0, "the server died");
        address = std::fs::read_to_string(file).unwrap_or_default();
    }
    (child, output, address.parse().unwrap())
}

const NAME: &str = "a_low_limit_is_raised_and_otherwise_named_and_lived_with";

#[test]
fn a_low_limit_is_raised_and_otherwise_named_and_lived_with() {
    if std::env::var_os(SERVE).is_some() {
        return serve();
    }
    let file = std::env::temp_dir().join(format!("benchd-serve-{}", std::process::id()));
    let (mut child, _output, address) = serving_child(&file);
    let plan = Plan {
        endpoints: vec![address.into()],
        source_addresses: Vec::new(),
        url: format!("http://{address}/").parse().unwrap(),
        request: RequestPlan {
            method: "GET".into(),
            headers: Vec::new(),
            body: Vec::new(),
            target: None,
            defaults: HeaderDefaults::Benchd,
        },
        protocol: Protocol::Http1,
        connections: 100,
        streams: 1,
        requests: Some(2000),
        duration: None,
        rate: None,
        keepalive: true,
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(20),
        grace: Duration::from_secs(1),
        threads: 1,
        preconnect: true,
        expect_status: vec!["2xx".into()],
        tls: TlsOptions::default(),
        keep_rows: 0,
        driver: DriverChoice::Tokio,
    };
    let load = |driver| own_process::made(&Plan { driver, ..plan.clone() });
    let drivers = [DriverChoice::Tokio, DriverChoice::Uring];

    let soft = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, soft).unwrap();
    for (total, end) in drivers.into_iter().filter_map(load) {
        assert_eq!(
            (total.counts.ok, end.connections_achieved),
            (2000, 100),
            "raised to the hard limit"
        );
        assert!(end.notes.is_empty());
    }

    let hard = Rlimit { current: Some(64), maximum: Some(64) };
    setrlimit(Resource::Nofile, hard).unwrap();
    for (total, end) in drivers.into_iter().filter_map(load) {
        assert_eq!(total.counts.issued, 2000, "it still finishes");
        assert!(total.counts.balanced());
        assert_eq!(total.counts.ok + total.counts.local, 2000, "{:?}", end.failure_reasons);
        assert!((1..100).contains(&end.connections_achieved), "{}", end.connections_achieved);
        assert!(total.counts.local >= 1, "{:?}", total.counts);
        assert!(end.notes.iter().any(|note| note.contains("ulimit -n")), "{:?}", end.notes);
    }

    // Some threads have what they need, the others find no descriptor.
    for driver in [DriverChoice::Auto, DriverChoice::Tokio, DriverChoice::Uring] {
        let plan = Plan { driver, threads: 100, ..plan.clone() };
        let error = run(&plan, &Stop::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, EngineError::Thread(_) | EngineError::Driver(_)), "{error}");
    }

    drop(child.stdin.take());
    child.wait().unwrap();
    std::fs::remove_file(&file).unwrap();
}
