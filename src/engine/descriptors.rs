//! The process's limit on open files: raised as far as allowed, and divided so
//! that a load does not starve the process that makes it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors left to the rest of the process: databases, listeners, logs.
const RESERVE: u64 = 64;

/// What the process may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// The limit on open files, after raising it.
    pub(crate) limit: u64,
    /// How many of them connections may take.
    pub(crate) for_connections: u32,
}

impl Descriptors {
    /// Raises the soft limit to the hard one and counts what is in use.
    pub(crate) fn raise() -> Self {
        let before = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        let limit = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => before.maximum,
            Err(error) => {
                tracing::debug!(%error, "the descriptor limit stays as it is");
                before.current
            }
        };
        let used = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
        Self::divide(limit.unwrap_or(u64::MAX), used)
    }

    fn divide(limit: u64, used: u64) -> Self {
        let reserve = RESERVE.min(limit / 8);
        let free = limit.saturating_sub(used).saturating_sub(reserve);
        Self { limit, for_connections: u32::try_from(free).unwrap_or(u32::MAX) }
    }

    /// The sentence for a run that wanted more.
    pub(crate) fn note(self, wanted: u32) -> String {
        format!(
            "the limit on open files of this process is {}, so that at most {} of {wanted} \
             connections can be open: raise it with `ulimit -n {}` before starting benchd, \
             with LimitNOFILE= in a systemd unit, or with --ulimit nofile= for a container",
            self.limit,
            self.for_connections,
            u64::from(wanted) + 256,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Descriptors;

    #[test]
    fn the_rest_of_the_process_keeps_some_descriptors() {
        assert_eq!(Descriptors::divide(20_000, 36).for_connections, 19_900);
        assert_eq!(Descriptors::divide(64, 10).for_connections, 46);
        assert_eq!(Descriptors::divide(8, 10).for_connections, 0);
        assert_eq!(Descriptors::divide(u64::MAX, 10).for_connections, u32::MAX);
    }

    #[test]
    fn the_note_names_the_limit_and_the_remedy() {
        let note = Descriptors::divide(1024, 20).note(10_000);
        assert!(note.contains("1024") && note.contains("ulimit -n 10256"), "{note}");
    }
}
