//! One request and its response on an open connection: write first, wait only
//! when the socket says so, stamp once per read.

use super::connect::Connection;
use super::local::Local;
use crate::driver::failure::Failure;
use crate::driver::talk::Talk;
use crate::record::Exchange;
use std::task::{Context, Poll};

/// Drives the exchange of slot `index` as far as the socket allows.
#[inline]
pub(super) fn poll(
    local: &Local,
    index: usize,
    talk: &mut Talk,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Poll<Result<Exchange, Failure>> {
    if local.slots.passed(index) {
        return Poll::Ready(Err(talk.too_slow(&local.shared)));
    }
    if !talk.attempt.flushed && talk.attempt.write_error.is_none() {
        write(local, talk, connection, context);
    }
    read(local, talk, connection, context)
}

/// Writes what the socket takes. An error is kept for later.
fn write(local: &Local, talk: &mut Talk, connection: &mut Connection, context: &mut Context<'_>) {
    let attempt = &mut talk.attempt;
    let request = &local.shared.prepared.request;
    while attempt.written < request.len() {
        match connection.transport.poll_write(context, &request[attempt.written..]) {
            Poll::Ready(Ok(written)) => {
                attempt.written += written;
                local.recorder.borrow_mut().sent(attempt.measured, written);
            }
            Poll::Ready(Err(error)) => {
                attempt.write_error = Some(error);
                return;
            }
            Poll::Pending => return,
        }
    }
    match connection.transport.poll_flush(context) {
        Poll::Ready(Ok(())) => attempt.flushed = true,
        Poll::Ready(Err(error)) => attempt.write_error = Some(error),
        Poll::Pending => {}
    }
}

#[inline]
fn read(
    local: &Local,
    talk: &mut Talk,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Poll<Result<Exchange, Failure>> {
    loop {
        let mut buffer = local.buffer.borrow_mut();
        let length = match connection.transport.poll_read(context, &mut buffer) {
            Poll::Ready(Ok(length)) => length,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(talk.broken(&error))),
            Poll::Pending => {
                return match talk.attempt.write_error.take() {
                    // Nothing can be sent, and nothing came: it is over.
                    Some(error) => Poll::Ready(Err(Failure::unsent(&error))),
                    None => Poll::Pending,
                };
            }
        };
        let now = local.now();
        if length == 0 {
            return Poll::Ready(talk.end(&local.shared, now));
        }
        local.recorder.borrow_mut().received(talk.attempt.measured, length);
        let mut heads = local.heads.borrow_mut();
        if let Some(ended) = talk.take(&local.shared, &mut heads, &buffer[..length], now) {
            return Poll::Ready(ended);
        }
    }
}
