//! An nginx in a folder of its own, from start to stop.

use crate::error::NginxError;
use crate::launcher::bound_command;
use crate::locate::{Build, find_nginx};
use crate::options::NginxOptions;
use crate::prefix::{make_prefix, open_to_others, write_pages};
use crate::process::Master;
use crate::render::{self, IDENTITY_PATH, STATUS_PATH, Surroundings};
use rustix::process::{Resource, Signal, geteuid, getrlimit};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long nginx may take to start or to take a new configuration.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long one probe of the port may take.
const PROBE_LIMIT: Duration = Duration::from_secs(1);
/// The pause between two probes; it ends early when nginx does.
const PROBE_PAUSE: Duration = Duration::from_millis(5);
/// How often a port that somebody else took is replaced by another one.
const PORT_ATTEMPTS: u32 = 5;
/// How much of a log an error quotes, in bytes.
const QUOTED_LOG: usize = 4096;

/// A running nginx with its own prefix, configuration and port. It is stopped
/// when this is dropped, and by the kernel when this process dies.
///
/// It serves `/` (index.html), `/large` and `/nginx_status`. All calls block.
pub struct ManagedNginx {
    options: NginxOptions,
    binary: PathBuf,
    build: Build,
    prefix: TempDir,
    user: Option<&'static str>,
    address: SocketAddr,
    tls_address: Option<SocketAddr>,
    http2_address: Option<SocketAddr>,
    generation: u32,
    master: Option<Master>,
}

impl ManagedNginx {
    /// Writes the configuration, starts nginx and waits until it answers.
    ///
    /// # Errors
    /// [`NginxError`]; when nginx itself refused, with what its error.log says.
    pub fn start(options: NginxOptions) -> Result<Self, NginxError> {
        let binary = options.binary.clone().or_else(find_nginx).ok_or(NginxError::Missing)?;
        let build = Build::of(&binary)?;
        let prefix = make_prefix(&options).map_err(NginxError::io("make a folder for nginx"))?;
        let unspecified = SocketAddr::new(options.listen, options.port);
        let user = (geteuid().is_root() && !open_to_others(prefix.path())).then_some("root");
        let mut nginx = Self {
            options,
            binary,
            build,
            prefix,
            user,
            address: unspecified,
            tls_address: None,
            http2_address: None,
            generation: 0,
            master: None,
        };
        for _ in 1..PORT_ATTEMPTS {
            nginx.pick_ports()?;
            match nginx.launch() {
                Err(NginxError::Failed { log, .. })
                    if nginx.may_move() && log.contains("Address already in use") => {}
                outcome => return outcome.map(|()| nginx),
            }
        }
        nginx.pick_ports()?;
        nginx.launch().map(|()| nginx)
    }

