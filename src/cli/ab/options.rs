//! What ab's options mean here, and which of them mean nothing. Reads the
//! command line and the body file; knows nothing of running.

use super::address::AbUrl;
use super::getopt::{self, Opt};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use benchd_model::spec::TlsVersion;
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// ab's largest `-c`.
const MAX_CONCURRENCY: u32 = 200_000;
/// What `-t` sets `-n` to.
const REQUESTS_IN_TIME: u64 = 50_000;

/// A run as ab's options describe it.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) url: AbUrl,
    /// `-B`: where connections come from.
    pub(super) source: Option<IpAddr>,
    /// `-f`: the lowest TLS version.
    pub(super) tls_min: TlsVersion,
    pub(super) requests: u64,
    pub(super) concurrency: u32,
    pub(super) time_limit: Option<Duration>,
    pub(super) timeout: Duration,
    pub(super) keepalive: bool,
    pub(super) method: String,
    /// Cookie and authorization, which ab writes before everything else.
    pub(super) before: Vec<(String, String)>,
    /// `-H` fields.
    pub(super) headers: Vec<(String, String)>,
    /// The type of the body; `None` for ab's `text/plain`.
    pub(super) content_type: Option<String>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) variable_length: bool,
    pub(super) go_on_after_errors: bool,
    pub(super) quiet: bool,
    pub(super) verbosity: u32,
    pub(super) percentiles: bool,
    pub(super) confidence: bool,
    pub(super) gnuplot: Option<PathBuf>,
    pub(super) csv: Option<PathBuf>,
}

/// What the command line asks for.
#[derive(Debug)]
pub(super) enum Command {
    Run(Box<Options>),
    Version,
    Help,
}

/// What is wrong with the command line. The code is the one ab exits with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) code: u8,
    /// Whether ab shows its usage, too.
    pub(super) shows_usage: bool,
}

impl Wrong {
    /// ab's usage errors.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 22, shows_usage: true }
    }

    /// ab's option errors.
    fn option(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1, shows_usage: false }
    }

    fn unsupported(letter: char, why: &str) -> Self {
        let message = format!("option -{letter} is not supported, because {why}");
        Self { message, code: 22, shows_usage: false }
    }
}

/// Reads the command line, options in their order.
///
/// # Errors
/// The first thing that is wrong with it.
pub(super) fn parse(args: &[OsString]) -> Result<Command, Wrong> {
    let (options, rest) = getopt::split(args).map_err(Wrong::usage)?;
    let mut draft = Draft::default();
    for option in options {
        match option.letter {
            'h' => return Ok(Command::Help),
            'V' => return Ok(Command::Version),
            _ => draft.apply(&option)?,
        }
    }
    let [url] = rest else { return Err(Wrong::usage("wrong number of arguments")) };
    let url = url.to_str().ok_or("not UTF-8").and_then(AbUrl::parse);
    let url = url.map_err(|why| Wrong::usage(format!("invalid URL: {why}")))?;
    draft.finish(url).map(|options| Command::Run(Box::new(options)))
}

/// Options read so far.
struct Draft {
    source: Option<IpAddr>,
    tls_min: TlsVersion,
    requests: u64,
    concurrency: u32,
    time_limit: Option<Duration>,
    timeout: Duration,
    method: Option<String>,
    cookies: Vec<String>,
    authorization: Option<String>,
    content_type: Option<String>,
    fields: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    verbosity: u32,
    gnuplot: Option<PathBuf>,
    csv: Option<PathBuf>,
    flags: Vec<char>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            source: None,
            tls_min: TlsVersion::default(),
            requests: 1,
            concurrency: 1,
            time_limit: None,
            timeout: Duration::from_secs(30),
            method: None,
            cookies: Vec::new(),
            authorization: None,
            content_type: None,
            fields: Vec::new(),
            body: None,
            verbosity: 0,
            gnuplot: None,
            csv: None,
            flags: Vec::new(),
        }
    }
}

impl Draft {
    fn apply(&mut self, option: &Opt) -> Result<(), Wrong> {
        let value = option.value.as_os_str();
        match option.letter {
            'n' => self.requests = number(value, 1, u64::MAX, "Invalid number of requests")?,
            'c' => {
                let complaint = format!("Invalid Concurrency [Range 1..{MAX_CONCURRENCY}]");
                let count = number(value, 1, MAX_CONCURRENCY.into(), "")
                    .map_err(|_| Wrong::usage(complaint))?;
                self.concurrency = u32::try_from(count).unwrap_or(MAX_CONCURRENCY);
            }
            't' => {
                let seconds = number(value, 0, 86_400 * 365, "Invalid time limit in seconds")?;
                self.time_limit = (seconds > 0).then(|| Duration::from_secs(seconds));
                self.requests = REQUESTS_IN_TIME;
            }
            's' => {
                self.timeout = Duration::from_secs(number(
                    value,
                    1,
                    86_400 * 365,
                    "Invalid timeout in seconds",
                )?);
            }
            'i' => self.set_method("HEAD")?,
            'p' | 'u' => {
                self.set_method(if option.letter == 'p' { "POST" } else { "PUT" })?;
                self.body = Some(read_body(Path::new(value))?);
            }
            'm' => self.method = Some(method(text(option)?)?),
            'C' => self.cookies.push(field_value(text(option)?)?),
            'A' => {
                self.authorization =
                    Some(format!("Basic {}", STANDARD.encode(value.as_encoded_bytes())))
            }
            'T' => self.content_type = Some(field_value(text(option)?)?),
            'H' => self.fields.push(field(text(option)?)?),
            'B' => self.source = Some(source(text(option)?)?),
            'f' => self.tls_min = tls_min(text(option)?)?,
            'v' => self.verbosity = number(value, 0, 100, "Invalid verbosity")? as u32,
            'g' => self.gnuplot = Some(value.into()),
            'e' => self.csv = Some(value.into()),
            'k' | 'l' | 'r' | 'q' | 'd' | 'S' => self.flags.push(option.letter),
            letter => return Err(Wrong::unsupported(letter, why_not(letter))),
        }
        Ok(())
    }

