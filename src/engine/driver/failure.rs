//! Why attempts fail, in the words that every driver uses.

use crate::endpoint::Endpoint;
use crate::record::Recorder;
use crate::shared::Shared;
use benchd_model::{Outcome, Span};
use rustix::io::Errno;
use std::borrow::Cow;
use std::io;

/// The server sent what nobody asked for.
pub(super) const UNASKED: &str = "the server sent bytes after a complete response; \
                                  such connections were closed and not used again";

/// Why an attempt failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    pub(super) reason: Cow<'static, str>,
    /// This process can hold no more connections than it does.
    pub(super) no_room: bool,
}

impl Failure {
    pub(super) fn new(outcome: Outcome, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { outcome, reason: reason.into(), no_room: false }
    }

    /// `what` within the time limit of a request did not happen.
    pub(super) fn too_slow(shared: &Shared, outcome: Outcome, what: &str) -> Self {
        let limit = Span::from(shared.prepared.plan.timeout);
        Self::new(outcome, format!("{what} within {limit}"))
    }

    /// There is no connection within the limit.
    pub(super) fn no_connection_in_time(shared: &Shared) -> Self {
        Self::too_slow(shared, Outcome::Timeout, "no connection")
    }

    /// TLS is not agreed on within the limit.
    pub(super) fn no_handshake_in_time(shared: &Shared) -> Self {
        Self::too_slow(shared, Outcome::Tls, "TLS handshake not finished")
    }

    /// The request cannot be sent.
    pub(super) fn unsent(error: &io::Error) -> Self {
        Self::new(Outcome::Send, in_words(error))
    }

    /// Connecting to an endpoint failed; a limit of this machine is noted.
    pub(super) fn unconnected(
        shared: &Shared,
        recorder: &mut Recorder,
        endpoint: u32,
        error: &io::Error,
    ) -> Self {
        let mut no_room = true;
        let note = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE) => shared.descriptors.note(shared.prepared.plan.connections),
            Some(Errno::NFILE) => {
                "this machine has no room for another open file: its limit is fs.file-max, which \
                 `sysctl -w fs.file-max=N` raises"
                    .to_owned()
            }
            Some(Errno::ADDRNOTAVAIL) => {
                // Ports come back by themselves.
                no_room = false;
                "no free local port for another connection: use keep-alive, widen \
                 net.ipv4.ip_local_port_range, or spread the load over several of this host's \
                 addresses (--source-address) or of the target's"
                    .to_owned()
            }
            Some(Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) => {
                "the kernel has no memory for another socket: see net.ipv4.tcp_mem and \
                 fs.epoll.max_user_watches"
                    .to_owned()
            }
            _ => return Self::refused(shared.prepared.endpoint(endpoint), error),
        };
        recorder.note(note);
        Self { no_room, ..Self::new(Outcome::Local, in_words(error)) }
    }

    /// The other side does not take the connection.
    fn refused(endpoint: &Endpoint, error: &io::Error) -> Self {
        let words = in_words(error);
        let hint = match error.raw_os_error().map(Errno::from_raw_os_error) {
            _ if !endpoint.is_unix() => return Self::new(Outcome::Connect, words),
            Some(Errno::NOENT) => "there is no such socket",
            Some(Errno::CONNREFUSED) => "nobody listens on it, or it is no socket",
            Some(Errno::ACCESS) => "this user may not write to the socket or enter its folder",
            Some(Errno::PROTOTYPE) => "it is no stream socket",
            Some(Errno::AGAIN) => "its backlog is full",
            _ => "no connection",
        };
        Self::new(Outcome::Connect, format!("{endpoint}: {hint}: {words}"))
    }

    /// The run's share of descriptors is used up.
    pub(super) fn no_descriptor(shared: &Shared, recorder: &mut Recorder, endpoint: u32) -> Self {
        let error = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        Self::unconnected(shared, recorder, endpoint, &error)
    }
}

/// What to make of a connection that has this very socket at its other end. On
/// loopback a connect to a closed port can meet itself when the kernel picks
/// that very port as the local one.
pub(super) fn met_itself() -> io::Error {
    Errno::CONNREFUSED.into()
}

/// An error as a fragment in a sentence.
pub(super) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    match (letters.next(), text.chars().nth(1)) {
        // Words such as "TLS" stay as they are.
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use crate::driver::Reporter;
    use crate::record::Recorder;
    use crate::shared::Shared;
    use benchd_model::Outcome;
    use rustix::io::Errno;
    use std::rc::Rc;
    use std::sync::mpsc::channel;

    #[test]
    fn a_limit_of_this_machine_is_local_and_named_with_its_remedy() {
        let shared = Shared::for_test("127.0.0.1:1".parse().unwrap());
        for (errno, no_room, limit, remedy) in [
            (Errno::MFILE, true, "limit on open files of this process", "ulimit -n"),
            (Errno::NFILE, true, "fs.file-max", "sysctl"),
            (Errno::ADDRNOTAVAIL, false, "ip_local_port_range", "--source-address"),
            (Errno::NOBUFS, true, "memory", "tcp_mem"),
        ] {
            let reporter = Reporter::new(0, channel().0);
            let mut recorder = Recorder::new(shared.clone(), reporter, Rc::default());
            let failure = Failure::unconnected(&shared, &mut recorder, 0, &errno.into());
            assert_eq!((failure.outcome, failure.no_room), (Outcome::Local, no_room), "{errno}");
            let notes = recorder.finish(0, true).notes;
            assert!(notes.iter().any(|n| n.contains(limit) && n.contains(remedy)), "{notes:?}");
        }
    }
}