    /// The URL of a path on the plain listener.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        render::url("http", self.address, path)
    }

    /// The URL of a path on the TLS listener, when there is one.
    #[must_use]
    pub fn tls_url(&self, path: &str) -> Option<String> {
        self.tls_address.map(|address| render::url("https", address, path))
    }

    /// The URL of a path on the listener for HTTP/2 without TLS, when there is one.
    #[must_use]
    pub fn http2_url(&self, path: &str) -> Option<String> {
        self.http2_address.map(|address| render::url("http", address, path))
    }

    /// The URL of the stub_status page.
    #[must_use]
    pub fn stub_status_url(&self) -> String {
        self.url(STATUS_PATH)
    }

    /// Where the plain listener is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What runs (`nginx/1.22.1`).
    #[must_use]
    pub fn version(&self) -> &str {
        &self.build.version
    }

    /// The folder that holds everything of this nginx.
    #[must_use]
    pub fn prefix(&self) -> &Path {
        self.prefix.path()
    }

    /// The whole error.log, level `warn` and above.
    #[must_use]
    pub fn error_log(&self) -> String {
        self.read("logs/error.log")
    }

    /// The whole access.log; empty unless the options ask for one.
    #[must_use]
    pub fn access_log(&self) -> String {
        self.read("logs/access.log")
    }

    /// The master's process id; none when it is stopped.
    #[must_use]
    pub fn master_pid(&self) -> Option<u32> {
        self.master.as_ref().map(Master::id)
    }

    /// The workers that take connections.
    #[must_use]
    pub fn worker_pids(&self) -> Vec<u32> {
        self.master.as_ref().and_then(Master::workers).unwrap_or_default()
    }

    /// Takes the same configuration anew (SIGHUP); counters go on.
    ///
    /// # Errors
    /// As [`ManagedNginx::reload_with`].
    pub fn reload(&mut self) -> Result<(), NginxError> {
        self.reload_with(self.options.clone())
    }

    /// Takes new options without a restart and waits until only new workers
    /// take connections. Address, ports and binary stay what they are. When
    /// nginx refuses, the options before remain in force.
    ///
    /// # Errors
    /// [`NginxError::Failed`] with what error.log says of the refusal.
    pub fn reload_with(&mut self, options: NginxOptions) -> Result<(), NginxError> {
        let Some(master) = &self.master else { return self.restart() };
        let before = master.workers().unwrap_or_default();
        let logged = self.error_log().len();
        let previous = std::mem::replace(&mut self.options, options);
        self.generation += 1;
        let hang_up =
            |master: &Master| master.signal(Signal::HUP).map_err(NginxError::io("signal nginx"));
        let outcome = write_pages(self.prefix.path(), &self.options)
            .map_err(NginxError::io("write nginx's pages"))
            .and_then(|()| self.write_conf())
            .and_then(|()| hang_up(master))
            .and_then(|()| self.await_answer("reload", logged, &before));
        if let Err(error) = outcome {
            self.options = previous;
            write_pages(self.prefix.path(), &self.options)
                .map_err(NginxError::io("write nginx's pages"))?;
            self.write_conf()?;
            return Err(error);
        }
        Ok(())
    }

    /// Stops nginx and starts it again on the same ports; counters begin at 0.
    ///
    /// # Errors
    /// As [`ManagedNginx::start`].
    pub fn restart(&mut self) -> Result<(), NginxError> {
        self.stop()?;
        self.launch()
    }

    /// Stops nginx now, requests in flight included, and waits until it is
    /// gone. Stopping twice is no error.
    ///
    /// # Errors
    /// [`NginxError::Io`] when the process cannot be ended.
    pub fn stop(&mut self) -> Result<(), NginxError> {
        let Some(master) = self.master.take() else { return Ok(()) };
        master.end().map(drop).map_err(NginxError::io("stop nginx"))
    }

    fn may_move(&self) -> bool {
        self.options.port == 0 || self.options.tls.is_some() || self.options.http2
    }

    fn pick_ports(&mut self) -> Result<(), NginxError> {
        // All are held until all are known, or two could be the same one.
        let reserve = |port| {
            TcpListener::bind((self.options.listen, port))
                .map_err(NginxError::io("find a free port"))
        };
        let plain = match self.options.port {
            0 => Some(reserve(0)?),
            _ => None,
        };
        let tls = self.options.tls.as_ref().map(|_| reserve(0)).transpose()?;
        let http2 = self.options.http2.then(|| reserve(0)).transpose()?;
        let address = |listener: &TcpListener| {
            listener.local_addr().map_err(NginxError::io("find a free port"))
        };
        let fixed = SocketAddr::new(self.options.listen, self.options.port);
        self.address = plain.as_ref().map_or(Ok(fixed), address)?;
        self.tls_address = tls.as_ref().map(address).transpose()?;
        self.http2_address = http2.as_ref().map(address).transpose()?;
        Ok(())
    }

    fn launch(&mut self) -> Result<(), NginxError> {
        self.generation += 1;
        self.write_conf()?;
        let logged = self.error_log().len();
        let starting = NginxError::io("start nginx");
        let prefix = self.prefix.path();
        let stderr = match File::create(prefix.join("logs/stderr.log")) {
            Ok(file) => file,
            Err(error) => return Err(starting(error)),
        };
        let mut command = bound_command(&self.binary);
        command.arg("-p").arg(prefix).args(["-c", "nginx.conf"]);
        if self.build.takes_error_log() {
            command.args(["-e", "logs/error.log"]);
        }
        // nginx takes this variable for listeners handed over by a predecessor.
        command.env_remove("NGINX").stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        self.master = Some(Master::spawn(command).map_err(starting)?);
        let answered = self.await_answer("start", logged, &[]);
        if answered.is_err() {
            self.stop()?;
        }
        answered
    }

    fn write_conf(&self) -> Result<(), NginxError> {
        let around = Surroundings {
            build: &self.build,
            address: self.address,
            tls_address: self.tls_address,
            http2_address: self.http2_address,
            nofile_hard: getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX),
            user: self.user,
            identity: &self.identity(),
        };
        let conf = render::nginx_conf(&self.options, &around);
        fs::write(self.prefix.path().join("nginx.conf"), conf)
            .map_err(NginxError::io("write nginx.conf"))
    }

    /// Tells this nginx and this configuration from every other one, which may
    /// have taken the port in the meantime.
    fn identity(&self) -> String {
        let name = self.prefix.path().file_name().unwrap_or_default().to_string_lossy();
        format!("{name}/{}", self.generation)
    }

    /// Probes the port until the newest configuration answers and all its
    /// workers, and none of those `before`, take connections. `logged` is the
    /// length of error.log before the attempt.
    fn await_answer(
        &self,
        doing: &'static str,
        logged: usize,
        before: &[u32],
    ) -> Result<(), NginxError> {
        let Some(master) = &self.master else { return Err(self.silent(doing, logged)) };
        let deadline = Instant::now() + ANSWER_LIMIT;
        let identity = self.identity();
        let mut answered = false;
        loop {
            answered = answered || probe(self.address).is_ok_and(|text| text.ends_with(&identity));
            if answered && self.has_all_workers(master, before) {
                return Ok(());
            }
            let ended = master.ended_within(PROBE_PAUSE);
            if ended || (doing == "reload" && self.log_since(logged).contains("[emerg]")) {
                return Err(NginxError::Failed { doing, log: self.quoted_log(logged) });
            }
            if Instant::now() >= deadline {
                return Err(self.silent(doing, logged));
            }
        }
    }

    fn has_all_workers(&self, master: &Master, before: &[u32]) -> bool {
        let Some(workers) = master.workers() else { return true };
        let fresh = workers.iter().all(|pid| !before.contains(pid));
        fresh && workers.len() >= self.options.workers as usize
    }

    fn silent(&self, doing: &'static str, logged: usize) -> NginxError {
        NginxError::Silent { doing, waited: ANSWER_LIMIT, log: self.quoted_log(logged) }
    }

    fn log_since(&self, logged: usize) -> String {
        let log = self.error_log();
        log.get(logged..).unwrap_or(&log).to_owned()
    }

    /// What nginx said: error.log, or stderr while there was no log yet.
    fn quoted_log(&self, logged: usize) -> String {
        let said = [self.log_since(logged), self.read("logs/stderr.log")];
        let text = said.iter().map(|text| text.trim()).find(|text| !text.is_empty());
        let text = text.unwrap_or("its error.log is empty");
        let start = text.len().saturating_sub(QUOTED_LOG);
        let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text[start..].to_owned()
    }

    fn read(&self, file: &str) -> String {
        let bytes = fs::read(self.prefix.path().join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for ManagedNginx {
    fn drop(&mut self) {
        // Nobody is left to be told; the kernel ends it with this process.
        let _unheard = self.stop();
    }
}

/// One request over a connection of its own; the whole answer as text.
fn probe(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE_LIMIT)?;
    stream.set_read_timeout(Some(PROBE_LIMIT))?;
    stream.write_all(format!("GET {IDENTITY_PATH} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
