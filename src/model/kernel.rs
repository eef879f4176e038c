//! What the kernel of the generator's host counted beside the load.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kernel counters over a stretch of time. They are of the whole network
/// namespace, control group and host, whoever moved them; null where the kernel
/// does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct KernelCounts {
    /// TCP segments sent, resent ones left out.
    pub tcp_segments: Option<u64>,
    /// TCP segments sent again, SYNs included.
    pub tcp_retransmits: Option<u64>,
    /// SYNs sent again: a connect that was not answered within a second.
    pub tcp_syn_retransmits: Option<u64>,
    /// Connections refused a place in a full accept queue of this host. Null
    /// when the target is elsewhere.
    pub listen_overflows: Option<u64>,
    /// Packets dropped because a processor's input queue was full.
    pub softnet_drops: Option<u64>,
    /// TCP segments dropped because a socket's buffer or backlog was full.
    pub socket_drops: Option<u64>,
    /// Time in which the CPU quota of the control group stopped it, in
    /// microseconds, summed over processors.
    pub throttled_us: Option<u64>,
    /// Time in which a hypervisor withheld processors, in microseconds, summed
    /// over processors.
    pub stolen_us: Option<u64>,
}

impl KernelCounts {
    /// Adds all of `other`; what either does not count stays as the other says.
    pub fn merge(&mut self, other: &Self) {
        *self =
            self.with(other, |a, b| a.or(b).map(|_| a.unwrap_or(0).saturating_add(b.unwrap_or(0))));
    }

    /// What was counted since `before`. A counter that fell was set back.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, |now, then| now?.checked_sub(then?))
    }

    fn with(&self, other: &Self, both: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            tcp_segments: both(self.tcp_segments, other.tcp_segments),
            tcp_retransmits: both(self.tcp_retransmits, other.tcp_retransmits),
            tcp_syn_retransmits: both(self.tcp_syn_retransmits, other.tcp_syn_retransmits),
            listen_overflows: both(self.listen_overflows, other.listen_overflows),
            softnet_drops: both(self.softnet_drops, other.softnet_drops),
            socket_drops: both(self.socket_drops, other.socket_drops),
            throttled_us: both(self.throttled_us, other.throttled_us),
            stolen_us: both(self.stolen_us, other.stolen_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KernelCounts;

    fn counts(tcp_segments: Option<u64>, stolen_us: Option<u64>) -> KernelCounts {
        KernelCounts { tcp_segments, stolen_us, ..KernelCounts::default() }
    }

    #[test]
    fn differences_add_up_and_what_is_not_counted_stays_unknown() {
        let (before, after) = (counts(Some(10), None), counts(Some(15), Some(7)));
        let mut lap = after.since(&before);
        assert_eq!(lap, counts(Some(5), None));
        lap.merge(&counts(Some(1), Some(2)));
        assert_eq!(lap, counts(Some(6), Some(2)));
        assert_eq!(before.since(&after), counts(None, None), "a counter that fell");
    }
}
