//! `benchd serve` as a process of its own.

use super::command::command;
use super::http::{self, Answer};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running service; killed with the test.
pub(crate) struct Service {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
}

impl Service {
    /// A service on a free port, its SQLite database in `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    /// The same with more arguments.
    pub(crate) fn start_with(folder: &Path, args: &[&str]) -> Self {
        let mut command = command(folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        Self::spawn(&mut command)
    }

    /// A service whose disk can be made full, see [`Self::limit_files`].
    pub(crate) fn start_limited(folder: &Path) -> Self {
        let plain = command(folder);
        let mut command = Command::new("sh");
        // A write over the limit is to fail, as on a full disk, and not to kill.
        command.args(["-c", "trap '' XFSZ; exec \"$0\" serve --listen 127.0.0.1:0"]);
        command.arg(plain.get_program()).env_clear().current_dir(folder);
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::spawn(&mut command)
    }

    /// Lets no file of the service grow over `bytes`, or all of them again.
    pub(crate) fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let pid = self.child.id().to_string();
        let args = ["--pid", &pid, &format!("--fsize={limit}:unlimited")];
        assert!(Command::new("prlimit").args(args).status().is_ok_and(|status| status.success()));
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("benchd starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout is a pipe"))
            .read_line(&mut line)
            .expect("stdout is text");
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("the service did not start: {line:?}"));
        Self { address: address.to_owned(), child }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        http::send(&self.address, "GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        http::send(&self.address, "POST", path, &all, body)
    }

    /// Posts a job and waits for its end; the finished job.
    pub(crate) fn run(&self, document: &Value) -> Value {
        let posted = self.post("/jobs", &[("Prefer", "wait=50")], &document.to_string());
        assert!(matches!(posted.status, 200 | 202), "{posted:?}");
        let id = posted.json()["id"].as_str().expect("a job has an id").to_owned();
        self.finished(&id)
    }

    /// Waits for the end of a job.
    pub(crate) fn finished(&self, id: &str) -> Value {
        for _ in 0..20 {
            let answer = http::send(
                &self.address,
                "GET",
                &format!("/jobs/{id}"),
                &[("Prefer", "wait=30")],
                "",
            );
            let job = answer.json();
            if !matches!(job["state"].as_str(), Some("queued" | "running")) {
                return job;
            }
        }
        panic!("job {id} does not end");
    }

    /// Waits until the job has measured `seconds` rows.
    pub(crate) fn measured(&self, id: &str, rows: usize) {
        let mut events = std::net::TcpStream::connect(&self.address).expect("the service accepts");
        std::io::Write::write_all(
            &mut events,
            format!("GET /jobs/{id}/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes(),
        )
        .expect("the service reads");
        let seconds = BufReader::new(events)
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.replace(' ', "") == "event:second")
            .take(rows)
            .count();
        assert_eq!(seconds, rows, "the job ended early");
    }

    /// SIGKILL: nothing can be tidied up.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the service can be killed");
        self.child.wait().expect("it ends");
    }

    /// SIGTERM, and the exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        send_signal(&self.child, "TERM");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already, which is what is wanted.
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

/// Sends a signal by name with `kill`.
pub(crate) fn send_signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{signal}");
}
