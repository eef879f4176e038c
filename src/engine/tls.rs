//! TLS settings of a run: whom to trust, which name to ask for, what to make of
//! a handshake. It knows rustls, but no sockets.

mod reasons;
mod sessions;

use crate::plan::{Plan, PlanError};
use benchd_model::spec::{Protocol, TargetSpec, TlsVersion, certificates};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, RootCertStore,
    SignatureScheme, SupportedProtocolVersion,
};
use sessions::Sessions;
use std::sync::Arc;

pub(crate) use reasons::reason;

/// How a run speaks TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Accept any certificate.
    pub insecure: bool,
    /// Certificates of the issuers to trust, in PEM, instead of the public ones.
    pub ca: Option<String>,
    /// The lowest version that is accepted.
    pub min_version: TlsVersion,
    /// Resume sessions where the server offers it.
    pub resumption: bool,
}

impl From<&TargetSpec> for TlsOptions {
    fn from(target: &TargetSpec) -> Self {
        Self {
            insecure: target.insecure,
            ca: target.tls.ca.clone(),
            min_version: target.tls.min_version,
            resumption: target.tls.resumption,
        }
    }
}

/// What every handshake of a run shares.
#[derive(Clone, Debug)]
pub(crate) struct TlsPlan {
    pub(crate) config: Arc<ClientConfig>,
    /// Sent as SNI when it is a name, never when it is an address.
    pub(crate) server_name: ServerName<'static>,
}

impl TlsPlan {
    pub(crate) fn new(plan: &Plan) -> Result<Self, PlanError> {
        let host = plan.url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let server_name =
            ServerName::try_from(bare).map_err(|_| PlanError::ServerName(host.to_owned()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let options = &plan.tls;
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions(options.min_version))
            .map_err(|error| PlanError::Tls(error.to_string()))?;
        let mut config = if options.insecure {
            let verifier = Arc::new(AnyCertificate { provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        } else {
            builder.with_root_certificates(roots(options)?).with_no_client_auth()
        };
        // Full handshakes unless asked for: the server does less for others.
        config.resumption = if options.resumption {
            Resumption::store(Arc::new(Sessions::of(plan.connections)))
        } else {
            Resumption::disabled()
        };
        config.alpn_protocols = vec![alpn(plan.protocol).to_vec()];
        Ok(Self { config: Arc::new(config), server_name })
    }
}

fn versions(least: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static TLS13_ALONE: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
    match least {
        TlsVersion::V1_2 => rustls::ALL_VERSIONS,
        TlsVersion::V1_3 => &TLS13_ALONE,
    }
}

/// Whose word is taken for who the server is.
fn roots(options: &TlsOptions) -> Result<RootCertStore, PlanError> {
    let Some(pem) = &options.ca else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem).map_err(PlanError::Tls)? {
        let added = roots.add(CertificateDer::from(certificate));
        added.map_err(|error| PlanError::Tls(error.to_string()))?;
    }
    Ok(roots)
}

/// What the handshake says is spoken inside.
const fn alpn(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 | Protocol::Http10 => b"http/1.1",
    }
}

/// True when the handshake resumed an earlier session.
pub(crate) fn is_resumed(connection: &ClientConnection) -> bool {
    connection.handshake_kind() == Some(HandshakeKind::Resumed)
}

/// Version and cipher suite as ab prints them.
pub(crate) fn describe(connection: &ClientConnection) -> Option<String> {
    use rustls::ProtocolVersion;
    let version = match connection.protocol_version()? {
        ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
        ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
        other => format!("{other:?}"),
    };
    let suite = format!("{:?}", connection.negotiated_cipher_suite()?.suite());
    Some(format!("{version},{}", openssl_name(&suite)))
}

/// rustls writes `TLS13_AES_128_GCM_SHA256` and
/// `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`; OpenSSL, and so ab, writes
/// `TLS_AES_128_GCM_SHA256` and `ECDHE-RSA-AES128-GCM-SHA256`.
fn openssl_name(suite: &str) -> String {
    if let Some(rest) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let name = suite.trim_start_matches("TLS_").replace("WITH_", "").replace("AES_", "AES");
    let name = name.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305");
    name.replace('_', "-")
}

/// Takes any certificate, as ab does; signatures are still checked, so that
/// the handshake is the one a browser would make.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::openssl_name;

    #[test]
    fn suites_read_as_in_openssl() {
        assert_eq!(openssl_name("TLS13_AES_256_GCM_SHA384"), "TLS_AES_256_GCM_SHA384");
        let tls12 = openssl_name("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384");
        assert_eq!(tls12, "ECDHE-RSA-AES256-GCM-SHA384");
        let chacha = openssl_name("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
        assert_eq!(chacha, "ECDHE-ECDSA-CHACHA20-POLY1305");
    }
}
