//! A session beside a real server, in memory.

use super::{Heard, Session};
use crate::plan::Plan;
use crate::tls::TlsPlan;
use benchd_model::JobSpec;
use rustls::ServerConnection;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

#[path = "../../tests/it/certificate.rs"]
mod certificate;

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
    let mut server = ServerConnection::new(certificate::server_config()).unwrap();
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
