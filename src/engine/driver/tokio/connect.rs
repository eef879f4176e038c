//! Opening one connection: descriptor, socket, TLS, each failure in its class.

use super::local::Local;
use super::socket::Socket;
use super::transport::Transport;
use crate::clock::Nanos;
use crate::driver::failure::Failure;
use crate::endpoint::Route;
use crate::record::Handshake;
use crate::shared::Shared;
use benchd_model::Outcome;
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use tokio_rustls::TlsConnector;

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) transport: Transport,
    /// Dropped after the transport, so that the counts follow the socket.
    _established: Established,
}

/// How far an opening has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// The socket is being connected.
    Connecting,
    /// TLS is being agreed on.
    Shaking,
    /// The server's first frame of HTTP/2 is awaited.
    Greeting,
}

impl Stage {
    /// The time limit passed in this stage.
    pub(super) fn too_slow(self, shared: &Shared) -> Failure {
        match self {
            Self::Connecting => Failure::no_connection_in_time(shared),
            Self::Shaking => Failure::no_handshake_in_time(shared),
            Self::Greeting => {
                let what = "no HTTP/2 SETTINGS from the server";
                Failure::too_slow(shared, Outcome::Timeout, what)
            }
        }
    }
}

/// Opens a connection from slot `index`, whose deadline is armed. Whoever looks
/// on can read in `stage` what it waits for.
pub(super) async fn connect(
    local: &Rc<Local>,
    index: usize,
    route: Route,
    stage: &Cell<Stage>,
) -> Result<Connection, Failure> {
    let descriptor = Descriptor::take(local, route)?;
    let begun = local.now();
    let endpoint = local.shared.prepared.endpoint(route.endpoint);
    let connecting = pin!(Socket::open(endpoint, route.source));
    let socket = match in_time(local, index, connecting).await {
        Some(opened) => opened.map_err(|error| unconnected(local, route, &error))?,
        None => return Err(stage.get().too_slow(&local.shared)),
    };
    let connected = local.now();
    stage.set(Stage::Shaking);
    let (transport, tls) = handshake(local, index, socket, connected).await?;
    let now = tls.map_or(connected, |tls| connected + tls.lasted);
    local.recorder.borrow_mut().connected(route.endpoint, now, connected - begun, tls);
    Ok(Connection { transport, _established: Established::count(descriptor) })
}

async fn handshake(
    local: &Rc<Local>,
    index: usize,
    socket: Socket,
    connected: Nanos,
) -> Result<(Transport, Option<Handshake>), Failure> {
    let Some(tls) = &local.shared.prepared.tls else {
        return Ok((Transport::Plain(socket), None));
    };
    let connector = TlsConnector::from(tls.config.clone());
    // Boxed: a handshake is far larger than what a slot needs afterwards.
    let shaking = Box::pin(connector.connect(tls.server_name.clone(), socket));
    match in_time(local, index, pin!(shaking)).await {
        Some(Ok(stream)) => {
            let resumed = crate::tls::is_resumed(stream.get_ref().1);
            let handshake = Handshake { lasted: local.now() - connected, resumed };
            Ok((Transport::Tls(Box::new(stream)), Some(handshake)))
        }
        Some(Err(error)) => Err(Failure::new(Outcome::Tls, crate::tls::reason(&error))),
        None => Err(Stage::Shaking.too_slow(&local.shared)),
    }
}

/// The output of `future`, or none when the slot's deadline passes before.
async fn in_time<F: Future>(
    local: &Local,
    index: usize,
    mut future: Pin<&mut F>,
) -> Option<F::Output> {
    poll_fn(|context| {
        if local.slots.passed(index) {
            return Poll::Ready(None);
        }
        future.as_mut().poll(context).map(Some)
    })
    .await
}

fn unconnected(local: &Local, route: Route, error: &io::Error) -> Failure {
    Failure::unconnected(&local.shared, &mut local.recorder.borrow_mut(), route.endpoint, error)
}

/// A descriptor within the run's share.
#[derive(Debug)]
struct Descriptor {
    local: Rc<Local>,
}

impl Descriptor {
    fn take(local: &Rc<Local>, route: Route) -> Result<Self, Failure> {
        let share = local.shared.descriptors.for_connections;
        if local.shared.gauge.take_socket(share) {
            return Ok(Self { local: local.clone() });
        }
        let mut recorder = local.recorder.borrow_mut();
        Err(Failure::no_descriptor(&local.shared, &mut recorder, route.endpoint))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.local.shared.gauge.give_socket();
    }
}

/// Counts an open connection as long as it lives.
#[derive(Debug)]
struct Established {
    descriptor: Descriptor,
}

impl Established {
    fn count(descriptor: Descriptor) -> Self {
        let local = &descriptor.local;
        local.open.set(local.open.get() + 1);
        local.shared.gauge.established();
        Self { descriptor }
    }
}

impl Drop for Established {
    fn drop(&mut self) {
        let local = &self.descriptor.local;
        local.open.set(local.open.get() - 1);
        local.shared.gauge.closed();
    }
}
