//! What the calling thread costs: CPU time, time spent waiting for a processor,
//! and whether it had time to spare. It must be asked on the thread that it
//! describes.

use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Reads the thread's own accounts; differences since the last reading.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    /// Kept open, as `status` is: a run may use every other descriptor.
    schedstat: Option<File>,
    status: Option<File>,
    cpu_ns: u64,
    wait_ns: u64,
    pauses: Option<u64>,
}

/// What a thread did between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lap {
    /// CPU time.
    pub(crate) cpu_us: u64,
    /// Time on the run queue.
    pub(crate) wait_us: u64,
    /// How often it slept, if the kernel says.
    pauses: Option<u64>,
}

/// Longer than a thread under load sleeps on average, in microseconds.
const LONG_PAUSE_US: u64 = 5000;

impl Lap {
    /// Time of `span_us` in which the thread had something to do: it worked or
    /// waited for a processor. A kernel that keeps interrupts on an account of
    /// their own (`CONFIG_IRQ_TIME_ACCOUNTING`) hides a good part of a busy
    /// thread's work: one that slept too rarely to explain the rest of the time
    /// was busy all of it.
    pub(crate) fn busy_us(self, span_us: u64) -> u64 {
        let known = self.cpu_us + self.wait_us;
        let rest = span_us.saturating_sub(known);
        let slept_at_most = self.pauses.map(|pauses| pauses * LONG_PAUSE_US);
        // One that works little may well sleep long, behind a server that
        // answers in bursts.
        let works = self.cpu_us >= span_us / 5 * 2;
        let unexplained = slept_at_most.is_some_and(|slept| slept < rest);
        if works && unexplained { span_us } else { known }
    }
}

impl CpuMeter {
    /// A meter for the calling thread, starting now.
    pub(crate) fn of_this_thread() -> Self {
        let open = |name: &str| File::open(format!("/proc/thread-self/{name}")).ok();
        let (schedstat, status) = (open("schedstat"), open("status"));
        let mut meter = Self { schedstat, status, cpu_ns: 0, wait_ns: 0, pauses: None };
        meter.lap();
        meter
    }

    /// What the thread did since the last call.
    pub(crate) fn lap(&mut self) -> Lap {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_ns = cpu.tv_sec.unsigned_abs() * 1_000_000_000 + cpu.tv_nsec.unsigned_abs();
        let wait_ns = self.waited_ns().unwrap_or(self.wait_ns);
        let pauses = self.slept();
        let lap = Lap {
            cpu_us: cpu_ns.saturating_sub(self.cpu_ns) / 1000,
            wait_us: wait_ns.saturating_sub(self.wait_ns) / 1000,
            pauses: pauses.zip(self.pauses).map(|(now, before)| now.saturating_sub(before)),
        };
        (self.cpu_ns, self.wait_ns, self.pauses) = (cpu_ns, wait_ns, pauses);
        lap
    }

    /// The second figure of schedstat: time on the run queue.
    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        read(self.schedstat.as_ref()?, &mut text)?.split_whitespace().nth(1)?.parse().ok()
    }

    /// How often the thread gave its processor up to wait for something.
    fn slept(&self) -> Option<u64> {
        let mut text = [0; 4096];
        let status = read(self.status.as_ref()?, &mut text)?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    }
}

fn read<'a>(file: &File, text: &'a mut [u8]) -> Option<&'a str> {
    let length = file.read_at(text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()
}

#[cfg(test)]
mod tests {
    use super::{CpuMeter, Lap};
    use std::sync::mpsc::channel;

    #[test]
    fn work_costs_time_and_laps_start_anew() {
        let mut meter = CpuMeter::of_this_thread();
        let mut spent = 0;
        for round in 0..1_000_000 {
            std::hint::black_box((0..2000u64).sum::<u64>());
            spent += meter.lap().cpu_us;
            if spent > 2000 {
                break;
            }
            assert!(round < 999_999, "two milliseconds of work cost no time");
        }
        assert!(meter.lap().cpu_us < spent);
    }

    #[test]
    fn every_sleep_is_a_pause() {
        let mut meter = CpuMeter::of_this_thread();
        let ((there, ping), (pong, back)) = (channel(), channel());
        let other = std::thread::spawn(move || ping.iter().try_for_each(|()| pong.send(())));
        let mut pauses = 0;
        for _ in 0..10_000 {
            there.send(()).unwrap();
            back.recv().unwrap();
            pauses += meter.lap().pauses.expect("the kernel counts them");
            if pauses > 0 {
                break;
            }
        }
        drop(there);
        other.join().unwrap().unwrap();
        assert!(pauses > 0, "ten thousand answers were there at once");
    }

    #[test]
    fn a_thread_that_hardly_slept_was_busy_whatever_its_accounts_say() {
        let busy = |cpu_us, wait_us, pauses| Lap { cpu_us, wait_us, pauses }.busy_us(1_000_000);
        assert_eq!(busy(400_000, 200_000, Some(900)), 600_000);
        assert_eq!(busy(400_000, 200_000, Some(79)), 1_000_000);
        assert_eq!(busy(400_000, 200_000, None), 600_000);
        assert_eq!(busy(10_000, 0, Some(2)), 10_000, "it may well have slept that long");
        assert_eq!(busy(120_000, 450_000, Some(60)), 570_000, "so may this one");
        assert_eq!(busy(0, 0, Some(0)), 0);
        assert_eq!(busy(900_000, 200_000, Some(0)), 1_100_000, "a lap may be longer");
    }
}
