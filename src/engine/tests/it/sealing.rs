//! Puts TLS before a scripted server, which goes on as without: what it sends
//! leaves in records of the same pieces, its end is told and done, its reset
//! resets.

use crate::certificate::server_config;
use rustix::event::{PollFd, PollFlags, poll};
use rustls::{ServerConfig, ServerConnection};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The plain side of `outer`, on which TLS is spoken from now on.
pub(crate) fn sealed(outer: TcpStream) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (inner, _) = listener.accept().unwrap();
    for stream in [&inner, &script] {
        stream.set_nodelay(true).unwrap();
    }
    std::thread::spawn(move || {
        let connection = ServerConnection::new(config()).unwrap();
        let mut pump = Pump { outer, inner, connection, heard_out: false };
        if pump.run().is_err() {
            // A reset on either side is one on the other.
            for stream in [&pump.outer, &pump.inner] {
                SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
            }
        }
    });
    script
}

fn config() -> Arc<ServerConfig> {
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    CONFIG.get_or_init(server_config).clone()
}

struct Pump {
    outer: TcpStream,
    inner: TcpStream,
    connection: ServerConnection,
    /// The client will send no more.
    heard_out: bool,
}

impl Pump {
    /// Carries bytes until the script is done.
    fn run(&mut self) -> io::Result<()> {
        let mut piece = [0; 16 * 1024];
        loop {
            let (outer, inner) = self.wait()?;
            if outer {
                self.hear_client(&mut piece)?;
            }
            if inner {
                let length = self.inner.read(&mut piece)?;
                if length == 0 {
                    self.connection.send_close_notify();
                    return self.flush();
                }
                self.connection.writer().write_all(&piece[..length])?;
                self.flush()?;
            }
        }
    }

    /// Which sides have something; the script has nothing to say before TLS is
    /// agreed on.
    fn wait(&self) -> io::Result<(bool, bool)> {
        let of = |wanted: bool| if wanted { PollFlags::IN } else { PollFlags::empty() };
        let mut both = [
            PollFd::new(&self.outer, of(!self.heard_out)),
            PollFd::new(&self.inner, of(!self.connection.is_handshaking())),
        ];
        poll(&mut both, None)?;
        let ready = |side: &PollFd<'_>| side.revents().intersects(PollFlags::IN | PollFlags::ERR);
        Ok((ready(&both[0]), ready(&both[1])))
    }

    fn hear_client(&mut self, piece: &mut [u8]) -> io::Result<()> {
        self.heard_out = self.connection.read_tls(&mut self.outer)? == 0;
        let wrong = self.connection.process_new_packets().err();
        self.flush()?;
        if let Some(error) = wrong {
            return Err(io::Error::other(error));
        }
        while let Ok(length @ 1..) = self.connection.reader().read(piece) {
            self.inner.write_all(&piece[..length])?;
        }
        if self.heard_out { self.inner.shutdown(Shutdown::Write) } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.outer)?;
        }
        Ok(())
    }
}
