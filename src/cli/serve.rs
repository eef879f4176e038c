//! `benchd serve` and `benchd worker`.

use crate::args::{ServeArgs, Token, WorkerArgs};
use crate::exit::Exit;
use crate::{local, output, signal};
use anyhow::{Context as _, bail};
use benchd_model::policy::TargetPolicy;
use benchd_server::ServerConfig;
use benchd_store::Store;
use benchd_worker::{Worker, WorkerConfig};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Serves until a signal, then stops the job under way and keeps its part.
pub(crate) async fn serve(args: ServeArgs, policy: TargetPolicy) -> anyhow::Result<Exit> {
    let shutdown = signal::shutdown()?;
    let token = read_token(&args.token)?;
    let address = listen_address(&args.listen).await?;
    if !address.ip().is_loopback() && token.is_none() {
        bail!(
            "{address} is no loopback address: whoever reaches it could start load; \
             give --token-file, or listen on 127.0.0.1"
        );
    }
    let store = local::open_store(args.database.database.as_deref()).await?;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    tracing::info!(database = store.describe(), workers = args.workers, "serving http://{address}");
    output::print(&format!("listening on http://{address}\n"))?;
    let working = Working { workers: args.workers, baseline_when: args.rule.baseline_when };
    serve_on(listener, store, policy, token, working, shutdown).await?;
    Ok(Exit::Pass)
}

/// The workers inside a service.
#[derive(Default)]
pub(crate) struct Working {
    pub(crate) workers: u32,
    /// See [`WorkerConfig::baseline_when`].
    pub(crate) baseline_when: Vec<(String, String)>,
}

/// Runs service and workers on a bound listener until the token is cancelled.
pub(crate) async fn serve_on(
    listener: TcpListener,
    store: Store,
    policy: TargetPolicy,
    token: Option<String>,
    working: Working,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let policy = Arc::new(policy);
    let Working { workers, baseline_when } = working;
    let mut working = JoinSet::new();
    for _ in 0..workers {
        let baseline_when = baseline_when.clone();
        let config = WorkerConfig { baseline_when, ..WorkerConfig::new(Arc::clone(&policy)) };
        let worker = Worker::new(store.clone(), config);
        let shutdown = shutdown.clone();
        working.spawn(async move { worker.run(shutdown).await });
    }
    let config = ServerConfig { store, policy, token };
    let mut serving = pin!(benchd_server::serve(listener, config, shutdown.clone()));
    let mut ended = Vec::new();
    tokio::select! {
        served = &mut serving => served?,
        // Either a stop, or a panic: a service whose worker is gone would take
        // jobs that nobody runs.
        Some(worker) = working.join_next() => {
            shutdown.cancel();
            ended.push(worker);
            serving.await?;
        }
    }
    shutdown.cancel();
    while let Some(worker) = working.join_next().await {
        ended.push(worker);
    }
    ended.into_iter().collect::<Result<(), _>>().context("a worker panicked")
}

/// Works until a signal.
pub(crate) async fn worker(args: WorkerArgs, policy: TargetPolicy) -> anyhow::Result<Exit> {
    let shutdown = signal::shutdown()?;
    let store = local::open_store(args.database.database.as_deref()).await?;
    tracing::info!(database = store.describe(), "working");
    let baseline_when = args.rule.baseline_when;
    let config = WorkerConfig { baseline_when, ..WorkerConfig::new(Arc::new(policy)) };
    Worker::new(store, config).run(shutdown).await;
    Ok(Exit::Pass)
}

/// The token of the API: given outright, or the first line of a file.
pub(crate) fn read_token(args: &Token) -> anyhow::Result<Option<String>> {
    let token = match (&args.token, &args.token_file) {
        (Some(token), _) => token.trim().to_owned(),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the token file {}", path.display()))?;
            text.lines().next().unwrap_or_default().trim().to_owned()
        }
        (None, None) => return Ok(None),
    };
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        bail!("the token is no good: it must be printable ASCII without spaces, and not empty");
    }
    Ok(Some(token))
}

async fn listen_address(listen: &str) -> anyhow::Result<SocketAddr> {
    let wrong =
        || format!("--listen {listen:?} is no address: write HOST:PORT, such as 127.0.0.1:8300");
    let mut addresses = tokio::net::lookup_host(listen).await.with_context(wrong)?;
    addresses.next().with_context(wrong)
}
