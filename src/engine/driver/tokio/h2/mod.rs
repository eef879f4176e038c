//! HTTP/2 on the tokio driver: one task per connection, which moves the bytes
//! between the socket and `http2`, and lets the users of the connection act on
//! what those mean.

mod failure;
mod session;
mod users;

use super::local::Local;
use super::slot::Alarm;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use users::Users;

/// The whole life of connection `index` of the thread.
pub(super) async fn run(local: Rc<Local>, index: usize) {
    let mut users = poll_fn(|context| Poll::Ready(Users::new(local.clone(), index, context))).await;
    let _alarm = Alarm(local.clone());
    if local.shared.prepared.plan.preconnect {
        users.preconnect().await;
    }
    local.rests();
    poll_fn(|_| if local.window().is_some() { Poll::Ready(()) } else { Poll::Pending }).await;
    poll_fn(|context| users.poll(context)).await;
    local.rests();
    // The connection stays open until the run is over for everybody.
    pending::<()>().await;
}
