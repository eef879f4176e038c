//! What becomes of requests on one connection to which these bytes came and then
//! its end. This is for tests and the fuzz target.

use super::{Connection, Event, Loss, Request};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A complete response.
    Complete {
        /// Its status.
        status: u16,
        /// Octets of content.
        body: u64,
    },
    /// The server has given it up.
    GivenUp,
    /// What came is against the protocol.
    Refused,
    /// The connection ended under it.
    Unanswered {
        /// A part of the response had come.
        begun: bool,
    },
}

/// The fates of `count` requests that are made at once, and what the connection
/// had to say to the server. Its memory is bounded whatever comes.
#[must_use]
pub fn fates(method: &str, count: usize, pieces: &[&[u8]]) -> (Vec<Fate>, Vec<u8>) {
    let request = Request::for_test(method);
    let mut connection = Connection::new(&request);
    let mut fates = vec![Fate::Unanswered { begun: false }; count];
    for user in 0..count {
        connection.open(&request, user);
    }
    let mut said = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = connection.next(&mut input) {
            let (user, fate) = match event {
                Event::Begun { user } => (user, Fate::Unanswered { begun: true }),
                Event::Complete { user, status, body } => (user, Fate::Complete { status, body }),
                Event::Lost { user, loss: Loss::Breach(_) } => (user, Fate::Refused),
                Event::Lost { user, loss: Loss::Reset(_) | Loss::NotProcessed(_) } => {
                    (user, Fate::GivenUp)
                }
            };
            assert!(matches!(fates[user], Fate::Unanswered { .. }), "two ends of one request");
            fates[user] = fate;
        }
        assert!(connection.memory() < 300_000, "{} octets are kept", connection.memory());
        let pending = connection.pending();
        said.extend_from_slice(pending);
        connection.written(pending.len());
    }
    let over = std::iter::from_fn(|| connection.take_user());
    assert!(over.into_iter().all(|user| matches!(fates[user], Fate::Unanswered { .. })));
    (fates, said)
}
