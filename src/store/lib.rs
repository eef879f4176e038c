//! Everything that must survive: one Store over SQLite and Postgres.
