//! HTTP/2 against scripted servers, most of which speak it frame by frame.

mod bodies;
mod frames;
mod goaway;
mod latencies;
mod open_loop;
mod openings;
mod resets;
mod streams;
mod timeouts;
mod violations;
