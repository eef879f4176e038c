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
            let url = Url::parse(text).map_err(|error| refuse(&error.to_string()))?;
            // sqlx would pass over them, and log them with their values.
            if let Some((name, _)) = url.query_pairs().find(|(name, _)| !is_parameter(name)) {
                let known = PARAMETERS.join(", ");
                return Err(refuse(&format!("{name:?} is no parameter: known are {known}")));
            }
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
            None if is_keywords(text) => {
                return Err(refuse(
                    "it is a list of KEY=VALUE; postgres://USER:PASSWORD@HOST:PORT/DATABASE is right",
                ));
            }
            None if text == ":memory:" => return Ok(Self::Memory),
            None => text,
        };
        if path.is_empty() {
            return Err(refuse("it names no file"));
        }
        Ok(Self::File(PathBuf::from(path)))
    }
}

/// The parameters that sqlx knows, but for the password, which has its place in
/// front of the host.
const PARAMETERS: [&str; 17] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&name) || name == "password" || name.starts_with("options[")
}

/// True for libpq's other form, `host=… password=…`, which names no file.
fn is_keywords(text: &str) -> bool {
    let is_pair = |word: &str| word.contains('=') && !word.contains(['/', '.']);
    text.contains("password=") || (text.contains(' ') && text.split_whitespace().all(is_pair))
}

/// The address as it may be shown: without its password, and without parameters
/// that may hold one.
pub(crate) fn describe(text: &str) -> String {
    if is_keywords(text) && !text.contains("://") {
        return "[redacted]".to_owned();
    }
    if !text.contains("://") {
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        return format!("sqlite:{path}");
    }
    match Url::parse(text) {
        Ok(mut url) => {
            let kept: Vec<(String, String)> = url
                .query_pairs()
                .filter(|(name, _)| PARAMETERS.contains(&name.as_ref()))
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            url.set_query(None);
            if !kept.is_empty() {
                url.query_pairs_mut().extend_pairs(kept);
            }
            redact_url(url.as_str())
        }
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
        for memory in ["sqlite::memory:", ":memory:"] {
            assert!(matches!(Address::parse(memory), Ok(Address::Memory)), "{memory}");
            assert_eq!(describe(memory), "sqlite::memory:");
        }
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
            "postgres://u@h/d?pass=s3cret",
            "postgres://u@h/d?sslpassword=s3cret",
            "mysql://u@h/d?pwd=s3cret",
            "host=h user=u password=s3cret",
            "password=s3cret",
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
        assert_eq!(describe("postgres://u:pw@h/d"), "postgres://redacted:redacted@h/d");
        assert_eq!(
            describe("postgres://u@h/d?password=pw&sslmode=require"),
            "postgres://redacted@h/d?sslmode=require"
        );
        assert_eq!(describe("postgres:///d?host=%2Frun"), "postgres:///d?host=%2Frun");
        assert_eq!(describe("host=h password=pw"), "[redacted]");
        assert_eq!(describe("benchd.db"), "sqlite:benchd.db");
        assert_eq!(describe("sqlite::memory:"), "sqlite::memory:");
    }
}
