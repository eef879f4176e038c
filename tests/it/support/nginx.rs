//! The nginx that the tests load, and what it says it served.

use super::http;
use benchd_tuning::{ManagedNginx, NginxOptions, TlsFiles};
use std::path::Path;

/// An nginx of the test's own.
pub(crate) fn start() -> ManagedNginx {
    start_with(NginxOptions::default())
}

pub(crate) fn start_with(options: NginxOptions) -> ManagedNginx {
    ManagedNginx::start(options).unwrap_or_else(|why| panic!("nginx does not start: {why}"))
}

/// A certificate for `localhost` that signs itself, in `folder`.
pub(crate) fn self_signed(folder: &Path) -> TlsFiles {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let tls = TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&tls.certificate, signed.cert.pem()).unwrap();
    std::fs::write(&tls.key, signed.signing_key.serialize_pem()).unwrap();
    tls
}

/// `host:port` of a URL of it.
pub(crate) fn address(nginx: &ManagedNginx) -> String {
    let url = nginx.url("/");
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}

/// Requests since it started; reading the page counts itself.
pub(crate) fn requests(nginx: &ManagedNginx) -> u64 {
    let page = http::send(&address(nginx), "GET", "/nginx_status", &[], "");
    let counters = page.body.lines().nth(2).expect("the page has a line of counters");
    let requests = counters.split_whitespace().nth(2).and_then(|n| n.parse().ok());
    requests.expect("the third counter is a number")
}
