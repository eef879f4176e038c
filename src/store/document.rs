//! How documents lie in the database: JSON columns with their version beside
//! them, and blobs of one version byte and deflated JSON. A reader refuses
//! versions it does not know instead of guessing. Knows no SQL.
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
use sqlx::types::Json;
use std::io::{Read, Write};

/// The format version written today.
const VERSION: u32 = 1;

/// A document beside its version, so that the version can be read first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Versioned<T> {
    version: u32,
    document: T,
}

/// What a JSON column gives.
pub(crate) type Stored = Json<Versioned<Box<RawValue>>>;

/// The form of `document` for a JSON column.
pub(crate) fn to_column<T: Serialize>(document: &T) -> Json<Versioned<&T>> {
    Json(Versioned { version: VERSION, document })
}

/// Reads what [`to_column`] wrote. `what` names it in errors.
pub(crate) fn from_column<T: DeserializeOwned>(
    stored: &Stored,
    what: &'static str,
) -> Result<T, StoreError> {
    check_version(stored.version, what)?;
    serde_json::from_str(stored.document.get()).map_err(|error| corrupt(what, &error))
}

/// The form of `document` for a blob column.
pub(crate) fn to_blob<T: Serialize>(document: &T) -> Vec<u8> {
    let json =
        serde_json::to_vec(document).expect("documents have string keys and no failing parts");
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

        let column = serde_json::from_str(r#"{"version":2,"document":1}"#).unwrap();
        let error = from_column::<i32>(&column, "spec").unwrap_err();
        assert!(matches!(error, StoreError::UnknownVersion { found: 2, .. }), "{error}");
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        for blob in [&[][..], &[1], &[1, 2, 3], &to_blob(&"text")] {
            assert!(matches!(from_blob::<i32>(blob, "x"), Err(StoreError::Corrupt { .. })));
        }
    }

    #[test]
    fn columns_carry_their_version_first() {
        let text = serde_json::to_string(&to_column(&"x")).unwrap();
        assert_eq!(text, r#"{"version":1,"document":"x"}"#);
        let column = serde_json::from_str(&text).unwrap();
        assert_eq!(from_column::<String>(&column, "x").unwrap(), "x");
    }
}
