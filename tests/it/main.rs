//! End to end: the real binary, a real nginx, both databases. Everything runs
//! on loopback, on ports the system picks, in folders that go with the test.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is the failure")]

mod ab;
mod addressing;
mod api;
mod baselines;
mod ci;
mod cli;
mod compare;
mod demo;
mod docker;
mod http2;
mod limits;
mod outputs;
mod recovery;
mod safety;
mod separate_worker;
mod signals;
mod support;
mod truth;
