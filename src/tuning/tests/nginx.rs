//! A managed nginx against the real one of this machine.
#![expect(clippy::unwrap_used, reason = "test code; clippy only knows the test functions as such")]

use benchd_tuning::{ManagedNginx, NginxError, NginxOptions, TlsFiles};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

const KILLED_ROLE: &str = "BENCHD_TEST_KILLED_ROLE";

fn started(options: NginxOptions) -> ManagedNginx {
    ManagedNginx::start(options).unwrap_or_else(|error| panic!("{error}"))
}

/// Status line, head and body of one answer.
fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn serves_its_pages_and_its_status() {
    let nginx = started(NginxOptions { large_bytes: 100_001, ..NginxOptions::default() });
    let (head, body) = get(nginx.address(), "/");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{}", nginx.error_log());
    assert!(head.contains(&format!("Server: {}", nginx.version())), "{head}");
    assert!(head.contains("Content-Length: 612") && body.len() == 612, "{head}");
    assert_eq!(get(nginx.address(), "/large").1.len(), 100_001);
    assert!(get(nginx.address(), "/nginx_status").1.starts_with("Active connections: 1"));
    assert_eq!(nginx.url("x"), format!("http://{}/x", nginx.address()));
    assert_eq!(nginx.stub_status_url(), nginx.url("/nginx_status"));
    assert_eq!(nginx.error_log(), "");
    assert_eq!(nginx.access_log(), "");
}

#[test]
fn leaves_nothing_behind_when_dropped() {
    let nginx = started(NginxOptions { workers: 2, ..NginxOptions::default() });
    let (prefix, address) = (nginx.prefix().to_owned(), nginx.address());
    let mut pids = nginx.worker_pids();
    assert_eq!(pids.len(), 2);
    pids.extend(nginx.master_pid());
    assert!(pids.iter().all(|pid| runs(*pid)));
    drop(nginx);
    assert!(!pids.iter().any(|pid| runs(*pid)), "{pids:?}");
    assert!(!prefix.exists());
    assert!(TcpStream::connect(address).is_err());
}

/// The other half of the test below: starts nginx, says so, and hangs.
#[test]
fn role_of_a_process_that_is_killed() {
    if std::env::var_os(KILLED_ROLE).is_none() {
        return;
    }
    let nginx = started(NginxOptions::default());
    println!("started {} {}", nginx.master_pid().unwrap(), nginx.prefix().display());
    let _closed_with_the_pipe = std::io::stdin().read(&mut [0]);
}

