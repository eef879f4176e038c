//! The worker against a real store, a real nginx, and servers that a test
//! holds in its hand.
#![expect(clippy::unwrap_used, reason = "test code; clippy only knows the test functions as such")]

mod aborts;
mod baselines;
mod disturbed;
mod ends;
mod queue;
mod runs;
mod support;
