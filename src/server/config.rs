//! What a server is made of, and the state its handlers share.

use crate::auth::TokenDigest;
use crate::metrics::HttpMetrics;
use benchd_model::policy::TargetPolicy;
use benchd_store::Store;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Everything a server needs to know.
#[derive(Clone)]
pub struct ServerConfig {
    /// Where jobs and results are kept.
    pub store: Store,
    /// Who may be loaded.
    pub policy: Arc<TargetPolicy>,
    /// The bearer token that requests must show. Without one the service
    /// answers loopback hosts only.
    pub token: Option<String>,
}

impl fmt::Debug for ServerConfig {
    /// Says whether there is a token, never which.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("policy", &self.policy)
            .field("token", &self.token.as_ref().map(|_| "[redacted]"))
            .finish_non_exhaustive()
    }
}

/// The state handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) policy: Arc<TargetPolicy>,
    pub(crate) token: Option<TokenDigest>,
    pub(crate) metrics: Arc<HttpMetrics>,
    /// Ends long polls and event streams when the service stops.
    pub(crate) shutdown: CancellationToken,
}

impl App {
    pub(crate) fn new(config: ServerConfig, shutdown: CancellationToken) -> Self {
        Self {
            store: config.store,
            policy: config.policy,
            token: config.token.as_deref().map(TokenDigest::of),
            metrics: Arc::default(),
            shutdown,
        }
    }
}
