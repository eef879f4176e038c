//! Against the h2 crate's server: it reads all requests alike, whatever its
//! settings are, and its responses are what it says of them.

use super::{Connection, Request};
use crate::http2::Event;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use http::{HeaderMap, HeaderValue, Response};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

const REQUESTS: usize = 12;
/// Larger than all that a case sends.
const PIPE: usize = 64 << 20;

#[derive(Clone, Debug)]
struct Answer {
    status: u16,
    body: Vec<usize>,
    says_length: bool,
    fields: Vec<(usize, usize)>,
    trailers: bool,
}

impl Answer {
    fn has_content(&self) -> bool {
        !matches!(self.status, 204 | 304)
    }

    fn length(&self) -> usize {
        if self.has_content() { self.body.iter().sum() } else { 0 }
    }
}

#[derive(Clone, Debug)]
struct Case {
    answers: Vec<Answer>,
    body: usize,
    streams: usize,
    window: u32,
    largest_frame: u32,
    piece: usize,
}

fn answer() -> impl Strategy<Value = Answer> {
    let status = prop_oneof![5 => Just(200), 1 => Just(204), 1 => Just(304), 1 => 400..600_u16];
    let fields = vec((0..5_usize, 0..6_usize), 0..5);
    (status, vec(0..40_000_usize, 0..4), any::<bool>(), fields, any::<bool>()).prop_map(
        |(status, body, says_length, fields, trailers)| Answer {
            status,
            body,
            says_length,
            fields,
            trailers,
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let body = prop_oneof![2 => Just(0), 1 => 1..200_000_usize];
    (vec(answer(), 1..4), body, 1..5_usize, 1..100_000_u32, 16_384..70_000_u32, 1..30_000_usize)
        .prop_map(|(answers, body, streams, window, largest_frame, piece)| Case {
            answers,
            body,
            streams,
            // Windows of a few octets take long.
            window: window.max(body as u32 / 100),
            largest_frame,
            piece,
        })
}

/// What the server has read: each request's head, and the length of its body.
type Seen = Arc<Mutex<Vec<(String, usize)>>>;

async fn serve(pipe: DuplexStream, case: Case, seen: Seen) {
    let mut builder = Builder::new();
    builder
        .initial_window_size(case.window)
        .max_frame_size(case.largest_frame)
        .max_concurrent_streams(case.streams as u32);
    let mut connection = builder.handshake(pipe).await.expect("our greeting is one");
    let mut number = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        let answer = case.answers[number % case.answers.len()].clone();
        number += 1;
        let (head, body) = request.into_parts();
        let head = format!("{} {} {:?}", head.method, head.uri, head.headers);
        tokio::spawn(answer_one(head, body, respond, answer, seen.clone()));
    }
}

async fn answer_one(
    head: String,
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    answer: Answer,
    seen: Seen,
) {
    let mut length = 0;
    while let Some(piece) = body.data().await {
        let piece = piece.expect("a whole body").len();
        length += piece;
        body.flow_control().release_capacity(piece).expect("as much as came");
    }
    seen.lock().unwrap().push((head, length));
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.fields {
        response = response.header(format!("field-{name}"), "x".repeat(value * value * 20));
    }
    if answer.says_length {
        response = response.header("content-length", answer.length());
    }
    let response = response.body(()).expect("a response");
    if !answer.has_content() {
        respond.send_response(response, true).ok();
        return;
    }
    let Ok(mut stream) = respond.send_response(response, false) else { return };
    for piece in &answer.body {
        stream.send_data(vec![b'x'; *piece].into(), false).ok();
    }
    if answer.trailers {
        let trailers =
            HeaderMap::from_iter([("a".parse().unwrap(), HeaderValue::from_static("b"))]);
        stream.send_trailers(trailers).ok();
    } else {
        stream.send_data(Bytes::new(), true).ok();
    }
}

/// The responses to all requests, made as the server allows them.
async fn load(mut pipe: DuplexStream, case: &Case) -> Vec<(u16, u64)> {
    let mut request = Request::for_test(if case.body > 0 { "PUT" } else { "GET" });
    request.body = vec![b'x'; case.body];
    let mut connection = Connection::new(&request);
    let (mut made, mut answers) = (0, Vec::new());
    let mut buffer = vec![0; case.piece];
    while answers.len() < REQUESTS {
        while connection.is_settled()
            && made < REQUESTS
            && connection.streams() < connection.most_streams().min(case.streams)
        {
            connection.open(&request, made);
            made += 1;
        }
        connection.write_bodies(&request.body);
        while !connection.pending().is_empty() {
            pipe.write_all(connection.pending()).await.expect("the server reads");
            connection.written(connection.pending().len());
            connection.write_bodies(&request.body);
        }
        let length = pipe.read(&mut buffer).await.expect("the server writes");
        assert!(length > 0, "the server has given up");
        let mut input = &buffer[..length];
        while let Some(event) = connection.next(&mut input) {
            match event {
                Event::Begun { .. } => {}
                Event::Complete { status, body, .. } => answers.push((status, body)),
                Event::Lost { user, loss } => panic!("request {user} of {case:?}: {loss:?}"),
            }
        }
        assert_eq!(connection.breach(), None);
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_h2_crate_s_server_and_we_understand_each_other(case in case()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let seen = Seen::default();
        let (ours, theirs) = duplex(PIPE);
        let answers = runtime.block_on(async {
            tokio::spawn(serve(theirs, case.clone(), seen.clone()));
            load(ours, &case).await
        });
        let expected = case.answers.iter().cycle().take(REQUESTS);
        let mut expected: Vec<_> =
            expected.map(|answer| (answer.status, answer.length() as u64)).collect();
        let mut answers = answers;
        expected.sort_unstable();
        answers.sort_unstable();
        prop_assert_eq!(answers, expected);
        let seen = seen.lock().unwrap();
        prop_assert!(seen.iter().all(|(_, length)| *length == case.body));
        let heads: BTreeSet<_> = seen.iter().map(|(head, _)| head).collect();
        prop_assert_eq!((seen.len(), heads.len()), (REQUESTS, 1), "{:?}", heads);
    }
}
