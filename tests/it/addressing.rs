//! Ways to a target beside a port of its host: sockets in the file system,
//! given addresses, chosen sources.

use crate::support::command::{Ended, benchd, command};
use crate::support::nginx;
use crate::support::service::Service;
use benchd_tuning::{ManagedNginx, NginxOptions};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

/// An nginx that listens on a socket, too, and the socket's path.
fn nginx_on_socket(folder: &Path) -> (ManagedNginx, PathBuf) {
    let path = folder.join("nginx.sock");
    let server_extra = format!("listen unix:{};", path.display());
    (nginx::start_with(NginxOptions { server_extra, ..NginxOptions::default() }), path)
}

fn run(folder: &Path, args: &[&str]) -> Ended {
    benchd(folder, &[&["run", "--format", "json"], args].concat())
}

#[test]
fn a_socket_is_loaded_and_reconciled_with_nginx_s_own_count() {
    let folder = tempfile::tempdir().unwrap();
    let (nginx, path) = nginx_on_socket(folder.path());
    let (status, path) = (nginx.url("/nginx_status"), path.to_string_lossy().into_owned());
    for target in [
        vec![format!("unix:{path}:/index.html")],
        vec!["http://shop.example/".to_owned(), "--unix-socket".to_owned(), path.clone()],
        vec!["unix:nginx.sock".to_owned()],
    ] {
        let target: Vec<&str> = target.iter().map(String::as_str).collect();
        for keepalive in [&[][..], &["--no-keepalive"]] {
            let args =
                [&target, &["-n", "500", "-c", "7", "--stub-status", &status][..], keepalive];
            let ended = run(folder.path(), &args.concat());
            let result = ended.json();
            assert_eq!((ended.code, &result["counts"]["ok"]), (0, &json!(500)), "{result}");
            assert_eq!(result["validity"]["reconciled"], true, "{result}");
            assert_eq!(result["server"]["stub_status"]["requests"], 500);
            let address = &result["load"]["addresses"][0];
            assert_eq!(address["address"], format!("unix:{path}"));
            assert_eq!((&address["ok"], &address["failures"]), (&json!(500), &json!(0)));
        }
    }
    let ab = benchd(folder.path(), &["ab", "-k", "-n", "50", "-c", "5", &format!("unix:{path}:/")]);
    assert_eq!(ab.code, 0, "{}", ab.stderr);
    assert!(ab.stdout.contains("Complete requests:      50"), "{}", ab.stdout);
}

#[test]
fn a_service_loads_no_socket_but_a_registered_target_s() {
    let folder = tempfile::tempdir().unwrap();
    let (nginx, path) = nginx_on_socket(folder.path());
    let status = nginx.url("/nginx_status");
    let toml = format!(
        "[[targets]]\nname = \"shop\"\nurl = \"http://shop.example/\"\nunix_socket = \"{}\"\n\
         stub_status = \"{status}\"\nmax_connections = 10\n",
        path.display()
    );
    std::fs::write(folder.path().join("benchd.toml"), toml).unwrap();
    let service = Service::start(folder.path());
    let post = |target: Value| {
        let document = json!({"target": target, "load": {"connections": 5, "requests": 100}});
        service.post("/jobs", &[], &document.to_string())
    };
    for other in ["/run/docker.sock", "/var/run/docker.sock", "/nonexistent"] {
        let refused = post(json!({"url": "http://localhost/", "unix_socket": other}));
        let code = refused.json()["code"].clone();
        assert_eq!((refused.status, code), (403, json!("target_refused")), "{refused:?}");
    }
    let relative = post(json!({"url": "http://localhost/", "unix_socket": "nginx.sock"}));
    assert_eq!((relative.status, relative.pointers()), (422, vec!["/target/unix_socket".into()]));
    for target in [json!("shop"), json!({"url": "http://other/", "unix_socket": path})] {
        let job =
            service.run(&json!({"target": target, "load": {"connections": 5, "requests": 100}}));
        assert_eq!(
            (&job["state"], &job["verdict"]),
            (&json!("completed"), &json!("pass")),
            "{job}"
        );
    }
    let many = json!({"target": "shop", "load": {"connections": 11}});
    let many = service.post("/jobs", &[], &many.to_string());
    assert_eq!((many.status, many.pointers()), (422, vec!["/load/connections".into()]), "{many:?}");
}

