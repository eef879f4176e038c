//! What the calling thread costs: CPU time, and time spent waiting for a
//! processor. It must be asked on the thread that it describes.

use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Reads the thread's own accounts; differences since the last reading.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    /// Kept open: a run may use every other descriptor.
    schedstat: Option<File>,
    cpu_ns: u64,
    wait_ns: u64,
}

impl CpuMeter {
    /// A meter for the calling thread, starting now.
    pub(crate) fn of_this_thread() -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let mut meter = Self { schedstat, cpu_ns: 0, wait_ns: 0 };
        meter.lap_us();
        meter
    }

    /// (CPU, waiting) in microseconds since the last call.
    pub(crate) fn lap_us(&mut self) -> (u64, u64) {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_ns = cpu.tv_sec.unsigned_abs() * 1_000_000_000 + cpu.tv_nsec.unsigned_abs();
        let wait_ns = self.waited_ns().unwrap_or(self.wait_ns);
        let lap = (cpu_ns.saturating_sub(self.cpu_ns), wait_ns.saturating_sub(self.wait_ns));
        (self.cpu_ns, self.wait_ns) = (cpu_ns, wait_ns);
        (lap.0 / 1000, lap.1 / 1000)
    }

    /// The second figure of schedstat: time on the run queue.
    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::CpuMeter;

    #[test]
    fn work_costs_time_and_laps_start_anew() {
        let mut meter = CpuMeter::of_this_thread();
        let mut spent = 0;
        for round in 0..1_000_000 {
            std::hint::black_box((0..2000u64).sum::<u64>());
            spent += meter.lap_us().0;
            if spent > 2000 {
                break;
            }
            assert!(round < 999_999, "two milliseconds of work cost no time");
        }
        assert!(meter.lap_us().0 < spent);
    }
}
