//! PostgreSQL for tests: the server named by `BENCHD_TEST_DATABASE_URL`, or a
//! private cluster made from the machine's own binaries, on a socket in a
//! temporary folder. Included with `#[path]` by every test package that needs
//! it; uses the standard library and `tempfile` only.
//!
//! The cluster runs under a small shell, the keeper, that reads commands from a
//! pipe. When the test process ends, however it ends, the pipe closes, and the
//! keeper stops the server and removes the folder.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

const MISSING: &str = "PostgreSQL is needed for this test: apt-get install postgresql";

/// A database of its own for one test; dropped with this.
pub(crate) struct TestDatabase {
    url: String,
    name: String,
    admin_url: String,
}

impl TestDatabase {
    /// A fresh database on the shared server.
    pub(crate) fn create() -> Self {
        match std::env::var("BENCHD_TEST_DATABASE_URL") {
            Ok(url) => Self::create_on(&url),
            Err(_) => Self::create_on(&shared_cluster().url("postgres")),
        }
    }

    /// A fresh database on the server at `admin_url`.
    pub(crate) fn create_on(admin_url: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("benchd_test_{}_{number}", std::process::id());
        run_sql(admin_url, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        run_sql(admin_url, &format!("CREATE DATABASE {name}"));
        Self { url: with_database(admin_url, &name), name, admin_url: admin_url.to_owned() }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // The private cluster goes as a whole; somebody's own server must not fill up.
        if std::env::var_os("BENCHD_TEST_DATABASE_URL").is_some() {
            run_sql(
                &self.admin_url,
                &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name),
            );
        }
    }
}

/// Runs one statement through psql and gives what it prints.
pub(crate) fn run_sql(url: &str, sql: &str) -> String {
    let output = Command::new(binary("psql"))
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1"])
        .args(["--dbname", url, "--command", sql])
        .stdin(Stdio::null())
        .output()
        .expect("psql starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "psql refused {sql:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A private cluster. Dropping it stops the server and removes its folder.
pub(crate) struct Cluster {
    folder: PathBuf,
    keeper: Child,
    /// Taken when dropped: closing it is the order to end.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

// Not every package that includes this file breaks its database.
const _: [fn(&mut Cluster); 2] = [Cluster::stop, Cluster::restart];

/// Starts the server, waits until it answers, then obeys: one command a line,
/// one answer a line. The end of input is the end of the cluster.
const KEEPER: &str = r#"
trap '' INT TERM HUP
folder=$1; bin=$2; shift 2
start() {
    "$@" "$bin/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= \
        -c fsync=off -c full_page_writes=off \
        -c max_connections=200 >>"$folder/log" 2>&1 </dev/null &
    server=$!
    tries=0
    until "$bin/pg_isready" -q -h "$folder"; do
        tries=$((tries + 1))
        if [ $tries -gt 300 ] || ! kill -0 $server 2>/dev/null; then
            echo "the server did not start: $(tail -n 3 "$folder/log" | tr '\n' ' ')"
            return
        fi
        sleep 0.1
    done
    echo started
}
stop() { kill -QUIT $server 2>/dev/null; wait $server 2>/dev/null; }
start "$@"
while read -r command; do
    case $command in
        stop) stop; echo stopped ;;
        start) start "$@" ;;
    esac
done
stop
rm -rf "$folder"
"#;

impl Cluster {
    /// Makes and starts a cluster.
    pub(crate) fn start() -> Self {
        let folder =
            tempfile::Builder::new().prefix("benchd-pg-").tempdir().expect("a temporary folder");
        let user = unprivileged_user();
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).expect("the folder can be given away");
        }
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("own folder");
        let made = unprivileged(user, &binary("initdb"))
            .args([
                "--username=benchd",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
            ])
            .arg("-D")
            .arg(folder.path().join("data"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("initdb starts");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb failed: {said}");
        // From here on the folder is the keeper's.
        let folder = folder.keep();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .arg(binary("postgres").parent().expect("a binary is in a folder"))
            .args(change_user(user))
            .current_dir(&folder)
            // Out of reach of a Ctrl-C that ends the tests: it must clean up then.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let commands = keeper.stdin.take();
        let answers = BufReader::new(keeper.stdout.take().expect("its output is piped"));
        let mut cluster = Self { folder, keeper, commands, answers };
        cluster.expect_answer("started");
        cluster
    }

    /// Where one of its databases is.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://benchd@localhost/{database}?host={}", self.folder.display())
    }

    /// Kills the server as a crash would; connections break.
    pub(crate) fn stop(&mut self) {
        self.command("stop");
        self.expect_answer("stopped");
    }

    /// Starts it again on the same data.
    pub(crate) fn restart(&mut self) {
        self.command("start");
        self.expect_answer("started");
    }

    fn command(&mut self, word: &str) {
        let commands = self.commands.as_mut().expect("the cluster is there until dropped");
        writeln!(commands, "{word}").expect("the keeper reads");
    }

    fn expect_answer(&mut self, word: &str) {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the keeper answers");
        assert_eq!(line.trim(), word, "the keeper of the PostgreSQL cluster");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.commands.take());
        if let Err(error) = self.keeper.wait() {
            eprintln!("the keeper of the PostgreSQL cluster: {error}");
        }
    }
}

/// One cluster for the whole test process, never dropped: the keeper notices
/// when the process is gone.
fn shared_cluster() -> std::sync::MutexGuard<'static, Cluster> {
    static SHARED: OnceLock<Mutex<Cluster>> = OnceLock::new();
    SHARED.get_or_init(|| Mutex::new(Cluster::start())).lock().expect("nobody panics holding it")
}

/// PostgreSQL refuses to run as root; then it runs as this user and group.
fn unprivileged_user() -> Option<(u32, u32)> {
    if number_from("id", &["-u"]) != Some(0) {
        return None;
    }
    ["postgres", "nobody"]
        .iter()
        .find_map(|name| {
            Some((number_from("id", &["-u", name])?, number_from("id", &["-g", name])?))
        })
        .map_or_else(|| panic!("neither postgres nor nobody is a user here"), Some)
}

fn number_from(program: &str, arguments: &[&str]) -> Option<u32> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The words before a command that make it run as that user.
fn change_user(user: Option<(u32, u32)>) -> Vec<String> {
    // Even if the keeper is killed, the server does not stay.
    let mut words = vec!["setpriv".to_owned(), "--pdeathsig=QUIT".to_owned()];
    if let Some((uid, gid)) = user {
        let user =
            [format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()];
        words.extend(user);
    }
    words
}

fn unprivileged(user: Option<(u32, u32)>, program: &Path) -> Command {
    let words = change_user(user);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(program);
    command
}

/// A PostgreSQL binary: Debian keeps the servers' out of PATH, one folder per
/// version; the newest is taken.
fn binary(name: &str) -> PathBuf {
    let version = |folder: &Path| -> u32 {
        folder.file_name().and_then(|v| v.to_str()?.parse().ok()).unwrap_or(0)
    };
    let mut debian: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|folders| folders.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    debian.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .into_iter()
        .map(|folder| folder.join("bin"))
        .chain(std::env::split_paths(&in_path))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("{MISSING} ({name} was not found)"))
}

/// `url` with another database name.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').map_or((url, None), |(a, o)| (a, Some(o)));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let end = address[authority..].find('/').map_or(address.len(), |at| authority + at);
    let options = options.map(|options| format!("?{options}")).unwrap_or_default();
    format!("{}/{name}{options}", &address[..end])
}
