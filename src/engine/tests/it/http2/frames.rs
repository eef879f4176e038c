//! HTTP/2 by hand: frames as bytes, so that a script can break every rule.

use crate::support::{Measured, Peer, Server, load};
use benchd_engine::Plan;
use benchd_model::spec::Protocol;
use std::io::{Read, Write};
use std::net::SocketAddr;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// Settings.
pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;

/// `:status: 200` in HPACK.
pub(crate) const OK: &[u8] = &[0x88];

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame of the client.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// One HTTP/2 connection in the hands of a script.
pub(crate) struct Http2 {
    pub(crate) peer: Peer,
    /// Requests that have come and were not asked for yet.
    pub(crate) seen: Vec<Frame>,
}

impl Http2 {
    /// Takes the client's preface and sends `settings` as the server's.
    pub(crate) fn greet(peer: Peer, settings: &[(u16, u32)]) -> Option<Self> {
        let mut script = Self::listen(peer)?;
        script.settings(settings);
        Some(script)
    }

    /// Takes the client's preface and says nothing.
    pub(crate) fn listen(mut peer: Peer) -> Option<Self> {
        let mut preface = [0; PREFACE.len()];
        peer.stream.read_exact(&mut preface).ok()?;
        assert_eq!(preface, *PREFACE);
        Some(Self { peer, seen: Vec::new() })
    }

    pub(crate) fn settings(&mut self, settings: &[(u16, u32)]) {
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        self.send(SETTINGS, 0, 0, &payload);
    }

    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let bytes = frame(kind, flags, stream, payload);
        self.peer.stream.write_all(&bytes).ok();
    }

    /// The client's next frame; SETTINGS are acknowledged on the way.
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.peer.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        self.peer.stream.read_exact(&mut payload).ok()?;
        let frame = Frame { kind: head[3], flags: head[4], stream, payload };
        if frame.kind == SETTINGS && frame.flags & ACK == 0 {
            self.send(SETTINGS, ACK, 0, &[]);
        }
        Some(frame)
    }

    /// The client's next frame of this kind.
    pub(crate) fn await_kind(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.frame()?;
            if frame.kind == kind {
                return Some(frame);
            }
            self.seen.push(frame);
        }
    }

    /// The stream of the next request.
    pub(crate) fn request(&mut self) -> Option<u32> {
        self.await_kind(HEADERS).map(|frame| frame.stream)
    }

    /// A whole response with this body.
    pub(crate) fn answer(&mut self, stream: u32, body: &[u8]) {
        self.send(HEADERS, END_HEADERS, stream, OK);
        self.send(DATA, END_STREAM, stream, body);
    }

    /// Answers every request alike, until the client closes.
    pub(crate) fn answer_all(mut self, body: &[u8]) {
        while let Some(stream) = self.request() {
            self.answer(stream, body);
        }
    }

    /// Waits until the client closes.
    pub(crate) fn hold(mut self) {
        while self.frame().is_some() {}
    }
}

/// A frame in bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags];
    [&head, &stream.to_be_bytes()[..], payload].concat()
}

/// `:status` and `content-length` in HPACK, without the dynamic table.
pub(crate) fn head(status: &str, length: Option<&str>) -> Vec<u8> {
    let text = |start: &[u8], text: &str| [start, &[text.len() as u8], text.as_bytes()].concat();
    let length = length.map(|length| text(&[0x0f, 0x0d], length)).unwrap_or_default();
    [text(&[0x08], status), length].concat()
}

/// GOAWAY's payload.
pub(crate) fn farewell(last: u32, code: u32) -> Vec<u8> {
    [last.to_be_bytes(), code.to_be_bytes()].concat()
}

/// A server that runs `script` on each connection, once the greeting is over.
pub(crate) fn greeting(script: impl Fn(Http2) + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        if let Some(http2) = Http2::greet(peer, &[]) {
            script(http2);
        }
    })
}

/// A server that sends `frames` (for stream 1) for each connection's first
/// request and then waits for the client to close.
pub(crate) fn once(frames: impl Into<Vec<u8>>) -> Server {
    let frames = frames.into();
    greeting(move |mut http2| {
        if http2.request().is_some() {
            http2.peer.send(&frames);
        }
        http2.hold();
    })
}

/// Ten requests one after the other on one connection, or what `change` makes
/// of the plan.
pub(crate) fn load_http2(address: SocketAddr, change: impl FnOnce(&mut Plan)) -> Measured {
    load(address, |plan| {
        plan.protocol = Protocol::H2;
        change(plan);
    })
}
