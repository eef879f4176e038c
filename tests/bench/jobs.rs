//! What the service costs beside the load: the time a job takes beyond its own
//! window.

use crate::server::Server;
use crate::works::Exchange;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const JOBS: usize = 20;

/// A job over HTTP: from the post to the answer with its end, less its window.
pub(crate) fn measure(server: &Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut service, address) = serve(folder.path());
    for connections in [1, 64, 1000] {
        let document = serde_json::json!({
            "target": {"url": server.url(Exchange::KeepAlive), "stub_status": server.stub_status_url()},
            "load": {"connections": connections, "requests": 20_000},
        });
        let mut beyond: Vec<f64> =
            (0..JOBS).map(|_| one_job(&address, &document.to_string())).collect();
        beyond.sort_by(f64::total_cmp);
        println!(
            "a job of 20,000 requests on {connections} connections costs {:.0} ms beyond its window \
             (median of {JOBS}; {:.0} to {:.0})",
            beyond[JOBS / 2],
            beyond[0],
            beyond[JOBS - 1]
        );
    }
    service.kill().expect("the service can be killed");
    service.wait().expect("it ends");
}

/// A service with its database in `folder`, and its address.
pub(crate) fn serve(folder: &std::path::Path) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_benchd"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database"])
        .arg(folder.join("bench.db"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("benchd starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("stdout is a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("stdout is text");
    let address = line.trim().trim_start_matches("listening on http://").to_owned();
    (child, address)
}

/// Milliseconds beyond the job's own window.
fn one_job(address: &str, document: &str) -> f64 {
    let begun = Instant::now();
    let job = send(
        address,
        &format!(
            "POST /jobs HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nPrefer: wait=50\r\n\
             Content-Length: {}\r\n\r\n{document}",
            document.len()
        ),
    );
    let wall_ms = begun.elapsed().as_secs_f64() * 1000.0;
    assert_eq!(job["state"], "completed", "{job}");
    let path = job["links"]["result"].as_str().expect("a job links its result");
    let result = send(address, &format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"));
    wall_ms - result["duration_s"].as_f64().expect("a result has a duration") * 1000.0
}

fn send(address: &str, request: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).expect("the service accepts");
    stream.write_all(request.as_bytes()).expect("the service reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the answer is text");
    let (_, body) = text.split_once("\r\n\r\n").expect("the answer has a body");
    serde_json::from_str(body).expect("the body is JSON")
}
