use super::{Encoding, Request};
use crate::Endpoint;
use crate::http2::hpack::{Decoder, TABLE};
use crate::plan::{Plan, PlanError};
use benchd_model::JobSpec;

fn plan(url: &str, headers: &[(&str, &str)]) -> Plan {
    let document =
        serde_json::json!({"target": {"url": "http://127.0.0.1/"}, "load": {"protocol": "h2"}});
    let spec = JobSpec::parse(&document, &|_| None).unwrap();
    let mut plan =
        Plan::from_spec(&spec, vec![Endpoint::Tcp("127.0.0.1:80".parse().unwrap())]).unwrap();
    plan.url = url.parse().unwrap();
    plan.request.headers =
        headers.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    plan
}

fn request(url: &str, headers: &[(&str, &str)]) -> Request {
    Request::new(&plan(url, headers)).unwrap()
}

/// The fields of the next request, as a server with this table reads them.
fn next(encoding: &mut Encoding, request: &Request, server: &mut Decoder) -> (String, usize) {
    let (mut fields, mut length) = (String::new(), 0);
    encoding.next(request, |block| {
        length = block.len();
        let field = |name: &[u8], value: &[u8]| {
            let text = |octets| str::from_utf8(octets).unwrap();
            fields += &format!("{}: {}\n", text(name), text(value));
        };
        server.decode(block, field).unwrap();
    });
    (fields, length)
}

fn fields(request: &Request) -> String {
    next(&mut Encoding::new(), request, &mut Decoder::new(TABLE)).0
}

const AGENT: &str = concat!("user-agent: benchd/", env!("CARGO_PKG_VERSION"), "\n");

#[test]
fn pseudo_fields_come_from_the_url() {
    let sent = fields(&request("http://u:p@[::1]:8088/a/b?c={|}#d", &[]));
    let expected = ":method: GET\n:scheme: http\n:authority: [::1]:8088\n:path: /a/b?c={|}\n";
    assert_eq!(sent, format!("{expected}{AGENT}accept: */*\nauthorization: Basic dTpw\n"));
    let sent = fields(&request("https://b\u{fc}cher.test:443/", &[("Host", "x.test")]));
    let expected = ":method: GET\n:scheme: https\n:authority: x.test\n:path: /\n";
    assert_eq!(sent, format!("{expected}{AGENT}accept: */*\n"));
    let mut plan = plan("http://h.test:80/x", &[]);
    plan.request.method = "CONNECT".into();
    let sent = fields(&Request::new(&plan).unwrap());
    assert_eq!(sent, format!(":method: CONNECT\n:authority: h.test\n{AGENT}accept: */*\n"));
}

#[test]
fn the_caller_s_fields_replace_the_defaults_and_may_repeat() {
    let sent = fields(&request("http://h.test/", &[("User-Agent", "x"), ("A", "1"), ("a", "2")]));
    assert!(sent.ends_with("user-agent: x\na: 1\na: 2\naccept: */*\n"), "{sent}");
}

#[test]
fn fields_of_an_http1_connection_are_refused() {
    for name in ["Connection", "keep-alive", "TE", "Upgrade", "Transfer-Encoding"] {
        let refused = Request::new(&plan("http://h.test/", &[(name, "x")])).unwrap_err();
        assert_eq!(refused, PlanError::NotForHttp2(name.into()));
    }
}

#[test]
fn a_body_has_a_length() {
    let mut plan = plan("http://h.test/", &[]);
    plan.request.body = b"abc".to_vec();
    let request = Request::new(&plan).unwrap();
    assert!(fields(&request).ends_with("content-length: 3\n"));
    assert_eq!(request.body, b"abc");
}

#[test]
fn all_requests_say_the_same_and_further_ones_in_indices_alone() {
    let request = request("http://h.test/a", &[("A", "1"), ("a", "2"), ("a", "2")]);
    let (mut encoding, mut server) = (Encoding::new(), Decoder::new(TABLE));
    let (first, length) = next(&mut encoding, &request, &mut server);
    assert!(length > 30);
    for _ in 0..100 {
        assert_eq!(next(&mut encoding, &request, &mut server), (first.clone(), 9));
    }
}

#[test]
fn a_smaller_table_is_announced_and_obeyed() {
    let large = "x".repeat(3000);
    let request = request("http://h.test/a", &[("a", &large)]);
    let (mut encoding, mut server) = (Encoding::new(), Decoder::new(TABLE));
    let (first, length) = next(&mut encoding, &request, &mut server);
    assert!(length > 1000);
    // Larger tables are not used, smaller ones where all fits.
    for (limit, size, announces, fits) in [
        (1 << 20, TABLE, false, true),
        (3500, 3500, true, true),
        (100, 100, true, false),
        (0, 0, true, false),
        (4096, 4096, true, true),
    ] {
        encoding.set_limit(limit);
        let before = server.table_size();
        let (sent, _) = next(&mut encoding, &request, &mut server);
        assert_eq!((sent, server.table_size()), (first.clone(), size));
        assert_eq!(before != size, announces);
        let (sent, length) = next(&mut encoding, &request, &mut server);
        assert_eq!((sent, length < 20), (first.clone(), fits));
    }
    // Two changes between requests: the smallest one is told, too.
    encoding.set_limit(10);
    encoding.set_limit(4096);
    let mut block = Vec::new();
    encoding.next(&request, |bytes| block = bytes.to_vec());
    assert!(block.starts_with(&[0x20, 0x3f, 0xe1, 0x1f]));
}
