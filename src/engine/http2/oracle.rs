//! The same bytes given to the h2 crate's client: where both take a response as
//! complete, both must say the same of it.

use super::fate::{Fate, fates};
use bytes::Bytes;
use h2::client::{Builder, ResponseFuture};
use tokio::io::{AsyncWriteExt as _, duplex};

/// What the h2 crate makes of `count` requests to which these bytes came, and then
/// the end: of each complete one, status and octets of content.
async fn complete_ones(count: usize, bytes: &[u8]) -> Vec<Option<(u16, u64)>> {
    let (ours, mut server) = duplex(1 << 20);
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size((1 << 30) - 1)
        .initial_connection_window_size((1 << 30) - 1)
        .max_header_list_size(64 * 1024);
    let Ok((mut sender, connection)) = builder.handshake::<_, Bytes>(ours).await else {
        return vec![None; count];
    };
    let request = || http::Request::get("http://127.0.0.1/").body(()).expect("a request");
    let responses: Vec<Option<ResponseFuture>> = (0..count)
        .map(|_| sender.send_request(request(), true).ok().map(|(response, _)| response))
        .collect();
    let write = async {
        server.write_all(bytes).await.ok();
        server.shutdown().await.ok();
    };
    let read = async {
        let mut answers = Vec::new();
        for response in responses {
            let answer = match response {
                Some(response) => answer(response).await.ok(),
                None => None,
            };
            answers.push(answer);
        }
        answers
    };
    tokio::join!(connection, write, read).2
}

async fn answer(response: ResponseFuture) -> Result<(u16, u64), h2::Error> {
    let response = response.await?;
    let status = response.status().as_u16();
    let (mut body, mut length) = (response.into_body(), 0);
    while let Some(piece) = body.data().await {
        length += piece?.len() as u64;
    }
    body.trailers().await?;
    Ok((status, length))
}

/// Where the h2 crate and we differ on responses that both take as complete.
pub(crate) async fn disagreement(count: usize, bytes: &[u8]) -> Option<String> {
    let (ours, _) = fates("GET", count, &[bytes]);
    let theirs = complete_ones(count, bytes).await;
    let differs = ours.iter().zip(&theirs).any(|pair| match pair {
        (Fate::Complete { status, body }, Some(theirs)) => (*status, *body) != *theirs,
        _ => false,
    });
    differs.then(|| format!("{ours:?} against {theirs:?}"))
}
