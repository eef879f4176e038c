//! Where connections go: sockets in the file system, IPv6, several addresses.

use crate::support::{Measured, Server, load};
use benchd_engine::Endpoint;
use benchd_model::Outcome;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A folder of the test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("benchd-{name}-{:?}-{}", crate::DRIVER, std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Answers every request on a socket at `path`.
fn serve(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                    stream.write_all(HELLO.as_bytes()).ok();
                }
            });
        }
    });
}

fn load_unix(path: &Path, change: impl FnOnce(&mut benchd_engine::Plan)) -> Measured {
    let nowhere = "127.0.0.1:9".parse().unwrap();
    load(nowhere, |plan| {
        plan.url = "http://localhost/".parse().unwrap();
        plan.endpoints = vec![Endpoint::Unix(path.to_owned())];
        change(plan);
    })
}

#[test]
fn a_socket_in_the_file_system_is_loaded_like_any_other() {
    let folder = Folder::new("unix");
    let path = folder.file("x.sock");
    serve(&path);
    let run = load_unix(&path, |plan| (plan.connections, plan.requests) = (3, Some(300)));
    run.all(Outcome::Ok, 300);
    assert_eq!((run.opened(), run.end.connections_achieved), (3, 3));
    let counts = run.end.addresses[&format!("unix:{}", path.display())];
    assert_eq!((counts.opened, counts.ok, counts.failures), (3, 300, 0));

    let run = load_unix(&path, |plan| (plan.keepalive, plan.requests) = (false, Some(300)));
    run.all(Outcome::Ok, 300);
    assert_eq!(run.opened(), 300);
    // Without TIME_WAIT there is nothing to wait for: not even one 20 ms pause
    // in a hundred connections.
    assert!(run.total.span_us < 300 * 20_000, "{} us", run.total.span_us);
}

#[test]
fn what_is_no_socket_to_connect_to_is_a_connect_failure_in_words() {
    let folder = Folder::new("no-socket");
    let (file, datagrams) = (folder.file("file"), folder.file("datagrams"));
    std::fs::write(&file, "").unwrap();
    let _datagrams = UnixDatagram::bind(&datagrams).unwrap();
    for (path, words) in [
        (folder.file("missing"), "there is no such socket: no such file or directory"),
        (file, "nobody listens on it, or it is no socket: connection refused"),
        (datagrams, "it is no stream socket"),
    ] {
        let run = load_unix(&path, |plan| plan.requests = Some(4));
        run.all(Outcome::Connect, 4);
        let told = format!("unix:{}: {words}", path.display());
        assert!(run.reasons().contains(&told), "{}", run.reasons());
    }
}

#[test]
fn a_full_backlog_is_a_connect_failure_with_backoff() {
    let folder = Folder::new("backlog");
    let path = folder.file("full.sock");
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    // One more than the backlog is let in.
    socket.listen(0).unwrap();
    let waiting = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    waiting.connect(&SockAddr::unix(&path).unwrap()).unwrap();
    let run = load_unix(&path, |plan| (plan.connections, plan.requests) = (4, Some(20)));
    run.all(Outcome::Connect, 20);
    assert!(run.reasons().contains("its backlog is full"), "{}", run.reasons());
    // Five rounds with pauses of 10, 20, 40 and 50 ms between them.
    assert!(run.total.span_us >= 120_000, "{} us", run.total.span_us);
}

#[test]
fn an_ipv6_literal_is_loaded_and_named_with_brackets() {
    let server = Server::on("[::1]:0", |mut peer| {
        while let Some(request) = peer.request() {
            let host = request.lines().find_map(|line| line.strip_prefix("Host: "));
            let host = host.unwrap_or_default();
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{host}", host.len()));
        }
    });
    let run = load(server.address, |_| {});
    run.all(Outcome::Ok, 10);
    let host = format!("[::1]:{}", server.address.port());
    assert_eq!(run.total.bytes.body, 10 * host.len() as u64);
    assert_eq!(run.end.addresses[&host].ok, 10);
}

#[test]
fn each_of_several_addresses_gets_its_share_and_its_own_counts() {
    let servers = [(); 2].map(|()| Server::answering(HELLO));
    let closed: SocketAddr = {
        // Bound, never listening: nobody else can take the port meanwhile.
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        std::mem::forget(socket);
        address
    };
    let run = load(servers[0].address, |plan| {
        let addresses = [servers[0].address, servers[1].address, closed];
        plan.endpoints = addresses.into_iter().map(Endpoint::from).collect();
        (plan.keepalive, plan.requests) = (false, Some(30));
    });
    assert_eq!((run.of(Outcome::Ok), run.of(Outcome::Connect)), (20, 10), "{}", run.reasons());
    let counts = |address: SocketAddr| {
        let counts = run.end.addresses[&address.to_string()];
        (counts.opened, counts.ok, counts.failures)
    };
    assert_eq!(servers.each_ref().map(|s| counts(s.address)), [(10, 10, 0), (10, 10, 0)]);
    assert_eq!(counts(closed), (0, 0, 10));
}
