//! The API, Grafana rows, event stream, OpenAPI.
