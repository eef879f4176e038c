//! End to end: the real binary, a real nginx, both databases. Everything runs
//! on loopback, on ports the system picks, in folders that go with the test.

mod ab;
mod api;
mod cli;
mod demo;
mod docker;
mod recovery;
mod safety;
mod separate_worker;
mod support;
mod truth;
