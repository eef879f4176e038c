//! A server that answers only as many requests as it is allowed to, so that a
//! test decides how far a job comes.

use super::bounded;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

pub(crate) struct Gate {
    pub(crate) url: String,
    counts: Arc<Counts>,
}

struct Counts {
    allowed: watch::Sender<u64>,
    asked: watch::Sender<u64>,
    open: watch::Sender<u64>,
}

impl Gate {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let counts = Arc::new(Counts {
            allowed: watch::Sender::new(0),
            asked: watch::Sender::new(0),
            open: watch::Sender::new(0),
        });
        let shared = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counts = Arc::clone(&shared);
                tokio::spawn(async move {
                    counts.open.send_modify(|open| *open += 1);
                    counts.serve(stream).await;
                    counts.open.send_modify(|open| *open -= 1);
                });
            }
        });
        Self { url, counts }
    }

    /// Lets the server answer up to `total` requests since its start.
    pub(crate) fn allow(&self, total: u64) {
        self.counts.allowed.send_replace(total);
    }

    /// Waits until that many requests were made since the start.
    pub(crate) async fn asked(&self, total: u64) {
        let mut asked = self.counts.asked.subscribe();
        bounded(asked.wait_for(|asked| *asked >= total)).await.unwrap();
    }

    /// Waits until no client is connected.
    pub(crate) async fn left_alone(&self) {
        let mut open = self.counts.open.subscribe();
        bounded(open.wait_for(|open| *open == 0)).await.unwrap();
    }
}

impl Counts {
    /// Serves one connection until its client leaves.
    async fn serve(&self, mut stream: TcpStream) {
        let mut seen = Vec::new();
        loop {
            if let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                seen.drain(..end + 4);
                let mut number = 0;
                self.asked.send_modify(|asked| {
                    *asked += 1;
                    number = *asked;
                });
                let mut allowed = self.allowed.subscribe();
                tokio::select! {
                    may = allowed.wait_for(|allowed| *allowed >= number) => {
                        if may.is_err() { return }
                    }
                    // A client has nothing to say while it waits, but to leave.
                    _ = stream.read_u8() => return,
                }
                if stream.write_all(ANSWER).await.is_err() {
                    return;
                }
                continue;
            }
            match stream.read_buf(&mut seen).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}
