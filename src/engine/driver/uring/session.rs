//! TLS on one connection: records in, plain bytes out, and the other way round.
//! It knows no ring and no stage.

use crate::clock::Nanos;
use crate::tls::{self, TlsPlan};
use rustix::io::retry_on_intr;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use rustls::ClientConnection;
use std::io::{self, IoSlice, Write};
use std::os::fd::BorrowedFd;

/// TLS on one connection.
#[derive(Debug)]
pub(super) struct Session {
    connection: ClientConnection,
    /// When the connection was there.
    pub(super) since: Nanos,
    /// How long it took until then.
    pub(super) connect: Nanos,
    /// What ended it, with nothing to be taken any more.
    lost: Option<io::Error>,
}

/// How a send went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Plain bytes that were taken.
    pub(super) taken: usize,
    /// All that there is to send has gone out.
    pub(super) flushed: bool,
}

/// What has come and is not yet read.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    Nothing,
    /// Not empty.
    Bytes(&'a [u8]),
    /// The server has said that there will be no more.
    End,
    /// The connection ended without a word.
    Broken(io::Error),
}

impl Session {
    /// Begins a handshake on a connection that is there since `since`.
    pub(super) fn new(plan: &TlsPlan, since: Nanos, connect: Nanos) -> io::Result<Self> {
        let connection = ClientConnection::new(plan.config.clone(), plan.server_name.clone());
        Ok(Self { connection: connection.map_err(wrong)?, since, connect, lost: None })
    }

    pub(super) fn is_shaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    pub(super) fn is_resumed(&self) -> bool {
        tls::is_resumed(&self.connection)
    }

    /// TLS version and cipher suite.
    pub(super) fn describe(&self) -> Option<String> {
        tls::describe(&self.connection)
    }

    /// Takes some of the bytes that have come, and leaves the rest in `bytes`.
    /// What they say is to be heard before more are taken.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> io::Result<()> {
        if self.connection.read_tls(bytes)? == 0 {
            // After the server has said that there is no more.
            *bytes = &[];
        }
        self.connection.process_new_packets().map(drop).map_err(wrong)
    }

    /// Takes all bytes though nobody waits for what they say, as far as there is
    /// room for it: one TLS record.
    pub(super) fn take_unasked(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.take(&mut bytes)?;
        }
        Ok(())
    }

    /// No more bytes will come.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.take(&mut &[][..])
    }

    /// Nothing more can be taken, because of `error`. What was taken before is
    /// still heard.
    pub(super) fn lose(&mut self, error: io::Error) {
        self.lost.get_or_insert(error);
    }

    /// What has come and is not yet read.
    pub(super) fn heard(&mut self) -> Heard<'_> {
        match (self.connection.reader().into_first_chunk(), &self.lost) {
            (Ok([]), _) => Heard::End,
            (Ok(bytes), _) => Heard::Bytes(bytes),
            (Err(_), Some(error)) => Heard::Broken(same(error)),
            (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => Heard::Nothing,
            (Err(error), None) => Heard::Broken(error),
        }
    }

    /// True while there is nothing to hear.
    pub(super) fn is_quiet(&mut self) -> bool {
        matches!(self.heard(), Heard::Nothing)
    }

    /// The first `length` bytes that were heard are read.
    pub(super) fn consume(&mut self, length: usize) {
        io::BufRead::consume(&mut self.connection.reader(), length);
    }

    /// Sends what `socket` takes of `plain`, behind what is left from before.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, plain: &[u8]) -> io::Result<Sent> {
        let mut taken = 0;
        loop {
            taken += self.connection.writer().write(&plain[taken..])?;
            let flushed = self.flush(socket)?;
            if taken == plain.len() || !flushed {
                return Ok(Sent { taken, flushed });
            }
        }
    }

    /// Sends what is left from before. False when the socket takes no more.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Outlet(socket)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                written => written.map(drop)?,
            }
        }
        Ok(true)
    }
}

