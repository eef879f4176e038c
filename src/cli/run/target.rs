//! The target of a job document: where the load goes, and by which way.

use super::document::{drop_empty, put, section};
use crate::args::{RunArgs, TargetArgs};
use crate::exit::{Exit, Stop};
use anyhow::Context as _;
use serde_json::{Map, Value, json};
use std::path::Path;
use url::{Host, Url};

/// Puts what the arguments say of the target over what the document says.
pub(super) fn set(root: &mut Map<String, Value>, args: &RunArgs) -> anyhow::Result<()> {
    let (typed, flags) = (args.url.as_deref(), fields(&args.target)?);
    let is_name = |text: &str| !text.trim().is_empty() && !text.contains([':', '/', '.']);
    let name = match typed {
        Some(text) => is_name(text).then(|| json!(text)),
        None => root.get("target").filter(|target| target.is_string()).cloned(),
    };
    if let Some(name) = name {
        refuse_resolve_of_name(&args.target)?;
        let target = if flags.is_empty() { name } else { named(&name, flags) };
        root.insert("target".to_owned(), target);
        return Ok(());
    }
    let target = section(root, "target");
    target.extend(flags);
    match typed.map(split_socket) {
        Some((Some(path), url)) => {
            if target.contains_key("unix_socket") {
                let message = "--unix-socket stands beside a unix: target: give one of the two";
                return Err(Stop::error(Exit::Usage, message));
            }
            put(target, "unix_socket", Some(path));
            put(target, "url", Some(url));
        }
        Some((None, url)) => put(target, "url", Some(url)),
        None => {}
    }
    if args.output.server.is_none()
        && let Some(path) = target.get("unix_socket").and_then(Value::as_str)
        && !path.is_empty()
    {
        let path = std::path::absolute(path).context("--unix-socket")?;
        put(target, "unix_socket", Some(path.to_string_lossy()));
    }
    set_resolve(target, &args.target.resolve)?;
    drop_empty(root, "target");
    Ok(())
}

/// The fields that flags give, but for those that need the URL.
fn fields(args: &TargetArgs) -> anyhow::Result<Map<String, Value>> {
    let mut target = Map::new();
    put(&mut target, "stub_status", args.stub_status.as_deref());
    put(&mut target, "insecure", args.insecure.then_some(true));
    put(&mut target, "unix_socket", args.unix_socket.as_deref());
    let tls = section(&mut target, "tls");
    put(tls, "ca", args.ca_file.as_deref().map(read_ca).transpose()?);
    put(tls, "min_version", args.tls_min.as_deref());
    put(tls, "resumption", args.tls_resumption.then_some(true));
    drop_empty(&mut target, "tls");
    Ok(target)
}

/// A registered target by name, with fields over its own.
fn named(name: &Value, mut fields: Map<String, Value>) -> Value {
    fields.insert("name".to_owned(), name.clone());
    Value::Object(fields)
}

fn read_ca(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path)
        .with_context(|| format!("--ca-file: cannot read {}", path.display()))?;
    String::from_utf8(bytes).map_err(|_| {
        let message = format!(
            "--ca-file: {} is no text: certificates stand there in PEM, and `openssl x509 -inform \
             der -in FILE` makes it of DER",
            path.display()
        );
        Stop::error(Exit::Usage, message)
    })
}

/// True for a target that is a socket in the file system.
pub(super) fn is_socket(text: &str) -> bool {
    split_socket(text).0.is_some()
}

/// `unix:/path[:/uri]`, as nginx writes it, with or without a scheme before it,
/// is a path and a URL of localhost; so is `unix:///path`.
fn split_socket(text: &str) -> (Option<String>, String) {
    let schemes = text.split_once("://").filter(|(scheme, _)| *scheme != "unix");
    let (scheme, rest) = schemes.unwrap_or(("http", text));
    let Some(rest) = rest.strip_prefix("unix:") else { return (None, with_scheme(text)) };
    // Two slashes are a URL's, whose path begins with the third.
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, uri) = match rest.split_once(":/") {
        Some((path, uri)) => (path, uri),
        None => (rest.trim_end_matches(':'), ""),
    };
    (Some(path.to_owned()), format!("{scheme}://localhost/{uri}"))
}

