//! Reads a database address as a person writes it, and shows it without its
//! password. Knows no connection.

use crate::StoreError;
use benchd_model::secrets::redact_url;
use sqlx::postgres::PgConnectOptions;
use std::path::PathBuf;
use std::str::FromStr;
use url::Url;

/// Where the data is.
#[derive(Debug)]
pub(crate) enum Address {
    /// `sqlite::memory:`: gone with the store.
    Memory,
    /// A file.
    File(PathBuf),
    /// A Postgres server.
    Postgres(Box<PgConnectOptions>),
}

impl Address {
    /// `postgres://…`, `sqlite:PATH`, a plain path, or `sqlite::memory:`.
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let refuse = |reason: &str| StoreError::Address {
            address: describe(text),
            reason: reason.to_owned(),
        };
        if is_postgres(text) {
            // The parser's own words may repeat parts of the address.
            Url::parse(text).map_err(|error| refuse(&error.to_string()))?;
            let options = PgConnectOptions::from_str(text).map_err(|_| {
                refuse("an option in it is wrong; postgres://USER:PASSWORD@HOST:PORT/DATABASE is right")
            })?;
            return Ok(Self::Postgres(Box::new(options)));
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(":memory:") => return Ok(Self::Memory),
            Some(rest) if rest.contains('?') => {
                return Err(refuse("options after ? are not supported"));
            }
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None if text.contains("://") => {
                return Err(refuse("it starts with neither postgres:// nor sqlite:"));
            }
            None => text,
        };
        if path.is_empty() {
            return Err(refuse("it names no file"));
        }
        Ok(Self::File(PathBuf::from(path)))
    }
}

/// The address as it may be shown.
pub(crate) fn describe(text: &str) -> String {
    if !text.contains("://") {
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        return format!("sqlite:{path}");
    }
    match Url::parse(text) {
        Ok(_) => redact_url(text),
        // What cannot be taken apart cannot be redacted either.
        Err(_) => format!("{}://[redacted]", text.split("://").next().unwrap_or_default()),
    }
}

fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

#[cfg(test)]
mod tests {
    use super::{Address, describe};

    #[test]
    fn every_spelling_finds_its_database() {
        let file = |text: &str| match Address::parse(text).unwrap() {
            Address::File(path) => path.display().to_string(),
            other => panic!("{text} became {other:?}"),
        };
        assert_eq!(file("benchd.db"), "benchd.db");
        assert_eq!(file("/var/lib/benchd/benchd.db"), "/var/lib/benchd/benchd.db");
        assert_eq!(file("sqlite:benchd.db"), "benchd.db");
        assert_eq!(file("sqlite:///tmp/b.db"), "/tmp/b.db");
        assert!(matches!(Address::parse("sqlite::memory:"), Ok(Address::Memory)));
        assert!(matches!(Address::parse("postgres://u:p@h/d"), Ok(Address::Postgres(_))));
        assert!(matches!(Address::parse("postgresql:///d?host=/run"), Ok(Address::Postgres(_))));
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_showing_its_password() {
        for text in [
            "mysql://root:s3cret@h/d",
            "postgres://u:s3cret@h:port/d",
            "postgres://u:s3cret@h/d?sslmode=wrong",
            "postgres://u:s3cret@[::1/d",
            "postgres://u@h:99999/d?password=s3cret",
            "sqlite:a.db?mode=ro",
            "sqlite:",
            "",
        ] {
            let error = Address::parse(text).expect_err(text);
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }

    #[test]
    fn passwords_are_never_described() {
        assert_eq!(describe("postgres://u:pw@h/d"), "postgres://u:redacted@h/d");
        assert!(!describe("postgres://u@h/d?password=hunter2").contains("hunter2"));
        assert_eq!(describe("benchd.db"), "sqlite:benchd.db");
        assert_eq!(describe("sqlite::memory:"), "sqlite::memory:");
    }
}
