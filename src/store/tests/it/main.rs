//! The store from outside, on both databases. Bodies are written once; `on_both`
//! makes a test of each database from every one.
#![expect(clippy::unwrap_used, reason = "test code; clippy only knows the test functions as such")]

#[path = "../../../../tests/support/postgres.rs"]
mod postgres;

mod backends;
mod samples;

mod baselines;
mod broken_writes;
mod cancelling;
mod changes;
mod creating;
mod equality;
mod events;
mod fencing;
mod finishing;
mod history;
mod noise_floors;
mod opening;
mod outage;
mod queue;
mod recordings;
mod removed;
mod results;
mod schema;
