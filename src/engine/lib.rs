//! Makes the load: a plan in, a stream of progress and a recording out.
//!
//! [`run`] blocks its caller, spawns one thread per generator and returns when
//! the run is over. What it counts follows RFC 9112: every attempt ends in
//! exactly one [`benchd_model::Outcome`], and nothing is retried unseen.
//!
//! Map: `plan` is what goes in, `run` coordinates the threads, `driver` moves
//! bytes, `http1` and `http2` decide what the bytes mean, `budget` says who may
//! send how many, `schedule` when an open loop sends, `record` keeps the figures.
//! The crate knows no database and no web server.

mod budget;
mod clock;
mod descriptors;
mod driver;
mod endpoint;
mod http1;
mod http2;
mod plan;
mod prepared;
mod record;
mod run;
mod schedule;
mod shared;
mod stop;
mod tls;

pub use endpoint::{Endpoint, check_source};
/// The parsers, for the fuzz targets alone.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::http1::fate::{Fate, Request, fate};

    /// Those of HTTP/2.
    pub mod http2 {
        pub use crate::http2::fate::{Fate, fates};
    }
}

pub use plan::{DRIVER_VARIABLE, DriverChoice, HeaderDefaults, Plan, PlanError, Rate, RequestPlan};
pub use record::Row;
pub use run::{EngineError, Progress, Run, run};
pub use stop::Stop;
pub use tls::TlsOptions;
