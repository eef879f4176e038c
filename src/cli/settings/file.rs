//! `benchd.toml`: which file is read, and what is in it.

use benchd_model::policy::RegisteredTarget;
use benchd_model::spec::{TlsSpec, certificates, check_unix_socket};
use serde::Deserialize as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const USUAL_FILE: &str = "benchd.toml";

#[derive(Default)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) defaults: toml::Table,
    pub(super) targets: Vec<RegisteredTarget>,
}

pub(super) fn read(args: &[OsString]) -> Result<File, String> {
    let Some(path) = chosen(args) else { return Ok(File::default()) };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse(&path, &text)
}

/// The file named by `--config`, by `BENCHD_CONFIG`, or the usual one when it
/// exists. Read before clap, since its content shapes clap's defaults.
fn chosen(args: &[OsString]) -> Option<PathBuf> {
    let typed = args.iter().enumerate().find_map(|(index, arg)| {
        let text = arg.to_str()?;
        if text == "--config" {
            return args.get(index + 1).map(PathBuf::from);
        }
        text.strip_prefix("--config=").map(PathBuf::from)
    });
    typed
        .or_else(|| std::env::var_os("BENCHD_CONFIG").filter(|v| !v.is_empty()).map(PathBuf::from))
        .or_else(|| Path::new(USUAL_FILE).exists().then(|| PathBuf::from(USUAL_FILE)))
}

pub(super) fn parse(path: &Path, text: &str) -> Result<File, String> {
    let wrong = |why: String| format!("{}: {why}", path.display());
    let mut table: toml::Table =
        text.parse().map_err(|why: toml::de::Error| wrong(words(&why, text)))?;
    let targets = match table.remove("targets") {
        None => Vec::new(),
        Some(value) => Vec::<RegisteredTarget>::deserialize(value)
            .map_err(|why| wrong(format!("[[targets]]: {}", why.message())))?,
    };
    for (index, target) in targets.iter().enumerate() {
        check_target(target, &targets[..index])
            .map_err(|why| wrong(format!("[[targets]] {:?}: {why}", target.name)))?;
    }
    Ok(File { path: path.to_owned(), defaults: table, targets })
}

/// What is wrong and where, without the line itself: it may hold a token.
fn words(why: &toml::de::Error, text: &str) -> String {
    let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, why.message())
}

fn check_target(target: &RegisteredTarget, earlier: &[RegisteredTarget]) -> Result<(), String> {
    if target.name.trim().is_empty() {
        return Err("the name is empty: jobs call the target by it".to_owned());
    }
    if earlier.iter().any(|other| other.name == target.name) {
        return Err("the name is given twice: each target has its own".to_owned());
    }
    if let Some(path) = &target.unix_socket {
        check_unix_socket(path).map_err(|why| format!("unix_socket {why}"))?;
        if !target.resolve.is_empty() {
            return Err("resolve stands beside unix_socket: give one of the two".to_owned());
        }
    }
    if let Some(ca) = &target.tls.ca {
        certificates(ca).map_err(|why| format!("tls.ca {why}"))?;
    }
    let urls = [("url", Some(&target.url)), ("stub_status", target.stub_status.as_ref())];
    for (key, text) in urls {
        let Some(text) = text else { continue };
        // Without its text, which may hold a password.
        let url = url::Url::parse(text).map_err(|why| format!("{key} is no URL: {why}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{key} is neither http nor https"));
        }
        if key == "url" && url.scheme() == "http" && target.tls != TlsSpec::default() {
            return Err("tls is set, and the url is http: give an https URL".to_owned());
        }
        if key == "stub_status" && url.scheme() == "https" {
            return Err("stub_status is polled over http only: give an http URL".to_owned());
        }
    }
    Ok(())
}