    fn set_method(&mut self, method: &str) -> Result<(), Wrong> {
        if self.method.is_some() {
            return Err(Wrong::option(format!("Cannot mix {method} with other methods")));
        }
        self.method = Some(method.to_owned());
        Ok(())
    }

    fn finish(mut self, url: AbUrl) -> Result<Options, Wrong> {
        if u64::from(self.concurrency) > self.requests {
            return Err(Wrong::usage(
                "Cannot use concurrency level greater than total number of requests",
            ));
        }
        let content_type = self.take_content_type();
        let flag = |letter| self.flags.contains(&letter);
        Ok(Options {
            url,
            source: self.source,
            tls_min: self.tls_min,
            requests: self.requests,
            concurrency: self.concurrency,
            time_limit: self.time_limit,
            timeout: self.timeout,
            keepalive: flag('k'),
            before: self.before(),
            headers: self.fields.clone(),
            content_type,
            variable_length: flag('l'),
            go_on_after_errors: flag('r'),
            quiet: flag('q'),
            verbosity: self.verbosity,
            percentiles: !flag('d'),
            confidence: !flag('S'),
            method: self.method.unwrap_or_else(|| "GET".to_owned()),
            body: self.body,
            gnuplot: self.gnuplot,
            csv: self.csv,
        })
    }

    /// Several cookies go into one field. (ab sends the last one only.)
    fn before(&self) -> Vec<(String, String)> {
        let cookies = (!self.cookies.is_empty()).then(|| ("Cookie", self.cookies.join("; ")));
        let authorization = self.authorization.clone().map(|value| ("Authorization", value));
        cookies
            .into_iter()
            .chain(authorization)
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// A `-H` that gives the type of the body stands for `-T`. (ab sends both.)
    fn take_content_type(&mut self) -> Option<String> {
        let is_type = |(name, _): &(String, String)| name.eq_ignore_ascii_case("Content-Type");
        let typed = self.fields.iter().position(is_type).filter(|_| self.body.is_some());
        let typed = typed.map(|at| self.fields.remove(at).1);
        typed.or_else(|| self.content_type.take())
    }
}

/// Why an option of ab's is refused rather than ignored.
const fn why_not(letter: char) -> &'static str {
    match letter {
        'w' | 'x' | 'y' | 'z' => {
            "the report is text only; `benchd run --format markdown` makes tables"
        }
        'X' | 'P' => "load goes straight to the target, never through a proxy",
        'b' => "the kernel sizes the socket buffers",
        'I' => "the server name is always sent when the target has one",
        'Z' => "the TLS library negotiates the cipher suite itself",
        'E' => "client certificates are not sent",
        _ => "it has no meaning here",
    }
}

fn text(option: &Opt) -> Result<&str, Wrong> {
    option.value.to_str().ok_or_else(|| Wrong::option(format!("-{}: not UTF-8", option.letter)))
}

fn number(value: &OsStr, low: u64, high: u64, complaint: &str) -> Result<u64, Wrong> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.filter(|number| (low..=high).contains(number)).ok_or_else(|| Wrong::option(complaint))
}

fn source(text: &str) -> Result<IpAddr, Wrong> {
    text.parse().map_err(|_| {
        Wrong::option(format!(
            "-B {text:?} is no IP address: write one of this host, such as 127.0.0.2"
        ))
    })
}

/// ab's words for one version or all; of those, 1.3 is the one that can be told
/// by its lower bound.
fn tls_min(text: &str) -> Result<TlsVersion, Wrong> {
    match text.to_ascii_uppercase().as_str() {
        "ALL" => Ok(TlsVersion::V1_2),
        "TLS1.3" => Ok(TlsVersion::V1_3),
        _ => Err(Wrong {
            message: format!(
                "-f {text} is not supported, because TLS 1.2 and 1.3 are negotiated, and only 1.3 \
                 can be asked for alone: write -f TLS1.3 or -f ALL"
            ),
            code: 22,
            shows_usage: false,
        }),
    }
}

fn method(text: &str) -> Result<String, Wrong> {
    if is_token(text) {
        Ok(text.to_owned())
    } else {
        Err(Wrong::option(format!("{text:?} is no HTTP method")))
    }
}

fn field(text: &str) -> Result<(String, String), Wrong> {
    let parts = text.split_once(':').filter(|(name, _)| is_token(name));
    // Without its text, which may be a secret.
    let no_header = || Wrong::option("-H is no header line: write 'Name: value'");
    let (name, value) = parts.ok_or_else(no_header)?;
    Ok((name.to_owned(), field_value(value.trim())?))
}

fn field_value(text: &str) -> Result<String, Wrong> {
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Wrong::option("a header value has control characters, which none may carry"));
    }
    Ok(text.to_owned())
}

fn is_token(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

fn read_body(path: &Path) -> Result<Vec<u8>, Wrong> {
    std::fs::read(path).map_err(|error| {
        Wrong::option(format!("Could not open POST data file ({}): {error}", path.display()))
    })
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