/// `127.0.0.1:8080/x` is what people type; they mean http.
fn with_scheme(url: &str) -> String {
    if url.contains("://") || url.trim().is_empty() {
        url.to_owned()
    } else {
        format!("http://{url}")
    }
}

fn refuse_resolve_of_name(args: &TargetArgs) -> anyhow::Result<()> {
    if args.resolve.is_empty() {
        return Ok(());
    }
    let message = "--resolve goes with a URL: the addresses of a registered target stand in its \
                   `resolve` in benchd.toml";
    Err(Stop::error(Exit::Usage, message))
}

fn set_resolve(target: &mut Map<String, Value>, entries: &[String]) -> anyhow::Result<()> {
    let url = target.get("url").and_then(Value::as_str);
    // What is no URL is refused as that.
    let Some(url) = url.and_then(|url| Url::parse(url).ok()) else { return Ok(()) };
    let mut addresses = Vec::new();
    for entry in entries {
        let given = resolved(entry, &url)
            .map_err(|why| Stop::error(Exit::Usage, format!("--resolve {entry:?} {why}")))?;
        addresses.extend(given);
    }
    if !addresses.is_empty() {
        put(target, "resolve", Some(addresses));
    }
    Ok(())
}

/// The addresses in curl's `HOST:PORT:ADDRESS[,ADDRESS]`, which must be about
/// the host and port of `url`.
fn resolved(entry: &str, url: &Url) -> Result<Vec<String>, String> {
    let asked = format!(
        "{}:{}",
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default()
    );
    let malformed = || format!("is no HOST:PORT:ADDRESS[,ADDRESS]: write {asked}:127.0.0.1");
    // An IPv6 host holds colons of its own, in brackets.
    let end = if entry.starts_with('[') { entry.find(']').ok_or_else(malformed)? } else { 0 };
    let colon = end + entry[end..].find(':').ok_or_else(malformed)?;
    let (host, rest) = (&entry[..colon], &entry[colon + 1..]);
    let (port, addresses) = rest.split_once(':').ok_or_else(malformed)?;
    let port: u16 = port.parse().map_err(|_| malformed())?;
    let host = Host::parse(host).map_err(|_| malformed())?;
    if addresses.trim().is_empty() {
        return Err(malformed());
    }
    if Some(host.to_string().as_str()) != url.host_str()
        || Some(port) != url.port_or_known_default()
    {
        return Err(format!("is about {host}:{port}, and the URL asks for {asked}"));
    }
    let bare = |address: &str| match address.strip_prefix('[').and_then(|a| a.strip_suffix(']')) {
        Some(bare) => bare.to_owned(),
        None => address.to_owned(),
    };
    Ok(addresses.split(',').map(|address| bare(address.trim())).collect())
}

#[cfg(test)]
mod tests {
    use super::resolved;
    use crate::args::{Cli, Command};
    use crate::run::document::build;
    use clap::Parser as _;
    use serde_json::{Value, json};
    use url::Url;

