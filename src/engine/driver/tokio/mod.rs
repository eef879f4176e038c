//! The tokio driver: one current-thread runtime per generator thread, one
//! small task per connection, raw non-blocking sockets. It also carries TLS, and
//! HTTP/2 in `h2`.
//! It knows nothing of other threads but what [`Shared`] holds.

mod alarm;
mod connect;
mod exchange;
mod h2;
mod local;
mod open_loop;
mod slot;
mod slots;
mod socket;
mod ticker;
mod transport;

use super::{Order, Orders, Report, Reporter};
use crate::shared::Shared;
use local::Local;
use open_loop::OpenLoop;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use ticker::Ticker;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// The driver as results name it.
pub(crate) const NAME: &str = "tokio";
/// The same with HTTP/2 on its connections.
pub(crate) const H2_NAME: &str = "h2";

/// Tasks polled before the driver looks for new events though tasks are ready.
const EVENT_INTERVAL: u32 = 512;

/// Runs one generator thread from its first report to its last but one.
pub(crate) fn generate(thread: u32, shared: &Arc<Shared>, reporter: Reporter, orders: &Orders) {
    let built = Machine::build(shared)
        .and_then(|machine| Ok((machine.open_loop(shared, thread)?, machine)));
    let (open_loop, mut machine) = match built {
        Ok(built) => built,
        Err(error) => return reporter.report(Report::Failed(error)),
    };
    let local = Rc::new(Local::new(shared.clone(), thread, reporter.handle(), open_loop));
    reporter.report(Report::Built);
    let Ok(Order::Connect) = orders.recv() else { return };
    machine.spawn_slots(&local);
    machine.run_until_idle(&local);
    reporter.report(Report::Ready);
    if let Ok(Order::Load(window)) = orders.recv() {
        local.begin(window);
        machine.run_until_idle(&local);
    }
    let end = local.finish();
    reporter.report(Report::Finished(Box::new(end)));
}

/// The runtime and what drives its time.
struct Machine {
    runtime: LocalRuntime,
    ticker: Ticker,
}

impl Machine {
    /// Takes all descriptors that the thread itself needs, before connections
    /// can use them up.
    fn build(shared: &Shared) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .event_interval(EVENT_INTERVAL)
            .build_local(LocalOptions::default())?;
        let ticker = {
            let _context = runtime.enter();
            Ticker::for_timeout(shared.prepared.plan.timeout)?
        };
        Ok(Self { runtime, ticker })
    }

    /// The open loop of `thread`, when the plan has a rate.
    fn open_loop(&self, shared: &Shared, thread: u32) -> io::Result<Option<OpenLoop>> {
        let prepared = &shared.prepared;
        let _context = self.runtime.enter();
        let (connections, slots) =
            (prepared.connections_of(thread).len(), prepared.slots_per_connection());
        prepared.plan.rate.map(|_| OpenLoop::new(connections, slots, shared.clock)).transpose()
    }

    fn spawn_slots(&self, local: &Rc<Local>) {
        let http2 = local.shared.prepared.plan.is_http2();
        for index in 0..local.connections {
            if http2 {
                drop(self.runtime.spawn_local(h2::run(local.clone(), index)));
            } else {
                drop(self.runtime.spawn_local(slot::run(local.clone(), index)));
            }
        }
    }

    /// Lets the slots work until all of them rest or time is up.
    fn run_until_idle(&mut self, local: &Rc<Local>) {
        let ticker = &mut self.ticker;
        self.runtime.block_on(async {
            while !local.all_rest() {
                tokio::select! {
                    biased;
                    () = local.rested() => {}
                    () = local.due() => local.dispatch(local.now()),
                    () = ticker.tick() => if local.tick() { break },
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Farewell, Report, Reporter};
    use super::{Local, Machine};
    use crate::shared::{Shared, Window};
    use std::net::TcpListener;
    use std::rc::Rc;
    use std::sync::mpsc::channel;

    #[test]
    fn a_connection_s_panic_is_its_thread_s_panic() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Shared::for_test(listener.local_addr().unwrap());
        let (reporting, reports) = channel();
        let thread = std::thread::spawn(move || {
            let reporter = Reporter::new(0, reporting);
            let _farewell = Farewell(reporter.handle());
            let mut machine = Machine::build(&shared).unwrap();
            let local = Rc::new(Local::new(shared.clone(), 0, reporter, None));
            machine.spawn_slots(&local);
            machine.run_until_idle(&local);
            // The first read needs the buffer, which is lent out.
            let _lent = local.buffer.borrow_mut();
            let (start, end) = (local.now(), local.now() + 20_000_000_000);
            local.begin(Window { start, end, grace_end: end });
            machine.run_until_idle(&local);
        });
        assert!(thread.join().is_err(), "the panic went unnoticed");
        assert!(matches!(reports.iter().last(), Some((0, Report::Gone))));
    }
}
