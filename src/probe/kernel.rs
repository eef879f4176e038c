//! Counters of the generator host's kernel: those of this process's network
//! namespace and control groups, and what a hypervisor took. Reads files that
//! stay open, so that it works when a run has used every other descriptor.

use crate::cgroup::cpu_folders;
use crate::counters::{cpu_stat, softnet_drops, stolen_us, table};
use benchd_model::KernelCounts;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Room for the first reading of a file; it grows where that is not enough.
const ROOM: usize = 8192;

/// Reads the counters; each reading tells what was counted since the last one.
#[derive(Debug)]
pub struct KernelMeter {
    files: Files,
    last: KernelCounts,
}

#[derive(Debug)]
struct Files {
    snmp: Option<File>,
    netstat: Option<File>,
    softnet: Option<File>,
    stat: Option<File>,
    /// `cpu.stat` of the control group and of those above it.
    groups: Vec<File>,
    buffer: Vec<u8>,
}

impl KernelMeter {
    /// A meter that counts from now on.
    #[must_use]
    pub fn start() -> Self {
        let mut meter = Self { files: Files::open(), last: KernelCounts::default() };
        meter.lap();
        meter
    }

    /// What was counted since the last call, or the start.
    pub fn lap(&mut self) -> KernelCounts {
        let now = self.files.read();
        now.since(&std::mem::replace(&mut self.last, now))
    }
}

impl Files {
    fn open() -> Self {
        let open = |path: &str| File::open(path).ok();
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            snmp: open("/proc/self/net/snmp"),
            netstat: open("/proc/self/net/netstat"),
            softnet: open("/proc/self/net/softnet_stat"),
            stat: open("/proc/stat"),
            groups: open_groups(&groups, Path::new("/sys/fs/cgroup")),
            buffer: vec![0; ROOM],
        }
    }

    fn read(&mut self) -> KernelCounts {
        let Self { snmp, netstat, softnet, stat, groups, buffer } = self;
        let mut counts = KernelCounts::default();
        if let Some(text) = text(snmp.as_ref(), buffer) {
            let tcp = table(text, "Tcp");
            counts.tcp_segments = tcp.count("OutSegs");
            counts.tcp_retransmits = tcp.count("RetransSegs");
        }
        if let Some(text) = text(netstat.as_ref(), buffer) {
            let tcp = table(text, "TcpExt");
            counts.tcp_syn_retransmits = tcp.count("TCPSynRetrans");
            counts.listen_overflows = tcp.count("ListenOverflows");
            counts.socket_drops = tcp.sum(&["TCPBacklogDrop", "TCPRcvQDrop"]);
        }
        counts.softnet_drops = text(softnet.as_ref(), buffer).and_then(softnet_drops);
        counts.stolen_us = text(stat.as_ref(), buffer).and_then(stolen_us);
        for group in groups {
            let throttled = text(Some(group), buffer).and_then(cpu_stat);
            counts.throttled_us = match (counts.throttled_us, throttled) {
                (Some(others), Some(more)) => Some(others.saturating_add(more)),
                (others, more) => others.or(more),
            };
        }
        counts
    }
}

/// Each group once: its folder may go by several names.
fn open_groups(groups: &str, mount: &Path) -> Vec<File> {
    let folders = cpu_folders(groups, mount).into_iter();
    let real: BTreeSet<_> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    real.into_iter().filter_map(|folder| File::open(folder.join("cpu.stat")).ok()).collect()
}

/// The whole file as it is now. Proc files say how long they are only by
/// ending: a full buffer is too small.
fn text<'a>(file: Option<&File>, buffer: &'a mut Vec<u8>) -> Option<&'a str> {
    let file = file?;
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64).ok()? {
            0 => break,
            more => length += more,
        }
        if length == buffer.len() {
            buffer.resize(length * 2, 0);
        }
    }
    std::str::from_utf8(&buffer[..length]).ok()
}

#[cfg(test)]
mod tests {
    use super::{KernelMeter, ROOM, open_groups, text};
    use std::fs::{self, File};
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::symlink;

    #[test]
    fn this_kernel_counts_what_we_send() {
        let mut meter = KernelMeter::start();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"ping").unwrap();
        server.read_exact(&mut [0; 4]).unwrap();
        let counts = meter.lap();
        assert!(counts.tcp_segments.is_some_and(|segments| segments >= 3), "{counts:?}");
        for count in [
            counts.tcp_retransmits,
            counts.tcp_syn_retransmits,
            counts.listen_overflows,
            counts.softnet_drops,
            counts.socket_drops,
            counts.stolen_us,
        ] {
            assert!(count.is_some(), "{counts:?}");
        }
    }

    #[test]
    fn a_full_accept_queue_is_counted() {
        let mut meter = KernelMeter::start();
        let listener = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        )
        .unwrap();
        rustix::net::bind(&listener, &std::net::SocketAddrV4::new([127, 0, 0, 1].into(), 0))
            .unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = rustix::net::getsockname(&listener).unwrap();
        let client = || {
            let flags = rustix::net::SocketFlags::NONBLOCK;
            let family = rustix::net::AddressFamily::INET;
            let kind = rustix::net::SocketType::STREAM;
            let socket = rustix::net::socket_with(family, kind, flags, None).unwrap();
            rustix::net::connect(&socket, &address).ok();
            socket
        };
        let clients: Vec<_> = (0..8).map(|_| client()).collect();
        let counts = meter.lap();
        assert!(counts.listen_overflows.is_some_and(|overflows| overflows > 0), "{counts:?}");
        drop(clients);
    }

    #[test]
    fn long_files_are_read_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        fs::write(&path, "x".repeat(ROOM * 3)).unwrap();
        let file = File::open(&path).unwrap();
        let mut buffer = vec![0; ROOM];
        assert_eq!(text(Some(&file), &mut buffer).map(str::len), Some(ROOM * 3));
        fs::write(&path, "short").unwrap();
        assert_eq!(text(Some(&file), &mut buffer), Some("short"));
        assert_eq!(text(None, &mut buffer), None);
    }

    #[test]
    fn a_group_with_two_names_is_counted_once() {
        let tree = tempfile::tempdir().unwrap();
        let group = tree.path().join("cpu,cpuacct/job");
        fs::create_dir_all(&group).unwrap();
        symlink("cpu,cpuacct", tree.path().join("cpu")).unwrap();
        fs::write(group.join("cpu.stat"), "throttled_time 7\n").unwrap();
        assert_eq!(open_groups("4:cpu,cpuacct:/job\n", tree.path()).len(), 1);
    }
}