#[test]
fn dies_with_a_process_that_is_killed() {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role_of_a_process_that_is_killed", "--nocapture"])
        .env(KILLED_ROLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let started = lines
        .find_map(|line| line.split_once("started ").map(|(_, told)| told.to_owned()))
        .expect("the other process starts nginx");
    let (pid, prefix) = started.split_once(' ').unwrap();
    let pid: u32 = pid.parse().unwrap();
    let nginx = rustix::process::pidfd_open(
        rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap(),
        rustix::process::PidfdFlags::empty(),
    )
    .unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let limit = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
    let mut ended = [rustix::event::PollFd::new(&nginx, rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut ended, Some(&limit)).unwrap(), 1, "nginx {pid} lives on");
    fs::remove_dir_all(prefix).unwrap();
}

#[test]
fn outlives_the_thread_that_started_it() {
    let nginx = std::thread::spawn(|| started(NginxOptions::default())).join().unwrap();
    assert!(get(nginx.address(), "/").0.contains("200 OK"));
    assert!(nginx.master_pid().is_some_and(runs));
}

#[test]
fn a_reload_keeps_counters_and_a_restart_resets_them() {
    let mut nginx = started(NginxOptions::default());
    for _ in 0..20 {
        get(nginx.address(), "/");
    }
    let accepts = |nginx: &ManagedNginx| -> u64 {
        let page = get(nginx.address(), "/nginx_status").1;
        page.lines().nth(2).unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    let (workers, before) = (nginx.worker_pids(), accepts(&nginx));
    nginx
        .reload_with(NginxOptions {
            body_bytes: 5,
            workers: 2,
            access_log: true,
            ..NginxOptions::default()
        })
        .unwrap();
    assert!(accepts(&nginx) > before);
    assert_eq!(nginx.worker_pids().len(), 2);
    assert!(!nginx.worker_pids().iter().any(|pid| workers.contains(pid)));
    assert_eq!(get(nginx.address(), "/").1.len(), 5);
    assert!(nginx.access_log().contains("GET / "), "{}", nginx.access_log());
    let address = nginx.address();
    nginx.restart().unwrap();
    assert_eq!(nginx.address(), address);
    assert!(accepts(&nginx) < before);
}

#[test]
fn a_refused_reload_leaves_the_old_configuration_in_force() {
    let mut nginx = started(NginxOptions::default());
    let bad = NginxOptions {
        server_extra: "no_such_directive on;".into(),
        body_bytes: 1,
        ..NginxOptions::default()
    };
    let error = nginx.reload_with(bad).unwrap_err();
    assert!(matches!(error, NginxError::Failed { doing: "reload", .. }), "{error:?}");
    assert!(error.to_string().contains("no_such_directive"), "{error}");
    assert_eq!(get(nginx.address(), "/").1.len(), 612);
    nginx.reload().unwrap();
}

#[test]
fn a_refused_start_says_what_nginx_said() {
    let bad =
        NginxOptions { http_extra: "no_such_directive on;".into(), ..NginxOptions::default() };
    let error = ManagedNginx::start(bad).err().unwrap();
    assert!(error.to_string().contains("unknown directive \"no_such_directive\""), "{error}");
}

#[test]
fn a_fixed_port_that_is_taken_is_an_error_and_not_anothers_answer() {
    let nginx = started(NginxOptions::default());
    let same = NginxOptions { port: nginx.address().port(), ..NginxOptions::default() };
    let error = ManagedNginx::start(same).err().unwrap();
    assert!(error.to_string().contains("Address already in use"), "{error}");
    assert!(get(nginx.address(), "/").0.contains("200 OK"));
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_ne!(started(NginxOptions::default()).address(), held.local_addr().unwrap());
}

#[test]
fn a_missing_binary_says_what_to_do() {
    let absent = NginxOptions { binary: Some("/no/such/nginx".into()), ..NginxOptions::default() };
    let error = ManagedNginx::start(absent).err().unwrap().to_string();
    assert!(error.contains("/no/such/nginx cannot be run"), "{error}");
    assert!(NginxError::Missing.to_string().contains("apt-get install nginx"));
}

#[test]
fn tls_listens_on_a_port_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let tls = TlsFiles {
        certificate: write("cert.pem", made.cert.pem()),
        key: write("key.pem", made.signing_key.serialize_pem()),
    };
    let nginx = started(NginxOptions { tls: Some(tls), ..NginxOptions::default() });
    let url = nginx.tls_url("/").unwrap();
    let port: u16 = url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    assert!(url.starts_with("https://127.0.0.1:") && port != nginx.address().port(), "{url}");
    // A plain request to a TLS port: nginx says so itself.
    let (head, body) = get(SocketAddr::from(([127, 0, 0, 1], port)), "/");
    assert!(head.contains("400 Bad Request") && body.contains("HTTPS port"), "{head}\n{body}");
    assert!(nginx.stub_status_url().starts_with("http://"));
    assert_eq!(nginx.http2_url("/"), None);
}

#[test]
fn slots_follow_the_descriptor_limit() {
    let nginx =
        started(NginxOptions { worker_connections: 4_000_000_000, ..NginxOptions::default() });
    let pid = nginx.worker_pids()[0];
    let limits =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("limits")).unwrap();
    let open_files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let own = fs::read_to_string("/proc/self/limits").unwrap();
    let hard = own
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap()
        .split_whitespace()
        .nth(4);
    assert_eq!(open_files.split_whitespace().nth(3), hard, "{open_files}");
    assert_eq!(nginx.error_log(), "");
}
