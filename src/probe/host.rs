//! The generator host as the kernel describes it. Reads /proc and /sys and
//! never fails: what the host does not say stays null.

use crate::cgroup::cpu_folders;
use benchd_model::environment::HostSnapshot;
use rustix::process::{Resource, getpid, getrlimit};
use rustix::system::uname;
use rustix::thread::sched_getaffinity;
use std::fs;
use std::path::Path;

/// Describes this host and process as they are now.
#[must_use]
pub fn host_snapshot() -> HostSnapshot {
    let kernel = uname();
    let nofile = getrlimit(Resource::Nofile);
    let ports = read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| port_range(&text));
    HostSnapshot {
        kernel: kernel.release().to_string_lossy().into_owned(),
        architecture: kernel.machine().to_string_lossy().into_owned(),
        cpu_model: read("/proc/cpuinfo").and_then(|text| cpu_model(&text)),
        cores: cores(),
        memory_bytes: read("/proc/meminfo").and_then(|text| memory_bytes(&text)),
        nofile_soft: nofile.current.unwrap_or(u64::MAX),
        nofile_hard: nofile.maximum.unwrap_or(u64::MAX),
        port_range_low: ports.map(|(low, _)| low),
        port_range_high: ports.map(|(_, high)| high),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .map(|text| text.trim().to_owned()),
        cpu_quota_cores: read("/proc/self/cgroup")
            .and_then(|groups| cpu_quota(&groups, Path::new("/sys/fs/cgroup"))),
        benchd_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Processors the process may run on, whatever thread asks.
fn cores() -> u32 {
    sched_getaffinity(Some(getpid()))
        .map(|set| set.count())
        .ok()
        .filter(|count| *count > 0)
        .unwrap_or_else(|| {
            std::thread::available_parallelism()
                .map_or(1, |count| count.get().try_into().unwrap_or(u32::MAX))
        })
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let value = |wanted: &str| {
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find_map(|(key, value)| {
            (key.trim() == wanted && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    };
    value("model name").or_else(|| value("Model")).or_else(|| value("cpu"))
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn port_range(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The tightest CPU quota of the control group and those above it, in cores.
fn cpu_quota(groups: &str, mount: &Path) -> Option<f64> {
    let folders = cpu_folders(groups, mount).into_iter();
    let quotas = folders.filter_map(|folder| quota_v2(&folder).or_else(|| quota_v1(&folder)));
    quotas.min_by(f64::total_cmp)
}

fn quota_v2(folder: &Path) -> Option<f64> {
    let text = read(folder.join("cpu.max"))?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    ratio(numbers.next()?.ok()?, numbers.next()?.ok()?)
}

fn quota_v1(folder: &Path) -> Option<f64> {
    let number = |name: &str| read(folder.join(name))?.trim().parse::<f64>().ok();
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

fn ratio(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::{cpu_model, cpu_quota, host_snapshot, memory_bytes, port_range};
    use std::fs;

    #[test]
    fn describes_this_host() {
        let host = host_snapshot();
        assert!(!host.kernel.is_empty() && !host.architecture.is_empty());
        assert!(host.cores >= 1 && host.nofile_soft >= 1);
        assert!(host.nofile_hard >= host.nofile_soft);
        assert!(host.memory_bytes.is_some_and(|bytes| bytes > 1 << 20), "{host:?}");
        assert!(host.port_range_low < host.port_range_high, "{host:?}");
        assert!(host.clock_source.as_deref().is_none_or(|source| !source.is_empty()));
        assert_eq!(host.benchd_version, env!("CARGO_PKG_VERSION"));
        assert_eq!(host, host_snapshot(), "a fingerprint must not change by itself");
    }

    #[test]
    fn reads_what_proc_says_and_leaves_the_rest_null() {
        let cpuinfo =
            "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon  @ 2.00GHz\n\nprocessor\t: 1\n";
        assert_eq!(cpu_model(cpuinfo).as_deref(), Some("Xeon  @ 2.00GHz"));
        assert_eq!(cpu_model("processor\t: 0\nCPU part\t: 0xd0c\n"), None);
        assert_eq!(memory_bytes("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16_777_216));
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(port_range("32768"), None);
    }

    #[test]
    fn finds_the_tightest_quota_of_both_cgroup_versions() {
        let tree = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("a/cpu.max", "150000 100000\n");
        put("a/b/cpu.max", "max 100000\n");
        assert_eq!(cpu_quota("0::/a/b\n", tree.path()), Some(1.5));
        assert_eq!(cpu_quota("0::/elsewhere\n", tree.path()), None);
        put("cpu.max", "50000 100000\n");
        assert_eq!(cpu_quota("0::/../../outside\n", tree.path()), Some(0.5));
        put("cpu,cpuacct/docker/cpu.cfs_quota_us", "25000\n");
        put("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
        put("cpu/x/cpu.cfs_quota_us", "-1\n");
        put("cpu/x/cpu.cfs_period_us", "100000\n");
        assert_eq!(cpu_quota("4:cpu,cpuacct:/docker\n1:name=systemd:/\n", tree.path()), Some(0.25));
        assert_eq!(cpu_quota("1:cpu:/x\n", tree.path()), None);
    }
}
