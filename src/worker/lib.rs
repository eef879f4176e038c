//! Claims jobs, runs engine and probe, writes as it goes.
