//! Handshakes: which authorities, versions and sessions they take, and why
//! they fail, in words.

use crate::support::{Measured, Server, load};
use benchd_engine::{Endpoint, Plan, PlanError, Stop, TlsOptions, run};
use benchd_model::Outcome;
use benchd_model::spec::TlsVersion;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ResolvesServerCertUsingSni};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;

const TLS12: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
const TLS13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// An authority that tests trust by its PEM.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        Self::named("ours")
    }

    fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for `names`, as `change` wants it.
    fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity::new(certificate.der(), &key)
    }
}

struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn new(der: &[u8], key: &KeyPair) -> Self {
        let chain = vec![CertificateDer::from(der.to_vec())];
        Self { chain, key: PrivateKeyDer::try_from(key.serialize_der()).unwrap() }
    }

    fn serve(self, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        let Self { chain, key } = self;
        settings(versions).with_no_client_auth().with_single_cert(chain, key).unwrap()
    }
}

fn settings(
    versions: &[&'static SupportedProtocolVersion],
) -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap()
}

/// Answers over TLS as `config` says.
fn server(config: ServerConfig) -> Server {
    let config = Arc::new(config);
    Server::start(move |peer| answer_over_tls(config.clone(), peer.stream))
}

/// One answer, and the end of the connection.
fn answer_over_tls(config: Arc<ServerConfig>, stream: impl Read + Write) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    if let Ok(1..) = stream.read(&mut [0; 4096]) {
        let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc";
        stream.write_all(answer).ok();
        stream.conn.send_close_notify();
        stream.flush().ok();
    }
}

/// Ten requests for `https://localhost`, each with a connection of its own.
fn load_tls(server: &Server, change: impl FnOnce(&mut Plan)) -> Measured {
    load(server.address, |plan| {
        plan.url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
        plan.keepalive = false;
        change(plan);
    })
}

#[test]
fn a_certificate_is_trusted_for_the_sake_of_its_issuer_alone() {
    let (ours, other) = (Authority::new(), Authority::named("other"));
    let server = server(ours.issue(&["localhost"], |_| {}).serve(rustls::ALL_VERSIONS));
    let bundle = format!("{}{}", other.pem(), ours.pem());
    load_tls(&server, |plan| plan.tls.ca = Some(bundle)).all(Outcome::Ok, 10);
    let run = load_tls(&server, |plan| plan.tls.ca = Some(other.pem()));
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("unknown issuer"), "{}", run.reasons());
    assert!(run.reasons().contains("--ca-file"), "{}", run.reasons());
    let pretender = Authority::new();
    let run = load_tls(&server, |plan| plan.tls.ca = Some(pretender.pem()));
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("another of that name"), "{}", run.reasons());
}

#[test]
fn what_is_wrong_with_a_certificate_is_told() {
    let authority = Authority::new();
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2001, 2, 3);
    let unborn = |params: &mut CertificateParams| params.not_before = date_time_ymd(4001, 2, 3);
    for (identity, words) in [
        (
            authority.issue(&["shop.example", "www.shop.example"], |_| {}),
            "not for localhost: it is for shop.example, www.shop.example",
        ),
        (authority.issue(&["localhost"], expired), "expired at 2001-02-03T00:00:00.000Z"),
        (authority.issue(&["localhost"], unborn), "valid only from 4001-02-03T00:00:00.000Z"),
    ] {
        let server = server(identity.serve(rustls::ALL_VERSIONS));
        let run = load_tls(&server, |plan| plan.tls.ca = Some(authority.pem()));
        run.all(Outcome::Tls, 10);
        assert!(
            run.end.failure_reasons.keys().all(|told| told.contains(words)),
            "{}",
            run.reasons()
        );
        load_tls(&server, |plan| plan.tls.insecure = true).all(Outcome::Ok, 10);
    }
}

#[test]
fn a_self_signed_authority_s_own_certificate_is_told_apart() {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let server = server(Identity::new(certificate.der(), &key).serve(rustls::ALL_VERSIONS));
    let run = load_tls(&server, |_| {});
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("self-signed"), "{}", run.reasons());
}

