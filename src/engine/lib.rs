//! Makes the load: a plan in, a stream of progress and a recording out.
