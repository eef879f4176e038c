//! Situations as data: what a server does on every connection, step by step,
//! what the plan changes, and the exact counts. A case is one line in a table.

use crate::support::{Peer, Server, load};
use benchd_engine::Plan;
use benchd_model::Outcome;
use socket2::SockRef;
use std::io::Write as _;
use std::net::Shutdown;
use std::time::Duration;

/// What a server does next on a connection. Behind the last step it closes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Reads one request; when the client has closed instead, it is over.
    Read,
    /// Sends these bytes in one piece.
    Say(&'static [u8]),
    /// Sends these bytes one per packet.
    Dribble(&'static [u8]),
    /// Sends these bytes again and again, until the client closes.
    Endless(&'static [u8]),
    /// Begins again with the first step.
    Again,
    /// Sends nothing more and says so, but goes on reading.
    Fin,
    /// Makes the close a reset.
    Rst,
    /// Waits until the client closes, and reads what it sends.
    Hold,
    /// Waits until the run is over, and reads nothing.
    Ignore,
}

/// A script, a change to the plan of ten requests over one connection, and
/// what must come of it.
pub(crate) struct Case {
    pub(crate) script: &'static [Step],
    pub(crate) plan: fn(&mut Plan),
    /// Every attempt's class; all others must be 0.
    pub(crate) counts: &'static [(Outcome, u64)],
    /// Connections opened, before and within the window.
    pub(crate) connections: u64,
    /// Body bytes, without framing.
    pub(crate) body: u64,
    /// Complete responses after which the connection stayed.
    pub(crate) kept: u64,
    /// The statuses counted.
    pub(crate) statuses: &'static [(u16, u64)],
    /// Words that the reasons and notes must hold.
    pub(crate) says: &'static str,
}

/// Ten good answers to ten requests on one connection.
pub(crate) const TEN_GOOD: Case = Case {
    script: &[],
    plan: |_| {},
    counts: &[(Outcome::Ok, 10)],
    connections: 1,
    body: 50,
    kept: 10,
    statuses: &[(200, 10)],
    says: "",
};

/// Ten good answers, each on a connection of its own.
pub(crate) const TEN_CLOSED: Case = Case { connections: 10, kept: 0, ..TEN_GOOD };

/// Ten attempts, none of them answered; the class is the case's own.
pub(crate) const NONE_GOOD: Case = Case { body: 0, statuses: &[], ..TEN_CLOSED };

impl Case {
    #[track_caller]
    pub(crate) fn check(&self) {
        let server = Server::scripted(self.script);
        let run = load(server.address, |plan| (self.plan)(plan));
        let shown = format!("{:?} {} {:?}", run.total.counts, run.reasons(), run.end.notes);
        let counts = Outcome::ALL.map(|class| (class, run.of(class)));
        let counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counts, self.counts, "{shown}");
        assert_eq!(run.opened(), self.connections, "connections: {shown}");
        assert_eq!(run.total.bytes.body, self.body, "body bytes: {shown}");
        assert_eq!(run.total.kept_alive, self.kept, "kept alive: {shown}");
        let statuses: Vec<_> = run.total.status_codes.iter().map(|(s, n)| (*s, *n)).collect();
        assert_eq!(statuses, self.statuses, "{shown}");
        assert!(shown.contains(self.says), "{:?} is not said: {shown}", self.says);
    }
}

impl Server {
    /// A server that follows `script` on every connection.
    pub(crate) fn scripted(script: &'static [Step]) -> Self {
        Self::start(move |peer| follow(script, peer))
    }
}

fn follow(script: &[Step], mut peer: Peer) {
    let mut steps = script.iter();
    while let Some(step) = steps.next() {
        match step {
            Step::Read if peer.request().is_none() => return,
            Step::Read => {}
            Step::Say(bytes) => peer.send(bytes),
            Step::Dribble(bytes) => bytes.chunks(1).for_each(|byte| peer.send(byte)),
            Step::Endless(bytes) => while peer.stream.write_all(bytes).is_ok() {},
            Step::Again => steps = script.iter(),
            Step::Fin => drop(peer.stream.shutdown(Shutdown::Write)),
            Step::Rst => SockRef::from(&peer.stream).set_linger(Some(Duration::ZERO)).unwrap(),
            Step::Hold => return peer.hold(),
            Step::Ignore => return peer.ignore(),
        }
    }
}

/// Declares tests: a name, the script, and where the case differs from its base.
macro_rules! cases {
    ($($(#[$note:meta])* $name:ident: $base:ident [$($step:expr),* $(,)?]
        $(, $field:ident: $value:expr)*;)*) => {$(
        $(#[$note])*
        #[test]
        fn $name() {
            let script = const { &[$($step),*] };
            $crate::script::Case { script, $($field: $value,)* ..$base }.check();
        }
    )*};
}
pub(crate) use cases;
