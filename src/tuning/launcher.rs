//! Starts child processes from a thread that lives as long as this process.
//!
//! A child asks the kernel to be ended with its parent, and to the kernel the
//! parent is the *thread* that started it. A short-lived caller (a test, a
//! pool of blocking threads) would take its nginx with it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Order = (Command, Sender<io::Result<Child>>);

static LAUNCHER: LazyLock<io::Result<Sender<Order>>> = LazyLock::new(|| {
    let (orders, incoming) = channel::<Order>();
    thread::Builder::new().name("child-launcher".into()).spawn(move || {
        for (mut command, reply) in incoming {
            if let Err(unheard) = reply.send(command.spawn())
                && let Ok(mut child) = unheard.0
            {
                let _already_gone = child.kill();
            }
        }
    })?;
    Ok(orders)
});

/// Whether util-linux's setpriv is there; BusyBox has one without the option.
static SETPRIV: LazyLock<bool> = LazyLock::new(|| {
    let mut probe = Command::new("setpriv");
    probe.args(["--pdeathsig", "TERM", "--", "true"]);
    let quiet = probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
});

/// A command for `program` that is ended when this process dies, however it
/// dies, where the machine has `setpriv`.
pub(crate) fn bound_command(program: &Path) -> Command {
    if !*SETPRIV {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// Starts the command on the launcher's thread.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that starts children is gone");
    let orders =
        LAUNCHER.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let (reply, answer) = channel();
    orders.send((command, reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