/// Answers on one port of 127.0.0.1 and 127.0.0.2.
fn serve_on_two_addresses() -> u16 {
    let both = || {
        let first = TcpListener::bind("127.0.0.1:0").ok()?;
        let port = first.local_addr().ok()?.port();
        Some((port, [first, TcpListener::bind(("127.0.0.2", port)).ok()?]))
    };
    let (port, listeners) = (0..100).find_map(|_| both()).expect("one of a hundred is free twice");
    for listener in listeners {
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || {
                    while let Ok(1..) = stream.read(&mut [0; 4096]) {
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                    }
                });
            }
        });
    }
    port
}

#[test]
fn given_addresses_share_the_load_and_are_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    let port = serve_on_two_addresses();
    let url = format!("http://shop.example:{port}/");
    let resolve = format!("shop.example:{port}:127.0.0.1,127.0.0.2");
    let shared = ["-c", "6", "-n", "300", "--resolve", &resolve];
    let sources = ["--source-address", "127.0.0.3", "--source-address", "127.0.0.4"];
    let args = [&[url.as_str()], &shared[..], &sources].concat();
    let result = run(folder.path(), &args).json();
    assert_eq!((&result["verdict"], &result["counts"]["ok"]), (&json!("pass"), &json!(300)));
    let addresses = result["load"]["addresses"].as_array().unwrap();
    let opened: Vec<&Value> = addresses.iter().map(|address| &address["opened"]).collect();
    assert_eq!(opened, [&json!(3), &json!(3)], "{addresses:?}");
    let answered: u64 = addresses.iter().map(|address| address["ok"].as_u64().unwrap()).sum();
    assert_eq!(answered, 300);
    let table = benchd(folder.path(), &[&["run"], &args[..]].concat()).stdout;
    let line = format!("127.0.0.2:{port}: 3 connections");
    assert!(table.contains(&line), "{table}");
}

#[test]
fn what_leads_nowhere_is_refused_by_the_flag_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("unix:/{}:/", "a".repeat(107));
    let url = "http://shop.example:81/";
    for (args, code, words) in [
        (
            vec![url, "--resolve", "shop.example:80:127.0.0.1"],
            2,
            "the URL asks for shop.example:81",
        ),
        (vec![url, "--resolve", "127.0.0.1"], 2, "write shop.example:81:127.0.0.1"),
        (vec![url, "--resolve", "shop.example:81:home"], 2, "--resolve: \"home\" is no IP address"),
        (vec![url, "--resolve", "shop.example:81:10.0.0.1"], 3, "refused"),
        (vec![url, "--resolve", "shop.example:81:169.254.169.254"], 3, "never loads"),
        (vec!["http://[fe80::1%25eth0]/"], 2, "link-local addresses are never loaded"),
        (vec!["http://[fe80::1]/"], 3, "never loads"),
        (vec!["http://127.0.0.1:1/", "--source-address", "192.0.2.1"], 2, "`ip address` lists"),
        (vec!["http://127.0.0.1:1/", "--source-address", "::1"], 2, "no IPv6 address"),
        (
            vec!["http://127.0.0.1:1/", "--source-address", "lo"],
            2,
            "--source-address: \"lo\" is no",
        ),
        (vec![&long], 2, "URL: is 108 bytes long"),
        (vec!["unix:/a.sock", "--source-address", "127.0.0.1"], 2, "leads to no unix socket"),
        (vec!["http://127.0.0.1:1/", "--tls-min", "1.3"], 2, "--tls-min: is about TLS"),
        (vec!["http://127.0.0.1:1/", "--insecure"], 2, "--insecure: is about TLS"),
        (vec!["https://127.0.0.1:1/", "--tls-min", "1.1"], 2, "--tls-min: \"1.1\" is not right"),
        (vec!["https://127.0.0.1:1/", "--ca-file", "/etc/hostname"], 2, "holds no certificate"),
        (vec!["https://127.0.0.1:1/", "--ca-file", "nowhere"], 2, "cannot read nowhere"),
    ] {
        let ended = run(folder.path(), &args);
        assert_eq!(ended.code, code, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    }
    let missing = run(folder.path(), &["unix:missing.sock", "-n", "3"]);
    let result = missing.json();
    assert_eq!((missing.code, &result["counts"]["connect"]), (99, &json!(3)), "{result}");
    let reasons = result["failure_reasons"].to_string();
    assert!(reasons.contains("there is no such socket"), "{reasons}");
}

#[test]
fn an_unusable_source_ends_ab_before_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["ab", "-n", "1", "-B", "192.0.2.1", "http://127.0.0.1:1/"];
    let ended: Ended = command(folder.path()).args(line).output().unwrap().into();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("source address 192.0.2.1 cannot be used"), "{}", ended.stderr);
}
