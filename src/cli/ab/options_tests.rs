//! ab's option rules, as ab 2.4.71 was seen to follow them.

use super::{Command, Options, TlsVersion, Wrong, parse};
use std::ffi::OsString;
use std::time::Duration;

fn command(line: &[&str]) -> Result<Command, Wrong> {
    let args: Vec<OsString> = line.iter().map(OsString::from).collect();
    parse(&args)
}

fn options(line: &str) -> Result<Options, Wrong> {
    match command(&line.split_whitespace().collect::<Vec<_>>())? {
        Command::Run(options) => Ok(*options),
        other => panic!("{other:?}"),
    }
}

fn code(line: &str) -> u8 {
    options(line).unwrap_err().code
}

#[test]
fn nothing_but_a_url_is_one_request_without_keep_alive() {
    let options = options("127.0.0.1/").unwrap();
    assert_eq!((options.requests, options.concurrency, options.keepalive), (1, 1, false));
    assert_eq!(options.timeout, Duration::from_secs(30));
    assert_eq!(options.method, "GET");
    assert!(options.percentiles && options.confidence && options.headers.is_empty());
}

#[test]
fn a_time_limit_means_50000_requests_unless_n_comes_later() {
    assert_eq!(options("-n 2 -t 1 h/").unwrap().requests, 50_000);
    assert_eq!(options("-t 1 -n 2 h/").unwrap().requests, 2);
    assert_eq!(options("-t5 h/").unwrap().time_limit, Some(Duration::from_secs(5)));
    assert_eq!(options("-t 0 h/").unwrap().time_limit, None);
}

#[test]
fn errors_have_abs_exit_codes() {
    for line in
        ["", "a/ b/", "-Q h/", "-n", "-c 0 h/", "-c 200001 -n 300000 h/", "-c 5 -n 2 h/", "h"]
    {
        let wrong = options(line).unwrap_err();
        assert_eq!((wrong.code, wrong.shows_usage), (22, true), "{line}: {}", wrong.message);
    }
    for line in [
        "-n 0 h/",
        "-n x h/",
        "-n -3 h/",
        "-p /nonexistent h/",
        "-s 0 h/",
        "-H foo h/",
        "-m A:B h/",
    ] {
        assert_eq!(code(line), 1, "{line}");
    }
    for line in ["-w h/", "-X p:1 h/", "-P a:b h/", "-Z x h/", "-f TLS1 h/", "-I h/", "-b 1 h/"] {
        let wrong = options(line).unwrap_err();
        assert_eq!((wrong.code, wrong.shows_usage), (22, false), "{line}");
        assert!(wrong.message.contains("not supported, because"), "{}", wrong.message);
    }
}

#[test]
fn source_and_tls_version_are_taken_as_far_as_they_go() {
    let options_of = |line: &str| options(line).unwrap();
    assert_eq!(options_of("-B 127.0.0.2 h/").source, Some("127.0.0.2".parse().unwrap()));
    assert_eq!(options_of("-f ALL h/").tls_min, TlsVersion::V1_2);
    assert_eq!(options_of("-f tls1.3 h/").tls_min, TlsVersion::V1_3);
    assert_eq!(code("-B eth0 h/"), 1);
    for version in ["SSL2", "TLS1", "TLS1.1", "TLS1.2", "x"] {
        let wrong = options(&format!("-f {version} h/")).unwrap_err();
        assert!(wrong.message.contains("write -f TLS1.3 or -f ALL"), "{}", wrong.message);
    }
}

#[test]
fn a_body_brings_its_method_and_type_and_no_other() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [0xff, 0x00, b'a']).unwrap();
    let path = file.path().to_str().unwrap();
    let post = options(&format!("-p {path} h/")).unwrap();
    assert_eq!(
        (post.method.as_str(), post.body.as_deref()),
        ("POST", Some(&[0xff, 0x00, b'a'][..]))
    );
    assert_eq!((post.content_type, post.headers), (None, vec![]));
    let put = options(&format!("-u {path} -T a/b h/")).unwrap();
    assert_eq!((put.method.as_str(), put.content_type.as_deref()), ("PUT", Some("a/b")));
    assert_eq!(options(&format!("-p {path} -m PATCH h/")).unwrap().method, "PATCH");
    let typed = options(&format!("-p {path} -T a/b -H content-type:x/y h/")).unwrap();
    assert_eq!((typed.content_type.as_deref(), typed.headers), (Some("x/y"), vec![]));
    for (line, method) in [("-i -p", "POST"), ("-m PURGE -u", "PUT")] {
        let wrong = options(&format!("{line} {path} h/")).unwrap_err();
        assert_eq!(
            (wrong.code, wrong.message),
            (1, format!("Cannot mix {method} with other methods"))
        );
    }
    assert_eq!(code(&format!("-p {path} -i h/")), 1);
}

#[test]
fn every_cookie_is_sent_and_stands_before_authorization() {
    let args = ["-H", "X-A:  b ", "-C", "a=1", "-A", "user:pa:ss", "-C", "b=2", "h/"];
    let Ok(Command::Run(options)) = command(&args) else { panic!("a run") };
    let fields = options.before.iter().chain(&options.headers);
    let fields: Vec<String> = fields.map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(fields, ["Cookie: a=1; b=2", "Authorization: Basic dXNlcjpwYTpzcw==", "X-A: b"]);
}

#[test]
fn no_value_smuggles_a_header_line() {
    for args in [
        ["-H", "A: b\r\nC: d", "h/"],
        ["-C", "a\nB: c", "h/"],
        ["-T", "a\rb", "h/"],
        ["-m", "GET / X", "h/"],
    ] {
        assert_eq!(command(&args).unwrap_err().code, 1, "{args:?}");
    }
}

#[test]
fn help_and_version_go_before_what_follows_them() {
    assert!(matches!(command(&["-h"]), Ok(Command::Help)));
    assert!(matches!(command(&["-k", "-V", "-n", "x"]), Ok(Command::Version)));
}
