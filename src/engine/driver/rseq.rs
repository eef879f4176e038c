//! Restartable sequences. glibc takes every thread in, and the kernel then writes
//! down for it, each time it has slept, which processor it woke up on. A load
//! thread sleeps up to once a request and never asks.

use std::io;

/// Takes the calling thread out. Where that is refused it costs time alone.
pub(super) fn leave() {
    if let Err(error) = unregister() {
        tracing::debug!(%error, "restartable sequences stay on");
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#[expect(
    unsafe_code,
    reason = "glibc tells where it has registered a thread, but does not undo it"
)]
fn unregister() -> io::Result<()> {
    use nix::libc;

    /// Bytes that glibc registers, and the mark that it uses.
    const LENGTH: u32 = 32;
    const SIGNATURE: u32 = 0x5305_3053;
    const UNREGISTER: libc::c_int = 1;

    // SAFETY: the name ends in a zero byte.
    let offset = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()) };
    if offset.is_null() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: glibc defines the symbol as a `ptrdiff_t` and never changes it.
    let offset = unsafe { *offset.cast::<isize>() };
    let thread: usize;
    // SAFETY: reads where the thread's own data are, as the ABI says.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags));
    }
    // SAFETY: the kernel refuses what is not exactly what has been registered, and
    // marks the place as unused. glibc looks there in `sched_getcpu` alone, which
    // asks the kernel then.
    let refused = unsafe {
        let area = thread.wrapping_add_signed(offset);
        libc::syscall(libc::SYS_rseq, area, LENGTH, UNREGISTER, SIGNATURE)
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
fn unregister() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod tests {
    use super::unregister;
    use nix::libc;

    #[test]
    #[expect(unsafe_code, reason = "what glibc makes of it is asked of glibc")]
    fn a_thread_is_taken_out_once_and_still_finds_its_processor() {
        let left = std::thread::spawn(|| {
            let (first, again) = (unregister(), unregister());
            // SAFETY: it takes nothing.
            (first, again, unsafe { libc::sched_getcpu() })
        });
        let (first, again, processor) = left.join().unwrap();
        // SAFETY: the name ends in a zero byte.
        let known =
            unsafe { !libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).is_null() };
        assert_eq!(first.is_ok(), known, "{first:?}");
        assert!(again.is_err() && processor >= 0, "{processor}");
    }
}
