//! How documents lie in the database: columns of JSON text with its version
//! beside it, and blobs of one version byte and deflated JSON. A reader refuses
//! versions it does not know instead of guessing. Knows no SQL.
//!
//! The columns are TEXT in Postgres, too: its JSON types refuse an escaped NUL,
//! which a request body may well contain.
//!
//! Changing the shape of a stored type in a way that old rows no longer
//! deserialise needs a new version here, and a reader for the old one.

use crate::StoreError;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{Read, Write};

/// The format version written today.
const VERSION: u32 = 1;

/// Why writing JSON does not fail.
const SERIALISES: &str = "documents have string keys and no parts that refuse";

/// A document beside its version, so that the version can be read first.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    document: T,
}

/// The form of `document` for a column of text.
pub(crate) fn to_column<T: Serialize>(document: &T) -> String {
    serde_json::to_string(&Versioned { version: VERSION, document }).expect(SERIALISES)
}

/// Reads what [`to_column`] wrote. `what` names it in errors.
pub(crate) fn from_column<T: DeserializeOwned>(
    column: &str,
    what: &'static str,
) -> Result<T, StoreError> {
    let stored: Versioned<&RawValue> =
        serde_json::from_str(column).map_err(|error| corrupt(what, &error))?;
    check_version(stored.version, what)?;
    serde_json::from_str(stored.document.get()).map_err(|error| corrupt(what, &error))
}

/// The form of `document` for a blob column.
pub(crate) fn to_blob<T: Serialize>(document: &T) -> Vec<u8> {
    let json = serde_json::to_vec(document).expect(SERIALISES);
    let mut encoder = DeflateEncoder::new(vec![VERSION as u8], Compression::fast());
    encoder.write_all(&json).and_then(|()| encoder.finish()).expect("memory takes every write")
}

/// Reads what [`to_blob`] wrote. `what` names it in errors.
pub(crate) fn from_blob<T: DeserializeOwned>(
    blob: &[u8],
    what: &'static str,
) -> Result<T, StoreError> {
    let Some((version, deflated)) = blob.split_first() else {
        return Err(StoreError::Corrupt { what, reason: "it is empty".to_owned() });
    };
    check_version(u32::from(*version), what)?;
    let mut json = Vec::new();
    DeflateDecoder::new(deflated).read_to_end(&mut json).map_err(|error| corrupt(what, &error))?;
    serde_json::from_slice(&json).map_err(|error| corrupt(what, &error))
}

/// Unpacks on another thread, since that takes a while for many documents and
/// the event loop must not wait. A panic in it is the caller's.
pub(crate) async fn unpack<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(unpacked) => unpacked,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Unavailable(sqlx::Error::WorkerCrashed)),
        },
    }
}

fn check_version(found: u32, what: &'static str) -> Result<(), StoreError> {
    if found == VERSION {
        return Ok(());
    }
    Err(StoreError::UnknownVersion { what, found, known: VERSION })
}

fn corrupt(what: &'static str, error: &dyn std::error::Error) -> StoreError {
    StoreError::Corrupt { what, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::{from_blob, from_column, to_blob, to_column};
    use crate::StoreError;

    #[test]
    fn blobs_come_back_as_they_went_in() {
        let document = vec![0.1 + 0.2, 1.0 / 3.0, f64::MIN_POSITIVE];
        assert_eq!(from_blob::<Vec<f64>>(&to_blob(&document), "list").unwrap(), document);
    }

    #[test]
    fn an_unknown_version_is_refused_in_words() {
        let mut blob = to_blob(&1);
        blob[0] = 9;
        let error = from_blob::<i32>(&blob, "second").unwrap_err();
        assert!(matches!(error, StoreError::UnknownVersion { found: 9, known: 1, .. }), "{error}");
        assert!(error.to_string().contains("newer benchd"));

        let column = r#"{"version":2,"document":{"new":1}}"#;
        let error = from_column::<i32>(column, "spec").unwrap_err();
        assert!(matches!(error, StoreError::UnknownVersion { found: 2, .. }), "{error}");
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        for blob in [&[][..], &[1], &[1, 2, 3], &to_blob(&"text")] {
            assert!(matches!(from_blob::<i32>(blob, "x"), Err(StoreError::Corrupt { .. })));
        }
        for column in ["", "{}", r#"{"version":1,"document":"text"}"#] {
            assert!(matches!(from_column::<i32>(column, "x"), Err(StoreError::Corrupt { .. })));
        }
    }

    #[test]
    fn columns_carry_their_version_first() {
        let column = to_column(&"a\0b");
        assert_eq!(column, r#"{"version":1,"document":"a\u0000b"}"#);
        assert_eq!(from_column::<String>(&column, "x").unwrap(), "a\0b");
    }
}
