//! Setting a ring up, as this kernel grants it.

use super::buffers::Buffers;
use super::ring::{COMPLETIONS, SUBMISSIONS};
use io_uring::IoUring;
use rustix::io::Errno;
use std::io;

/// A ring that does deferred work only when it is waited on, or, before
/// Linux 6.1, when the thread enters the kernel anyway.
pub(super) fn set_up() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_clamp().setup_submit_all().setup_single_issuer().setup_cqsize(COMPLETIONS);
    let mut deferring = builder.clone();
    let uring = match deferring.setup_defer_taskrun().build(SUBMISSIONS) {
        Ok(uring) => uring,
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            builder.setup_coop_taskrun().build(SUBMISSIONS)?
        }
        Err(error) => return Err(error),
    };
    let parameters = uring.params();
    let suffices = parameters.is_feature_nodrop()
        && parameters.is_feature_submit_stable()
        && parameters.is_feature_skip_cqe_on_success();
    if suffices { Ok(uring) } else { Err(io::Error::from(io::ErrorKind::Unsupported)) }
}

/// Says whether this kernel grants what the driver needs.
pub(super) fn probe() -> io::Result<()> {
    let uring = set_up()?;
    // Dropped after the ring.
    let buffers = Buffers::register(&uring)?;
    drop(uring);
    drop(buffers);
    Ok(())
}
