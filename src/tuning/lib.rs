//! A managed nginx: rendered configuration, start, stop.
