//! What one reading of the kernel's counters costs: `kernel_cost [READINGS]`.

use benchd_probe::KernelMeter;
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), std::num::ParseIntError> {
    let readings = std::env::args().nth(1).map_or(Ok(1000), |count| count.parse::<u32>())?;
    let mut meter = KernelMeter::start();
    let before = cpu_us();
    for _ in 0..readings {
        std::hint::black_box(meter.lap());
    }
    let each = (cpu_us() - before) / f64::from(readings.max(1));
    println!("{each:.0} µs of CPU time a reading ({readings} readings)");
    Ok(())
}

fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
