//! The API: jobs in, results, timelines, events and Grafana rows out, with the
//! OpenAPI document that describes them.
//!
//! Handlers (`api`, `grafana`) speak HTTP and nothing else; use cases live
//! in `service`; what must survive is the store's. This crate never makes
//! load and knows neither engine nor worker: it learns of a job's progress only
//! through the store.

mod api;
mod aside;
mod auth;
mod conditional;
mod config;
mod documents;
mod events;
mod examples;
mod extract;
mod grafana;
mod guard;
mod links;
mod metrics;
mod negotiate;
mod observe;
mod openapi;
mod params;
mod prefer;
mod problem;
mod router;
mod serve;
mod service;
mod strict_json;

pub use config::ServerConfig;
pub use openapi::openapi_json;
pub use router::router;
pub use serve::serve;
