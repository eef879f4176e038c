//! The io_uring driver: one ring per generator thread, and no system call but
//! one per batch of events once connections are open; under TLS, one more for
//! each request. All its `unsafe` is in `ring` and `buffers`.

mod buffers;
mod completion;
mod connect;
mod events;
mod load;
mod open_loop;
mod ring;
mod sealed;
mod session;
mod setup;
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
    setup::probe()
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

#[cfg(test)]
mod tests {
    use super::{Load, probe};
    use crate::driver::{Report, Reporter};
    use crate::shared::Shared;
    use rustix::net::{AddressFamily, SocketType, bind, connect, listen, socket};
    use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_server_that_takes_no_connection_does_not_put_the_window_off_again_and_again() {
        if probe().is_err() {
            return;
        }
        // A listener with room for one connection, which is taken: further
        // requests for one are dropped.
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        listen(&listener, 0).unwrap();
        let address = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
        let waiting = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        connect(&waiting, &address).unwrap();

        let shared = Shared::for_test_with(address, |plan| {
            plan.connections = 700;
            plan.timeout = Duration::from_millis(200);
        });
        let (reporting, _reports) = channel::<(u32, Report)>();
        let mut load = Load::new(&shared, 0, Reporter::new(0, reporting)).unwrap();
        load.preconnect().unwrap();
        let tried = load.slots.iter().filter(|slot| slot.opened > 0).count();
        // As many as are tried at once, and not the others after them.
        assert!(shared.gauge.is_unresponsive() && tried < 600, "{tried}");
    }
}
