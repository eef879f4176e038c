//! What moves bytes. A driver is one function run on its own thread: it makes
//! its share of the connections, waits for the window and keeps the recorder.
//! Everything a driver says goes through its [`Reporter`]; everything it is
//! told comes as an [`Order`].

mod failure;
mod pace;
mod rseq;
mod talk;
mod tokio;
mod uring;

use crate::plan::{DriverChoice, Plan};
use crate::record::{Second, ThreadEnd};
use crate::shared::{Shared, Window};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// The drivers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    Tokio,
    /// The tokio driver with HTTP/2 on its connections.
    H2,
    Uring,
}

impl Driver {
    /// As results name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tokio => tokio::NAME,
            Self::H2 => tokio::H2_NAME,
            Self::Uring => uring::NAME,
        }
    }

    /// Runs one generator thread from its first report to its last but one.
    pub(crate) fn generate(
        self,
        thread: u32,
        shared: &Arc<Shared>,
        reporter: Reporter,
        orders: &Orders,
    ) {
        rseq::leave();
        match self {
            Self::Tokio | Self::H2 => tokio::generate(thread, shared, reporter, orders),
            Self::Uring => uring::generate(thread, shared, reporter, orders),
        }
    }
}

/// The driver of a run and, where it had to step in, why.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) driver: Driver,
    /// For the result.
    pub(crate) note: Option<String>,
}

impl Choice {
    /// The driver that `plan` asks for or, left to us, the fastest that can
    /// run it here. An error says why the one asked for cannot.
    pub(crate) fn of(plan: &Plan) -> io::Result<Self> {
        match plan.driver {
            DriverChoice::Uring if plan.is_http2() => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "it does not speak HTTP/2"))
            }
            _ if plan.is_http2() => Ok(Driver::H2.into()),
            DriverChoice::Tokio => Ok(Driver::Tokio.into()),
            DriverChoice::Auto | DriverChoice::Uring => {
                let choice = Self::from(Driver::Uring);
                match uring::probe() {
                    Ok(()) => Ok(choice),
                    Err(error) => choice.instead(plan, &error).ok_or(error),
                }
            }
        }
    }

    /// What is to run `plan` when this driver has met `error` on setting
    /// itself up; none where no other may.
    pub(crate) fn instead(&self, plan: &Plan, error: &io::Error) -> Option<Self> {
        if plan.driver != DriverChoice::Auto || self.driver != Driver::Uring {
            return None;
        }
        let reason = failure::in_words(error);
        let note = format!("io_uring is not granted here: {reason}; the tokio driver ran");
        Some(Self { driver: Driver::Tokio, note: Some(note) })
    }
}

impl From<Driver> for Choice {
    fn from(driver: Driver) -> Self {
        Self { driver, note: None }
    }
}

/// What a generator thread tells the coordinator.
#[derive(Debug)]
pub(crate) enum Report {
    /// It has what it needs to begin connecting.
    Built,
    /// Its connections are open, as far as they can be.
    Ready,
    /// A second of the window is over.
    Second(Box<Second>),
    /// It is done; its last second was reported before.
    Finished(Box<ThreadEnd>),
    /// It cannot work.
    Failed(io::Error),
    /// The thread is gone; always the last report.
    Gone,
}

/// What the coordinator tells a generator thread. A closed channel means: end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Open the connections.
    Connect,
    /// Make the load.
    Load(Window),
}

/// A thread's way to the coordinator.
#[derive(Debug)]
pub(crate) struct Reporter {
    thread: u32,
    channel: Sender<(u32, Report)>,
}

impl Reporter {
    pub(crate) fn new(thread: u32, channel: Sender<(u32, Report)>) -> Self {
        Self { thread, channel }
    }

    /// Another handle of the same thread.
    pub(crate) fn handle(&self) -> Self {
        Self { thread: self.thread, channel: self.channel.clone() }
    }

    pub(crate) fn report(&self, report: Report) {
        // Without a coordinator there is nobody to tell; the thread ends when
        // its orders end.
        self.channel.send((self.thread, report)).ok();
    }
}

/// Reports [`Report::Gone`] however the thread ends, panics included.
#[derive(Debug)]
pub(crate) struct Farewell(pub(crate) Reporter);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.report(Report::Gone);
    }
}

/// A thread's orders.
pub(crate) type Orders = Receiver<Order>;
