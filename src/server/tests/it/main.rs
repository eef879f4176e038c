//! The API as its clients meet it: the whole router over a real SQLite store,
//! by resource and verb. Nothing here makes load; jobs are finished through the
//! store's worker side with recordings made up and assembled by the model.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is the failure")]

mod app;
mod baselines;
mod comparisons;
mod grafana;
mod jobs;
mod openapi;
mod samples;
mod service;