    fn target(line: &str) -> Result<Value, String> {
        match Cli::try_parse_from(line.split(' ')).map_err(|why| why.to_string())?.command {
            Command::Run(args) => match build(&args) {
                Ok(document) => Ok(document["target"].clone()),
                Err(why) => Err(why.to_string()),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_scheme_is_added_and_a_bare_word_is_a_registered_name() {
        for (line, expected) in [
            ("benchd run 127.0.0.1:80/x", json!({"url": "http://127.0.0.1:80/x"})),
            ("benchd run shop", json!("shop")),
            ("benchd run shop --insecure", json!({"name": "shop", "insecure": true})),
            ("benchd run ", json!({"url": ""})),
        ] {
            assert_eq!(target(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn a_socket_stands_in_the_url_or_beside_it() {
        let over = |url: &str| json!({"url": url, "unix_socket": "/run/x.sock"});
        for (line, expected) in [
            ("benchd run unix:/run/x.sock", over("http://localhost/")),
            ("benchd run unix:/run/x.sock:/a?b=c:/d", over("http://localhost/a?b=c:/d")),
            ("benchd run http://unix:/run/x.sock:/", over("http://localhost/")),
            ("benchd run unix:///run/x.sock", over("http://localhost/")),
            ("benchd run unix:///run/x.sock:/a", over("http://localhost/a")),
            ("benchd run https://unix:/run/x.sock:/a", over("https://localhost/a")),
            ("benchd run http://shop/a --unix-socket /run/x.sock", over("http://shop/a")),
        ] {
            assert_eq!(target(line).unwrap(), expected, "{line}");
        }
        let here = target("benchd run unix:x.sock:/").unwrap();
        let absolute = std::path::absolute("x.sock").unwrap();
        assert_eq!(here["unix_socket"], absolute.to_string_lossy().into_owned());
        let there = target("benchd run unix:x.sock:/ --server http://s:1").unwrap();
        assert_eq!(there["unix_socket"], "x.sock");
        let both = target("benchd run unix:/a --unix-socket /b").unwrap_err();
        assert!(both.contains("one of the two"), "{both}");
    }

    #[test]
    fn tls_flags_become_one_object() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-----BEGIN").unwrap();
        let path = file.path().display();
        let line = format!("benchd run https://h/ --ca-file {path} --tls-min 1.3 --tls-resumption");
        let tls = json!({"ca": "-----BEGIN", "min_version": "1.3", "resumption": true});
        assert_eq!(target(&line).unwrap()["tls"], tls);
        std::fs::write(file.path(), [0x30, 0x82, 0xff]).unwrap();
        assert!(target(&line).unwrap_err().contains("no text"));
        let missing = target("benchd run https://h/ --ca-file /nonexistent/x").unwrap_err();
        assert!(missing.contains("--ca-file: cannot read /nonexistent/x"), "{missing}");
    }

    #[test]
    fn addresses_are_given_in_curl_s_form_for_the_url_s_host() {
        let resolve = |line: &str| target(line).map(|target| target["resolve"].clone());
        let line =
            "benchd run http://Shop:81/ --resolve shop:81:127.0.0.1,[::1] --resolve SHOP:81:::2";
        assert_eq!(resolve(line).unwrap(), json!(["127.0.0.1", "::1", "::2"]));
        let literal = Url::parse("https://[::1]/").unwrap();
        assert_eq!(resolved("[::1]:443:127.0.0.1", &literal).unwrap(), ["127.0.0.1"]);
        for (entry, words) in [
            ("127.0.0.1", "write shop:81:127.0.0.1"),
            ("shop:127.0.0.1", "write shop:81:127.0.0.1"),
            ("shop:81:", "write shop:81:127.0.0.1"),
            ("shop:x:127.0.0.1", "write shop:81:127.0.0.1"),
            ("[::1:81:127.0.0.1", "write shop:81:127.0.0.1"),
            ("*:81:127.0.0.1", "is about *:81, and the URL asks for shop:81"),
            ("shop:80:127.0.0.1", "is about shop:80, and the URL asks for shop:81"),
            ("other:81:127.0.0.1", "is about other:81, and the URL asks for shop:81"),
        ] {
            let refusal = resolve(&format!("benchd run http://shop:81/ --resolve {entry}"));
            let refusal = refusal.unwrap_err();
            assert!(refusal.contains(words), "{entry}: {refusal}");
        }
        assert!(
            resolve("benchd run shop --resolve shop:80:::1").unwrap_err().contains("benchd.toml")
        );
    }
}
