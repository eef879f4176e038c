//! What the tests stand on.

pub(crate) mod command;
pub(crate) mod http;
pub(crate) mod nginx;
pub(crate) mod service;

#[path = "../../support/postgres.rs"]
#[expect(dead_code, reason = "the file serves other test packages, too")]
pub(crate) mod postgres;