fn wrong(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// `error` once more, as far as failures are told apart.
fn same(error: &io::Error) -> io::Error {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match (error.raw_os_error(), of_tls) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, Some(of_tls)) => wrong(of_tls.clone()),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

const FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

/// Writes to a socket what it takes at once.
struct Outlet<'a>(BorrowedFd<'a>);

impl Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| send(self.0, bytes, FLAGS))?)
    }

    /// What TLS has to say and a request leave together.
    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [piece] = pieces {
            return self.write(piece);
        }
        let send = || sendmsg(self.0, pieces, &mut SendAncillaryBuffer::default(), FLAGS);
        Ok(retry_on_intr(send)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Heard, Session};
    use crate::plan::Plan;
    use crate::tls::TlsPlan;
    use benchd_model::JobSpec;
    use rcgen::{CertificateParams, KeyPair};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection};
    use std::io::Write as _;
    use std::net::SocketAddr;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    fn server() -> ServerConnection {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let chain = vec![CertificateDer::from(certificate.self_signed(&key).unwrap())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        ServerConnection::new(Arc::new(config)).unwrap()
    }

    /// The ciphertext of what `server` has to say.
    fn said(server: &mut ServerConnection) -> Vec<u8> {
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    fn record(server: &mut ServerConnection, plain: &[u8]) -> Vec<u8> {
        server.writer().write_all(plain).unwrap();
        said(server)
    }

    /// Two ends that have agreed.
    fn agreed() -> (Session, ServerConnection) {
        let document = serde_json::json!({"load": {"duration": "24h"},
            "target": {"url": "https://localhost/", "insecure": true}});
        let spec = JobSpec::parse(&document, &|_| None).unwrap();
        let plan =
            Plan::from_spec(&spec, vec![SocketAddr::from(([127, 0, 0, 1], 443)).into()]).unwrap();
        let mut session = Session::new(&TlsPlan::new(&plan).unwrap(), 0, 0).unwrap();
        let mut server = server();
        let (near, mut far) = UnixStream::pair().unwrap();
        while session.is_shaking() || server.is_handshaking() {
            if session.connection.wants_write() {
                session.flush(near.as_fd()).unwrap();
                server.read_tls(&mut far).unwrap();
                server.process_new_packets().unwrap();
            }
            session.take_unasked(&said(&mut server)).unwrap();
        }
        (session, server)
    }

    /// All that can be heard, and whether that ends broken.
    fn everything(session: &mut Session) -> (Vec<u8>, bool) {
        let mut heard = Vec::new();
        loop {
            let length = match session.heard() {
                Heard::Bytes(bytes) => {
                    heard.extend_from_slice(bytes);
                    bytes.len()
                }
                Heard::Broken(_) => return (heard, true),
                Heard::Nothing | Heard::End => return (heard, false),
            };
            session.consume(length);
        }
    }

    #[test]
    fn what_comes_unasked_in_several_records_is_heard_whole() {
        let (mut session, mut server) = agreed();
        let pieces = [vec![b'a'; 5_000], vec![b'b'; 5_000], b"c".to_vec()];
        for piece in &pieces {
            session.take_unasked(&record(&mut server, piece)).unwrap();
        }
        assert_eq!(everything(&mut session), (pieces.concat(), false));
    }

    #[test]
    fn what_came_before_a_record_that_is_wrong_is_heard_first() {
        let (mut session, mut server) = agreed();
        let mut bytes = record(&mut server, b"whole");
        let mut wrong = record(&mut server, b"wrong");
        *wrong.last_mut().unwrap() ^= 1;
        bytes.extend(wrong);
        let error = session.take_unasked(&bytes).unwrap_err();
        session.lose(error);
        assert_eq!(everything(&mut session), (b"whole".to_vec(), true));
        let Heard::Broken(error) = session.heard() else { panic!("it is not broken") };
        assert!(crate::tls::reason(&error).contains("decrypt"), "{}", crate::tls::reason(&error));
    }
}
