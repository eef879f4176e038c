//! A checked plan with everything computed that every request shares. It knows
//! no driver.

use crate::endpoint::{Endpoint, Route};
use crate::http1::request_bytes;
use crate::plan::{Plan, PlanError};
use crate::tls::TlsPlan;
use benchd_model::spec::{Protocol, status_expected};

/// What all connections of a run share, read-only.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    /// The whole request, head and body.
    pub(crate) request: Vec<u8>,
    pub(crate) tls: Option<TlsPlan>,
    pub(crate) threads: u32,
    /// By status: whether it is an expected one.
    expected: Box<[bool; 1000]>,
}

impl Prepared {
    pub(crate) fn new(plan: &Plan) -> Result<Self, PlanError> {
        plan.check()?;
        let mut expected = Box::new([false; 1000]);
        for (status, expected) in (100..).zip(&mut expected[100..]) {
            *expected = status_expected(&plan.expect_status, status);
        }
        Ok(Self {
            request: request_bytes(plan),
            tls: plan.is_tls().then(|| TlsPlan::new(plan)).transpose()?,
            threads: plan.threads.min(plan.connections),
            expected,
            plan: Plan { keepalive: plan.keepalive && !asks_to_close(plan), ..plan.clone() },
        })
    }

    #[inline]
    pub(crate) fn is_expected(&self, status: u16) -> bool {
        self.expected.get(usize::from(status)).is_some_and(|expected| *expected)
    }

    /// The route of connection `number` of all that are opened. Every source
    /// meets every endpoint, so that all there are of ports can be used.
    pub(crate) fn route(&self, number: usize) -> Route {
        let (endpoints, sources) = (self.plan.endpoints.len(), &self.plan.source_addresses);
        let source = (number / endpoints).checked_rem(sources.len()).map(|at| sources[at]);
        Route { endpoint: (number % endpoints) as u32, source }
    }

    /// The endpoint of that number.
    pub(crate) fn endpoint(&self, number: u32) -> &Endpoint {
        &self.plan.endpoints[number as usize]
    }

    /// True when the request line says HTTP/1.0.
    pub(crate) fn speaks_http10(&self) -> bool {
        use crate::plan::HeaderDefaults::Ab;
        self.plan.protocol == Protocol::Http10 || matches!(self.plan.request.defaults, Ab { .. })
    }

    /// Which of all connections belong to `thread`.
    pub(crate) fn connections_of(&self, thread: u32) -> std::ops::Range<usize> {
        let share = |thread: u32| {
            let all = u64::from(self.plan.connections) * u64::from(thread);
            (all / u64::from(self.threads)) as usize
        };
        share(thread)..share(thread + 1)
    }
}

/// A client that has said so itself sends nothing more (RFC 9112, 9.6).
fn asks_to_close(plan: &Plan) -> bool {
    let fields = plan.request.headers.iter();
    let connection = fields.filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    connection
        .flat_map(|(_, value)| value.split(','))
        .any(|option| option.trim().eq_ignore_ascii_case("close"))
}
