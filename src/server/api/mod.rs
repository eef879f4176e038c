//! HTTP handlers, by resource and verb. Each reads its request, calls a use
//! case or the store, and writes the answer; no rule of the product is here.

pub(crate) mod baselines;
pub(crate) mod catalogue;
pub(crate) mod comparisons;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod index;
pub(crate) mod jobs;
pub(crate) mod metrics;
