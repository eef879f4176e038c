mod auth;
mod docs;
mod errors;
mod guard;
mod health;
mod metrics;
mod serving;
