//! What became of a request: exactly one class each.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The class of one attempt. A complete response is `Ok` whatever its status;
/// statuses are counted beside it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// The response was complete as RFC 9112 defines it.
    Ok,
    /// No TCP connection: refused, unreachable, or reset while connecting.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// Writing the request failed.
    Send,
    /// The peer reset or closed the connection before the first response byte.
    Reset,
    /// The connection ended inside a response.
    Truncated,
    /// The bytes received are no HTTP response.
    Protocol,
    /// No complete response within the time limit (connecting included).
    Timeout,
    /// This host could not try: no descriptor, no local port, no memory.
    Local,
    /// In flight when the run ended.
    Aborted,
    /// Scheduled but never sent (open loop).
    Dropped,
}

impl Outcome {
    /// Every class, in the order of the counts.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Connect,
        Self::Tls,
        Self::Send,
        Self::Reset,
        Self::Truncated,
        Self::Protocol,
        Self::Timeout,
        Self::Local,
        Self::Aborted,
        Self::Dropped,
    ];

    /// The class as it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Reset => "reset",
            Self::Truncated => "truncated",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::Local => "local",
            Self::Aborted => "aborted",
            Self::Dropped => "dropped",
        }
    }
}

/// Attempts by class. Always `issued = ok + failures + aborted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Attempts made.
    pub issued: u64,
    /// Complete responses, whatever their status.
    pub ok: u64,
    /// Attempts that found no TCP connection.
    pub connect: u64,
    /// Failed TLS handshakes.
    pub tls: u64,
    /// Requests that could not be written.
    pub send: u64,
    /// Connections reset or closed before the first response byte.
    pub reset: u64,
    /// Responses cut short.
    pub truncated: u64,
    /// Answers that are no HTTP.
    pub protocol: u64,
    /// Attempts past their time limit.
    pub timeout: u64,
    /// Attempts that failed on the generator itself.
    pub local: u64,
    /// Attempts in flight when the run ended.
    pub aborted: u64,
    /// Attempts scheduled and never sent (open loop).
    pub dropped: u64,
}

impl Counts {
    /// Counts one finished attempt.
    pub fn add(&mut self, outcome: Outcome) {
        self.issued += 1;
        *self.slot(outcome) += 1;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.issued += other.issued;
        for outcome in Outcome::ALL {
            *self.slot(outcome) += other.of(outcome);
        }
    }

    /// How many attempts ended as `outcome`.
    #[must_use]
    pub const fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Ok => self.ok,
            Outcome::Connect => self.connect,
            Outcome::Tls => self.tls,
            Outcome::Send => self.send,
            Outcome::Reset => self.reset,
            Outcome::Truncated => self.truncated,
            Outcome::Protocol => self.protocol,
            Outcome::Timeout => self.timeout,
            Outcome::Local => self.local,
            Outcome::Aborted => self.aborted,
            Outcome::Dropped => self.dropped,
        }
    }

    /// Attempts that failed: neither `ok` nor `aborted`.
    #[must_use]
    pub fn failures(&self) -> u64 {
        Outcome::ALL
            .iter()
            .filter(|o| !matches!(o, Outcome::Ok | Outcome::Aborted))
            .map(|o| self.of(*o))
            .sum()
    }

    /// The invariant: every attempt is in exactly one class.
    #[must_use]
    pub fn balanced(&self) -> bool {
        self.issued == self.ok + self.failures() + self.aborted
    }

    fn slot(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Connect => &mut self.connect,
            Outcome::Tls => &mut self.tls,
            Outcome::Send => &mut self.send,
            Outcome::Reset => &mut self.reset,
            Outcome::Truncated => &mut self.truncated,
            Outcome::Protocol => &mut self.protocol,
            Outcome::Timeout => &mut self.timeout,
            Outcome::Local => &mut self.local,
            Outcome::Aborted => &mut self.aborted,
            Outcome::Dropped => &mut self.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Outcome};

    #[test]
    fn every_class_keeps_the_counts_balanced() {
        let mut counts = Counts::default();
        for outcome in Outcome::ALL {
            counts.add(outcome);
            assert!(counts.balanced(), "{}", outcome.name());
            assert_eq!(counts.of(outcome), 1);
        }
        let copy = counts;
        counts.merge(&copy);
        assert_eq!(counts.issued, 22);
        assert_eq!(counts.failures(), 18);
        assert!(counts.balanced());
    }

    #[test]
    fn an_attempt_without_class_breaks_the_balance() {
        let counts = Counts { issued: 1, ..Counts::default() };
        assert!(!counts.balanced());
    }
}
