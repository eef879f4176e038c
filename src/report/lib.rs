//! One result, every format.
