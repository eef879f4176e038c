//! HTTP/2 on the tokio driver: one task per connection, which polls the h2
//! crate's connection and, of its streams, those that the crate has woken.

mod failure;
mod session;
mod signal;
mod stream;
mod users;
mod wire;

use super::local::Local;
use super::slot::Alarm;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use users::Users;

/// The whole life of connection `index` of the thread.
pub(super) async fn run(local: Rc<Local>, index: usize) {
    let mut users =
        poll_fn(|context| Poll::Ready(Users::new(local.clone(), index, context.waker()))).await;
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
