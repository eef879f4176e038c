//! What nginx's stub_status page says, and one poll of it.

use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// The figures of one stub_status page. Counters are 64-bit and only grow
/// until nginx restarts; a fall starts a new segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StubStatus {
    /// Open client connections, the poller's included.
    pub active: u64,
    /// Connections accepted since nginx started.
    pub accepts: u64,
    /// Connections that got a slot; `accepts - handled` were dropped.
    pub handled: u64,
    /// Requests seen, polls included.
    pub requests: u64,
    /// Connections whose request head is being read.
    pub reading: u64,
    /// Connections being answered; at least 1, the poll itself.
    pub writing: u64,
    /// Idle or silent connections.
    pub waiting: u64,
    /// Tengine's cumulative request time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_time_ms: Option<u64>,
}

/// Where in a trial a poll was made, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PollMoment {
    /// Before the first byte of load: the figure everything is counted from.
    Before,
    /// Warming up.
    WarmUp,
    /// The start of the measuring window.
    Start,
    /// In the measuring window.
    During,
    /// After the last byte of load.
    After,
}

/// One poll of the status page. A failed or late one is data, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StubStatusPoll {
    /// When the answer was complete (or the poll failed), wall clock.
    pub at: Timestamp,
    /// The same moment in microseconds from the start of the measuring window;
    /// negative before it.
    pub offset_us: i64,
    /// How long the poll took, in microseconds.
    pub took_us: u64,
    /// Where in the trial.
    pub moment: PollMoment,
    /// True when the request reached nginx (and so its counter) as far as the
    /// poller can know: it was written whole.
    pub sent: bool,
    /// True when this poll had to open a connection.
    pub connected: bool,
    /// The page, when it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StubStatus>,
    /// Why there is no page, when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The `Server` header of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
}

/// Polls of one trial in the order in which they were made, whatever order they
/// were kept in: a wall clock that was set back must not let a counter fall.
pub(crate) fn in_order<'a>(
    polls: impl IntoIterator<Item = &'a StubStatusPoll>,
) -> Vec<&'a StubStatusPoll> {
    let mut polls: Vec<&StubStatusPoll> = polls.into_iter().collect();
    polls.sort_by_key(|poll| (poll.moment, poll.offset_us));
    polls
}
