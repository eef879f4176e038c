//! Reading a job's target.

use super::TargetSpec;
use super::addresses::{self, check_unix_socket};
use super::fields::{Choices, Errors, Fields};
use super::tls::{TlsSpec, TlsVersion, certificates};
use serde_json::Value;
use url::Url;

const VERSIONS: Choices<TlsVersion> = &[("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];

/// The target: a registered one's name, or its fields.
pub(super) fn target(
    value: Option<&Value>,
    named: &dyn Fn(&str) -> Option<TargetSpec>,
    errors: &mut Errors,
) -> TargetSpec {
    match value {
        None => errors.add(
            "/target",
            "is missing: give a URL under target.url, or a registered target's name",
        ),
        Some(Value::String(name)) => {
            if let Some(target) = named(name) {
                return target;
            }
            errors.add("/target", &unregistered(name));
        }
        Some(object) => return described(object, named, errors),
    }
    TargetSpec::default()
}

/// A target with fields of its own, over those of the registered one when it
/// is given by name and not by URL.
fn described(
    object: &Value,
    named: &dyn Fn(&str) -> Option<TargetSpec>,
    errors: &mut Errors,
) -> TargetSpec {
    let Some(mut fields) = Fields::of(object, "/target", errors) else {
        return TargetSpec::default();
    };
    let name = fields.text("name", errors);
    let registered = name.as_deref().and_then(named);
    if name.is_some() && registered.is_none() {
        errors.add("/target/name", "is no registered target");
    }
    let url = fields.text("url", errors);
    if let Some(url) = &url {
        check_url("/target/url", url, errors);
    } else if !fields.had("url") && name.is_none() {
        errors.add("/target/url", "is missing: give an http or https URL");
    }
    let mut base = registered.filter(|_| url.is_none()).unwrap_or_default();
    let insecure = fields.flag("insecure", base.insecure, errors);
    if insecure {
        // Who accepts every certificate asks no issuer.
        base.tls.ca = None;
    }
    let target = TargetSpec {
        name,
        url: url.unwrap_or(base.url),
        stub_status: fields.text("stub_status", errors).or(base.stub_status),
        insecure,
        tls: fields.take("tls").map_or(base.tls, |value| tls(value, errors)),
        resolve: addresses::resolve(&mut fields, errors).unwrap_or(base.resolve),
        unix_socket: fields.text("unix_socket", errors).or(base.unix_socket),
    };
    fields.refuse_rest(errors);
    if let Some(url) = &target.stub_status {
        check_url("/target/stub_status", url, errors);
        if url.starts_with("https:") {
            errors.add("/target/stub_status", "is polled over http only: give an http URL");
        }
    }
    if let Some(path) = &target.unix_socket {
        if let Err(why) = check_unix_socket(path) {
            errors.add("/target/unix_socket", &why);
        }
        if !target.resolve.is_empty() {
            errors.add("/target/resolve", "stands beside target.unix_socket: give one of the two");
        }
    }
    refuse_idle_tls(object, &target.url, errors);
    target
}

/// What `object` says of TLS must mean something for `url`.
fn refuse_idle_tls(object: &Value, url: &str, errors: &mut Errors) {
    let given = |field: &str| {
        let value = object.pointer(field);
        value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    };
    if Url::parse(url).is_ok_and(|url| url.scheme() == "http") {
        for field in ["/insecure", "/tls/ca", "/tls/min_version", "/tls/resumption"] {
            if given(field) {
                let why = "is about TLS, and the URL is http: give an https URL, or leave it out";
                errors.add(&format!("/target{field}"), why);
            }
        }
    } else if given("/insecure") && given("/tls/ca") {
        let why = "stands beside target.insecure, which accepts every certificate: give one of \
                   the two";
        errors.add("/target/tls/ca", why);
    }
}

fn tls(value: &Value, errors: &mut Errors) -> TlsSpec {
    let Some(mut fields) = Fields::of(value, "/target/tls", errors) else {
        return TlsSpec::default();
    };
    let tls = TlsSpec {
        ca: fields.text("ca", errors),
        min_version: fields.choice("min_version", VERSIONS, errors).unwrap_or_default(),
        resumption: fields.flag("resumption", false, errors),
    };
    fields.refuse_rest(errors);
    if let Some(Err(why)) = tls.ca.as_deref().map(certificates) {
        errors.add("/target/tls/ca", &why);
    }
    tls
}

fn unregistered(name: &str) -> String {
    let url = if name.contains("://") { name.to_owned() } else { format!("http://{name}/") };
    let told = format!("{name:?} is no registered target");
    match Url::parse(&url) {
        Ok(_) if !url.contains(['"', '\\']) => {
            format!("{told}: write {{\"url\": \"{url}\"}}, or register it")
        }
        _ => format!("{told}: register it, or give a URL under target.url"),
    }
}

fn check_url(pointer: &str, text: &str, errors: &mut Errors) {
    let example = "such as http://127.0.0.1:8080/";
    match Url::parse(text) {
        Err(_) if text.trim().is_empty() => {
            errors.add(pointer, &format!("is empty: give an http or https URL {example}"));
        }
        Err(_) if text.contains("[") && text.contains('%') => {
            errors.add(
                pointer,
                &format!("{text:?} has a zone: link-local addresses are never loaded"),
            );
        }
        Err(why) => errors.add(pointer, &format!("{text:?} is no URL ({why}): give one {example}")),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            errors.add(
                pointer,
                &format!("scheme {:?} is not supported: give an http or https URL", url.scheme()),
            );
        }
        Ok(url) if url.host_str().is_none_or(str::is_empty) => {
            errors.add(pointer, &format!("{text:?} has no host: give a URL {example}"));
        }
        Ok(url) if url.port() == Some(0) => {
            errors.add(pointer, "port 0 is no port: a port runs from 1 to 65535");
        }
        Ok(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JobSpec, TargetSpec, TlsSpec, TlsVersion};
    use serde_json::{Value, json};

    fn parse(target: &Value, load: &Value) -> Result<JobSpec, Vec<(String, String)>> {
        let named = |name: &str| {
            (name == "shop").then(|| TargetSpec {
                name: Some("shop".into()),
                url: "https://shop.internal/".into(),
                unix_socket: Some("/run/shop.sock".into()),
                ..TargetSpec::default()
            })
        };
        JobSpec::parse(&json!({"target": target, "load": load}), &named)
            .map_err(|errors| errors.into_iter().map(|e| (e.pointer, e.detail)).collect())
    }

    fn target(target: Value) -> Result<TargetSpec, Vec<(String, String)>> {
        parse(&target, &json!({})).map(|spec| spec.target)
    }

    #[test]
    fn addressing_and_tls_are_read_and_can_be_posted_again() {
        let whole = json!({"url": "https://h/", "insecure": true,
            "tls": {"min_version": "1.3", "resumption": true}, "resolve": ["127.0.0.1", "::1"]});
        let spec = parse(&whole, &json!({"source_addresses": ["127.0.0.2", "127.0.0.3"]})).unwrap();
        assert_eq!(spec.target.tls.min_version, TlsVersion::V1_3);
        assert_eq!((spec.target.resolve.len(), spec.load.source_addresses.len()), (2, 2));
        let shown = serde_json::to_value(&spec).unwrap();
        assert_eq!(shown["target"]["tls"]["min_version"], "1.3");
        assert_eq!(JobSpec::parse(&shown, &|_| None).unwrap(), spec);
        assert_eq!(serde_json::from_value::<JobSpec>(shown).unwrap(), spec);
    }

    #[test]
    fn what_was_stored_before_there_were_these_fields_is_read() {
        let old = json!({"target": {"url": "http://h/", "insecure": false}});
        let spec: JobSpec = serde_json::from_value(old.clone()).unwrap();
        let shown = serde_json::to_value(&spec).unwrap();
        assert_eq!(shown["target"], old["target"], "nothing is shown that was not asked for");
    }

    #[test]
    fn a_registered_target_is_the_ground_for_what_is_said_beside_its_name() {
        let changed = target(json!({"name": "shop", "tls": {"resumption": true}})).unwrap();
        assert_eq!(changed.unix_socket.as_deref(), Some("/run/shop.sock"));
        assert_eq!(changed.url, "https://shop.internal/");
        assert!(changed.tls.resumption);
        let own = target(json!({"name": "shop", "url": "http://h/"})).unwrap();
        assert_eq!((own.url.as_str(), own.unix_socket), ("http://h/", None));
    }

    #[test]
    fn wrong_addresses_are_refused_where_they_stand() {
        for (resolve, pointer, words) in [
            (json!(["127.0.0.1:80"]), "/target/resolve/0", "has a port"),
            (json!(["::1", "[::2]"]), "/target/resolve/1", "write ::2"),
            (json!(["fe80::1%eth0"]), "/target/resolve/0", "never loaded"),
            (json!(["localhost"]), "/target/resolve/0", "no IP address"),
            (json!([7]), "/target/resolve/0", "no string"),
            (json!("127.0.0.1"), "/target/resolve", "no list"),
            (json!(["::1", "::1"]), "/target/resolve", "twice"),
        ] {
            let errors = target(json!({"url": "http://h/", "resolve": resolve})).unwrap_err();
            assert_eq!((errors.len(), errors[0].0.as_str()), (1, pointer), "{errors:?}");
            assert!(errors[0].1.contains(words), "{errors:?}");
        }
        for (sources, words) in [
            (json!(["127.0.0.1", "::1"]), "IPv4 and IPv6"),
            (json!(["0.0.0.0"]), "no address of this host"),
            (json!(["224.0.0.1"]), "no address of this host"),
            (json!(["eth0"]), "no IP address"),
        ] {
            let load = json!({"source_addresses": sources});
            let errors = parse(&json!({"url": "http://h/"}), &load).unwrap_err();
            assert!(errors[0].0.starts_with("/load/source_addresses"), "{errors:?}");
            assert!(errors[0].1.contains(words), "{errors:?}");
        }
        let zone = target(json!({"url": "http://[fe80::1%25eth0]/"})).unwrap_err();
        assert!(zone[0].1.contains("never loaded"), "{zone:?}");
    }

    #[test]
    fn a_socket_has_an_absolute_path_that_fits_and_the_target_to_itself() {
        let socket = |path: &str| target(json!({"url": "http://h/", "unix_socket": path}));
        assert!(socket(&format!("/{}", "a".repeat(106))).is_ok());
        for (path, words) in [
            (format!("/{}", "a".repeat(107)), "is 108 bytes long"),
            ("run/x.sock".to_owned(), "write one such as"),
            (String::new(), "write one such as"),
            ("/run/".to_owned(), "write one such as"),
            ("/run/x\u{0}".to_owned(), "control character"),
        ] {
            let errors = socket(&path).unwrap_err();
            assert_eq!(errors[0].0, "/target/unix_socket");
            assert!(errors[0].1.contains(words), "{errors:?}");
        }
        let both = json!({"url": "http://h/", "unix_socket": "/s", "resolve": ["::1"]});
        assert_eq!(target(both).unwrap_err()[0].0, "/target/resolve");
        let load = json!({"source_addresses": ["127.0.0.2"]});
        for over in [json!("shop"), json!({"url": "http://h/", "unix_socket": "/s"})] {
            assert_eq!(parse(&over, &load).unwrap_err()[0].0, "/load/source_addresses");
        }
    }

    #[test]
    fn tls_is_refused_where_it_is_wrong() {
        let tls = json!({"ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
            "min_version": "1.1", "resumption": "yes", "cipher": "x"});
        let errors = target(json!({"url": "https://h/", "tls": tls})).unwrap_err();
        let pointers: Vec<&str> = errors.iter().map(|(pointer, _)| pointer.as_str()).collect();
        let at = |field: &str| format!("/target/tls/{field}");
        assert_eq!(
            pointers,
            [at("min_version"), at("resumption"), at("cipher"), at("ca")],
            "{errors:?}"
        );
        assert!(errors[0].1.contains(r#"one of "1.2", "1.3""#), "{errors:?}");
    }

    #[test]
    fn what_is_said_of_tls_means_something() {
        let ca = "-----BEGIN CERTIFICATE-----";
        let said = [
            ("insecure", json!({"insecure": true})),
            ("tls/ca", json!({"tls": {"ca": ca}})),
            ("tls/min_version", json!({"tls": {"min_version": "1.2"}})),
            ("tls/resumption", json!({"tls": {"resumption": true}})),
        ];
        for (field, said) in said {
            let mut over = said.clone();
            over["url"] = json!("HTTP://h/");
            let errors = target(over).unwrap_err();
            let pointer = format!("/target/{field}");
            let found = errors.iter().find(|(at, why)| *at == pointer && why.contains("https URL"));
            assert!(found.is_some(), "{field}: {errors:?}");
        }
        let no = json!({"url": "http://h/", "insecure": false, "tls": {"resumption": false}});
        assert!(target(no).is_ok());
        let both = json!({"url": "https://h/", "insecure": true, "tls": {"ca": ca}});
        let errors = target(both).unwrap_err();
        assert!(errors.iter().any(|(_, why)| why.contains("beside target.insecure")), "{errors:?}");
    }

    #[test]
    fn whoever_accepts_every_certificate_asks_no_issuer_of_the_registered_target() {
        let named = |_: &str| {
            let tls = TlsSpec { ca: Some("PEM".into()), ..TlsSpec::default() };
            Some(TargetSpec { url: "https://h/".into(), tls, ..TargetSpec::default() })
        };
        let document = json!({"target": {"name": "shop", "insecure": true}});
        let spec = JobSpec::parse(&document, &named).unwrap();
        assert!(spec.target.insecure && spec.target.tls.ca.is_none());
    }

    #[test]
    fn sources_lead_to_addresses_that_stand_in_the_document() {
        for (target, source, right) in [
            (json!({"url": "http://127.0.0.1/"}), "::1", false),
            (json!({"url": "http://[::1]/"}), "127.0.0.2", false),
            (json!({"url": "http://h/", "resolve": ["::1"]}), "127.0.0.2", false),
            (json!({"url": "http://h/", "resolve": ["::1", "127.0.0.1"]}), "127.0.0.2", true),
            (json!({"url": "http://127.0.0.1/", "resolve": ["::1"]}), "::1", true),
            (json!({"url": "http://h/"}), "::1", true),
        ] {
            let parsed = parse(&target, &json!({"source_addresses": [source]}));
            assert_eq!(parsed.is_ok(), right, "{target} {source}");
            if let Err(errors) = parsed {
                assert_eq!(errors[0].0, "/load/source_addresses/0");
                assert!(errors[0].1.contains("the target has no IPv"), "{errors:?}");
            }
        }
    }

    #[test]
    fn jobs_over_a_socket_or_to_loopback_load_this_host() {
        let host = |target: Value| parse(&target, &json!({})).unwrap().target_host();
        assert_eq!(host(json!({"url": "http://h/", "unix_socket": "/s"})), "localhost");
        assert_eq!(host(json!({"url": "http://h/", "resolve": ["127.0.0.2"]})), "localhost");
        assert_eq!(host(json!({"url": "http://h/", "resolve": ["10.0.0.1"]})), "h");
    }
}
