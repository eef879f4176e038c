//! The spellings a job's target is found by in the history. Knows no SQL.

use benchd_model::JobSpec;
use std::collections::BTreeSet;
use url::Url;

/// Postgres refuses index entries over 2,700 bytes, and no URL limit is that low.
const LONGEST: usize = 1000;

/// Every spelling of the target: the exact URL, the host with and without its
/// port, the lock key, the registered name, and `unix:` with the path of a socket.
pub(crate) fn spellings(spec: &JobSpec, target_host: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([key(&spec.target.url), key(target_host)]);
    if let Some(name) = &spec.target.name {
        all.insert(key(name));
    }
    if let Some(path) = &spec.target.unix_socket {
        all.insert(key(&format!("unix:{path}")));
    }
    if let Ok(url) = Url::parse(&spec.target.url)
        && let Some(host) = url.host_str()
    {
        all.insert(key(host));
        if let Some(port) = url.port_or_known_default() {
            all.insert(key(&format!("{host}:{port}")));
        }
    }
    all
}

/// The form of a spelling in the database: very long ones are cut and told
/// apart by a checksum.
pub(crate) fn key(spelling: &str) -> String {
    if spelling.len() <= LONGEST {
        return spelling.to_owned();
    }
    let cut = spelling.floor_char_boundary(LONGEST);
    format!("{}…{:016x}", &spelling[..cut], fnv1a(spelling.as_bytes()))
}

/// FNV-1a, 64 bits: stable over releases, which the standard hasher is not.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{key, spellings};
    use benchd_model::JobSpec;

    fn spec(target: serde_json::Value) -> JobSpec {
        serde_json::from_value(serde_json::json!({"target": target})).unwrap()
    }

    #[test]
    fn a_target_is_found_by_url_host_port_name_and_lock_key() {
        let spec = spec(serde_json::json!({"name": "front", "url": "http://127.0.0.1:8088/a"}));
        let all: Vec<String> = spellings(&spec, "localhost").into_iter().collect();
        assert_eq!(
            all,
            ["127.0.0.1", "127.0.0.1:8088", "front", "http://127.0.0.1:8088/a", "localhost"]
        );
    }

    #[test]
    fn long_urls_stay_apart_and_short_enough() {
        let long = format!("http://h/{}", "ä".repeat(5000));
        let (a, b) = (key(&format!("{long}a")), key(&format!("{long}b")));
        assert_ne!(a, b);
        assert!(a.len() < 1100);
        assert_eq!(a, key(&format!("{long}a")));
    }
}