#[test]
fn a_server_that_knows_no_such_name_refuses_in_its_own_words() {
    let authority = Authority::new();
    let Identity { chain, key } = authority.issue(&["shop.example"], |_| {});
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let mut by_name = ResolvesServerCertUsingSni::new();
    by_name.add("shop.example", CertifiedKey::new(chain, key)).unwrap();
    let config = settings(rustls::ALL_VERSIONS).with_no_client_auth();
    let server = server(config.with_cert_resolver(Arc::new(by_name)));
    let named = |plan: &mut Plan, host: &str| {
        plan.url = format!("https://{host}/").parse().unwrap();
        plan.tls.ca = Some(authority.pem());
    };
    load_tls(&server, |plan| named(plan, "shop.example")).all(Outcome::Ok, 10);
    let run = load_tls(&server, |plan| named(plan, "other.example"));
    run.all(Outcome::Tls, 10);
    assert!(run.reasons().contains("refused us with TLS alert access_denied"), "{}", run.reasons());
}

#[test]
fn tls_is_spoken_over_a_socket_in_the_file_system() {
    let authority = Authority::new();
    let config = Arc::new(authority.issue(&["localhost"], |_| {}).serve(rustls::ALL_VERSIONS));
    let path = std::env::temp_dir().join(format!("benchd-tls-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            answer_over_tls(config.clone(), stream);
        }
    });
    let run = load("127.0.0.1:9".parse().unwrap(), |plan| {
        plan.url = "https://localhost/".parse().unwrap();
        plan.endpoints = vec![Endpoint::Unix(path.clone())];
        plan.tls.ca = Some(authority.pem());
        plan.preconnect = false;
    });
    std::fs::remove_file(&path).unwrap();
    run.all(Outcome::Ok, 10);
    assert_eq!(run.total.tls.len(), 10);
}

#[test]
fn the_lowest_version_is_kept_to() {
    let authority = Authority::new();
    for (served, least, works) in [
        (TLS12, TlsVersion::V1_2, true),
        (TLS12, TlsVersion::V1_3, false),
        (TLS13, TlsVersion::V1_2, true),
        (TLS13, TlsVersion::V1_3, true),
    ] {
        let server = server(authority.issue(&["localhost"], |_| {}).serve(served));
        let run = load_tls(&server, |plan| {
            (plan.tls.ca, plan.tls.min_version) = (Some(authority.pem()), least);
        });
        run.all(if works { Outcome::Ok } else { Outcome::Tls }, 10);
        assert!(works || run.reasons().contains("--tls-min"), "{}", run.reasons());
    }
}

#[test]
fn handshakes_are_full_unless_resumption_is_asked_for_and_offered() {
    let authority = Authority::new();
    for versions in [TLS12, TLS13] {
        for (offered, asked, resumed) in
            [(true, true, 9), (true, false, 0), (false, true, 0), (false, false, 0)]
        {
            let mut config = authority.issue(&["localhost"], |_| {}).serve(versions);
            if !offered {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            let run = load_tls(&server(config), |plan| {
                (plan.tls.ca, plan.tls.resumption) = (Some(authority.pem()), asked);
            });
            run.all(Outcome::Ok, 10);
            let counts = run.total.connections;
            let told = (counts.tls_full, counts.tls_resumed, run.total.tls.len());
            assert_eq!(told, (10 - resumed, resumed, 10), "{versions:?}, {offered}, {asked}");
        }
    }
}

#[test]
fn many_connections_have_a_ticket_each() {
    let authority = Authority::new();
    let mut config = authority.issue(&["localhost"], |_| {}).serve(TLS13);
    config.session_storage = rustls::server::ServerSessionMemoryCache::new(10_000);
    let run = load_tls(&server(config), |plan| {
        (plan.tls.ca, plan.tls.resumption) = (Some(authority.pem()), true);
        (plan.connections, plan.requests) = (40, Some(400));
    });
    run.all(Outcome::Ok, 400);
    let counts = run.total.connections;
    assert_eq!(counts.tls_full + counts.tls_resumed, 400);
    // Only the first of each can find no ticket.
    assert!(counts.tls_full <= 40, "{counts:?}");
}

#[test]
fn what_vouches_for_nothing_is_refused_before_the_run() {
    let server = Server::answering("");
    let mut plan = crate::support::plan(server.address);
    plan.url = "https://localhost/".parse().unwrap();
    plan.tls = TlsOptions { ca: Some("none".into()), ..TlsOptions::default() };
    let refused = run(&plan, &Stop::default(), &mut |_| {}).unwrap_err();
    let told = PlanError::Tls(String::new()).to_string();
    assert!(refused.to_string().starts_with(&told), "{refused}");
    assert!(refused.to_string().contains("no certificate"), "{refused}");
}
