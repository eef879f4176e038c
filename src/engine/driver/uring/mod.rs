//! The io_uring driver: one ring per generator thread, and no system call but
//! one per batch of events once connections are open. Plain TCP only. All
//! `unsafe` of the engine is in `ring` and `buffers`.

mod buffers;
mod connect;
mod events;
mod load;
mod ring;
mod slot;

use super::{Order, Orders, Report, Reporter};
use crate::shared::Shared;
use load::Load;
use std::io;
use std::sync::Arc;

/// The driver as results name it.
pub(crate) const NAME: &str = "io_uring";

/// Says whether the kernel grants what this driver needs.
pub(crate) fn probe() -> io::Result<()> {
    ring::probe()
}

/// Runs one generator thread from its first report to its last but one.
pub(crate) fn generate(thread: u32, shared: &Arc<Shared>, reporter: Reporter, orders: &Orders) {
    let handle = reporter.handle();
    if let Err(error) = work(thread, shared, reporter, orders) {
        handle.report(Report::Failed(error));
    }
}

fn work(thread: u32, shared: &Arc<Shared>, reporter: Reporter, orders: &Orders) -> io::Result<()> {
    let mut load = Load::new(shared, thread, reporter.handle())?;
    reporter.report(Report::Built);
    let Ok(Order::Connect) = orders.recv() else { return Ok(()) };
    load.preconnect()?;
    reporter.report(Report::Ready);
    if let Ok(Order::Load(window)) = orders.recv() {
        load.make(window)?;
    }
    let end = load.finish();
    reporter.report(Report::Finished(Box::new(end)));
    Ok(())
}
