//! Why a handshake failed, in words that tell an operator what to do.

use benchd_model::Timestamp;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use std::io;

const WAYS_OUT: &str = "use --ca-file (target.tls.ca) with its issuer, or --insecure";

/// Why a handshake, or what followed it, ended with `error`.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => in_words(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection during the TLS handshake".to_owned()
        }
        None => format!("{error} during the TLS handshake"),
    }
}

fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidMessage(message) => {
            format!("the server does not speak TLS on this port ({message:?}): it may speak http")
        }
        Error::InvalidCertificate(why) => certificate(why),
        Error::AlertReceived(alert) => refused(*alert),
        Error::PeerIncompatible(
            PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::ServerDoesNotSupportTls12Or13,
        ) => versions("the server chose another"),
        other => other.to_string(),
    }
}

fn certificate(why: &CertificateError) -> String {
    use CertificateError as E;
    match why {
        E::UnknownIssuer => {
            format!("the certificate has an unknown issuer (UnknownIssuer): {WAYS_OUT}")
        }
        E::BadSignature => format!(
            "the certificate is not signed by the issuer that is trusted, but by another of that name \
             (BadSignature): {WAYS_OUT}"
        ),
        E::NotValidForNameContext { expected, presented } => {
            let expected = match expected {
                ServerName::DnsName(name) => name.as_ref().to_owned(),
                ServerName::IpAddress(address) => std::net::IpAddr::from(*address).to_string(),
                other => format!("{other:?}"),
            };
            let names = match presented.as_slice() {
                [] => "has no name".to_owned(),
                names => {
                    format!("is for {}", names.iter().map(bare).collect::<Vec<_>>().join(", "))
                }
            };
            format!(
                "the certificate is not for {expected}: it {names}; ask for one of its names \
                 (--resolve leads it to the same address), or use --insecure"
            )
        }
        E::NotValidForName => "the certificate is not for the URL's host".to_owned(),
        E::ExpiredContext { not_after, .. } => {
            format!("the certificate expired at {}: renew it, or use --insecure", at(not_after))
        }
        E::NotValidYetContext { time, not_before } => format!(
            "the certificate is valid only from {}, and it is {} here: is this clock right?",
            at(not_before),
            at(time)
        ),
        // The library has no word of its own for what `openssl req -x509` makes.
        E::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "the certificate is self-signed, an authority's own (CaUsedAsEndEntity): use \
             --insecure, or make the server one that is not CA:TRUE, or issued by another"
                .to_owned()
        }
        other => format!("the certificate is refused: {other:?}"),
    }
}

/// The library writes `DnsName("shop.example")`.
fn bare(name: &String) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

fn refused(alert: AlertDescription) -> String {
    use AlertDescription as A;
    let hint = match alert {
        A::UnrecognisedName => "it serves nothing under the name that was asked for",
        A::ProtocolVersion => return versions("alert protocol_version"),
        A::HandshakeFailure | A::InsufficientSecurity => {
            "it shares no cipher suite, key exchange or signature with us"
        }
        A::NoApplicationProtocol => "it does not speak the protocol asked for",
        A::AccessDenied => "it serves nothing under the name that was asked for, or not to us",
        A::CertificateRequired | A::BadCertificate => {
            "it asks for a client certificate, which benchd does not send"
        }
        A::InternalError => "its configuration may be wrong: its error log says more",
        _ => "its error log says more",
    };
    format!("the server refused us with TLS alert {}: {hint}", name(alert))
}

fn versions(how: &str) -> String {
    format!("the server speaks no TLS version from --tls-min (target.tls.min_version) on ({how})")
}

/// As RFC 8446 writes it: `UnrecognisedName` is `unrecognized_name`.
fn name(alert: AlertDescription) -> String {
    let mut name = String::new();
    let written = format!("{alert:?}").replace("recognised", "recognized").replace("PSK", "Psk");
    for letter in written.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn at(time: &UnixTime) -> String {
    let micros = i64::try_from(time.as_secs()).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    Timestamp::from_micros(micros).to_string()
}

#[cfg(test)]
mod tests {
    use super::{in_words, name};
    use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

    #[test]
    fn alerts_are_called_as_in_the_standard() {
        assert_eq!(name(AlertDescription::UnrecognisedName), "unrecognized_name");
        assert_eq!(name(AlertDescription::UnknownPSKIdentity), "unknown_psk_identity");
        let told = in_words(&Error::AlertReceived(AlertDescription::ProtocolVersion));
        assert!(told.contains("--tls-min") && told.contains("protocol_version"), "{told}");
    }

    #[test]
    fn what_has_no_words_of_its_own_is_named_by_the_library() {
        let told = in_words(&Error::InvalidCertificate(CertificateError::Revoked));
        assert_eq!(told, "the certificate is refused: Revoked");
        let told = in_words(&Error::PeerIncompatible(PeerIncompatible::NullCompressionRequired));
        assert!(told.contains("NullCompressionRequired"), "{told}");
    }
}
