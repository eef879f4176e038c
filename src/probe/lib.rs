//! What is seen beside the load: stub_status pages and the generator host.
//! Knows nothing of serving HTTP, of SQL, or of the load itself.

mod cgroup;
mod counters;
mod host;
mod kernel;
mod parse;
mod poller;
mod watched;

pub use host::host_snapshot;
pub use kernel::KernelMeter;
pub use parse::{ParseError, parse_stub_status};
pub use poller::{PollerError, StubStatusPoller};
