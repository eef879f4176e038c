//! What the tests stand on.

pub(crate) mod command;
pub(crate) mod http;
pub(crate) mod nginx;
pub(crate) mod service;

#[path = "../../support/postgres.rs"]
pub(crate) mod postgres;
