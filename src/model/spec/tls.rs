//! How a target's TLS is spoken, and the certificates that vouch for it.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{self, PemObject, SectionKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most certificates one job may bring; a system's whole bundle has fewer.
const MOST_CERTIFICATES: usize = 1000;

/// How TLS is spoken with an `https` target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// Certificates of the issuers to trust, in PEM, instead of the public ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n")]
    pub ca: Option<String>,
    /// The lowest version that is accepted.
    #[serde(default)]
    pub min_version: TlsVersion,
    /// Resume sessions where the server offers it. Resumed handshakes are
    /// cheaper for the server than those of new visitors, and counted apart.
    #[serde(default)]
    pub resumption: bool,
}

impl TlsSpec {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A version of TLS.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[default]
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    V1_3,
}

/// The certificates in `pem`, each in DER and fit to vouch for others.
///
/// # Errors
/// What is wrong with the first one that is not, and what would be right.
pub fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut certificates = Vec::new();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes()) {
        let number = certificates.len() + 1;
        match section {
            Ok((SectionKind::Certificate, der)) => {
                check_issuer(&der).map_err(|why| format!("certificate {number} {why}"))?;
                certificates.push(der);
            }
            Ok((
                SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey,
                _,
            )) => {
                return Err("holds a private key, which no job needs: keep it secret and give \
                            the certificates alone"
                    .to_owned());
            }
            Ok(_) => {}
            Err(why) => return Err(format!("section {number} is no PEM: {}", in_words(&why))),
        }
    }
    match certificates.len() {
        0 => Err("holds no certificate: write it in PEM, from -----BEGIN CERTIFICATE----- to \
                  -----END CERTIFICATE-----"
            .to_owned()),
        1..=MOST_CERTIFICATES => Ok(certificates),
        many => Err(format!("holds {many} certificates: at most {MOST_CERTIFICATES}")),
    }
}

fn check_issuer(der: &[u8]) -> Result<(), String> {
    let certificate = CertificateDer::from(der);
    webpki::anchor_from_trusted_cert(&certificate).map(drop).map_err(|why| {
        format!("cannot be read ({why:?}): it is damaged, or what is in it is no X.509 certificate")
    })
}

/// Without the text itself, which may be anything.
fn in_words(why: &pem::Error) -> String {
    match why {
        pem::Error::MissingSectionEnd { .. } => "its END line is missing".to_owned(),
        pem::Error::IllegalSectionStart { .. } => "its BEGIN line is malformed".to_owned(),
        pem::Error::Base64Decode(_) => "what is between BEGIN and END is no base64".to_owned(),
        _ => "it cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::certificates;

    fn pem(label: &str, body: &str) -> String {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    }

    fn issuer() -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        rcgen::CertificateParams::default().self_signed(&key).unwrap().pem()
    }

    #[test]
    fn every_certificate_of_a_bundle_is_found() {
        let bundle = format!("# a comment\n{}{}", issuer(), issuer());
        assert_eq!(certificates(&bundle).unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_certificate_is_refused_in_words() {
        let cut = issuer().replace("-----END", "");
        let whole = issuer();
        for (text, words) in [
            (String::new(), "holds no certificate"),
            ("/etc/ssl/ca.pem".to_owned(), "holds no certificate"),
            (pem("CERTIFICATE", "AAAA"), "certificate 1 cannot be read"),
            (pem("CERTIFICATE", "!!!"), "no base64"),
            (cut, "END line is missing"),
            (format!("{whole}{}", pem("CERTIFICATE", "MAA=")), "certificate 2 cannot be read"),
            (format!("{whole}{}", pem("PRIVATE KEY", "AAAA")), "keep it secret"),
        ] {
            let refusal = certificates(&text).unwrap_err();
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }
}
