//! Command line, variables and `benchd.toml` in one: a key of the file is the
//! default of the flag of the same name, so that flag goes before variable
//! goes before file without a second list of names.

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::output::tell;
use benchd_model::policy::{RegisteredTarget, TargetPolicy};
use clap::{CommandFactory as _, FromArgMatches as _};
use serde::Deserialize as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USUAL_FILE: &str = "benchd.toml";

/// Everything that was settled before a command starts.
pub(crate) struct Settings {
    pub(crate) command: Command,
    pub(crate) policy: TargetPolicy,
}

/// Why no command starts.
pub(crate) enum Refusal {
    /// clap's own answer: help, version or a usage error.
    Clap(clap::Error),
    File(String),
}

impl Refusal {
    /// Prints it where it belongs and gives the exit code.
    pub(crate) fn print(self) -> ExitCode {
        match self {
            Self::Clap(error) => {
                // Help that nobody reads to its end was given all the same.
                let _reader_gone = error.print();
                if error.use_stderr() { Exit::Usage.into() } else { Exit::Pass.into() }
            }
            Self::File(message) => {
                tell(format_args!("benchd: {message}"));
                Exit::Usage.into()
            }
        }
    }
}

/// Settles what was typed, what the variables say and what the file says.
pub(crate) fn load(args: impl Iterator<Item = OsString>) -> Result<Settings, Refusal> {
    let args: Vec<OsString> = args.collect();
    let file = read_file(&args).map_err(Refusal::File)?;
    let command = with_defaults(Cli::command(), &file.defaults)
        .map_err(|why| Refusal::File(format!("{}: {why}", file.path.display())))?;
    let matches = command.try_get_matches_from(args).map_err(Refusal::Clap)?;
    let cli = Cli::from_arg_matches(&matches).map_err(Refusal::Clap)?;
    Ok(Settings { command: cli.command, policy: TargetPolicy { targets: file.targets } })
}

#[derive(Default)]
struct File {
    path: PathBuf,
    defaults: toml::Table,
    targets: Vec<RegisteredTarget>,
}

fn read_file(args: &[OsString]) -> Result<File, String> {
    let Some(path) = chosen_file(args) else { return Ok(File::default()) };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse_file(&path, &text)
}

/// The file named by `--config`, by `BENCHD_CONFIG`, or the usual one when it
/// exists. Read before clap, since its content shapes clap's defaults.
fn chosen_file(args: &[OsString]) -> Option<PathBuf> {
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

fn parse_file(path: &Path, text: &str) -> Result<File, String> {
    let wrong = |why: String| format!("{}: {why}", path.display());
    let mut table: toml::Table =
        text.parse().map_err(|why: toml::de::Error| wrong(words(&why, text)))?;
    let targets = match table.remove("targets") {
        None => Vec::new(),
        Some(value) => Vec::<RegisteredTarget>::deserialize(value)
            .map_err(|why| wrong(format!("[[targets]]: {}", why.message())))?,
    };
    for target in &targets {
        check_target(target)
            .map_err(|why| wrong(format!("[[targets]] {:?}: {why}", target.name)))?;
    }
    Ok(File { path: path.to_owned(), defaults: table, targets })
}

/// What is wrong and where, without the line itself: it may hold a token.
fn words(why: &toml::de::Error, text: &str) -> String {
    let before = why.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, why.message())
}

fn check_target(target: &RegisteredTarget) -> Result<(), String> {
    let urls = [("url", Some(&target.url)), ("stub_status", target.stub_status.as_ref())];
    for (key, text) in urls {
        let Some(text) = text else { continue };
        // Without its text, which may hold a password.
        let url = url::Url::parse(text).map_err(|why| format!("{key} is no URL: {why}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{key} is neither http nor https"));
        }
    }
    Ok(())
}

/// Makes each key of the file the default of the flag of that name, wherever
/// the flag exists; a table such as `[run]` speaks of one command only.
fn with_defaults(mut command: clap::Command, file: &toml::Table) -> Result<clap::Command, String> {
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for (key, value) in file {
        let (scope, entries): (Vec<&String>, Vec<(&String, &toml::Value)>) = match value {
            toml::Value::Table(table) => {
                let scope: Vec<&String> = names.iter().filter(|name| *name == key).collect();
                if scope.is_empty() {
                    return Err(format!("unknown table [{key}]; known are {}", names.join(", ")));
                }
                (scope, table.iter().collect())
            }
            _ => (names.iter().collect(), vec![(key, value)]),
        };
        for (key, value) in entries {
            let values = texts(value).ok_or_else(|| {
                format!(
                    "{key} is a {}, and a flag takes text, a number, true or false",
                    value.type_str()
                )
            })?;
            let mut found = false;
            for name in &scope {
                let Some(id) = flag_named(&command, name, key) else { continue };
                found = true;
                command = command.mut_subcommand(name.as_str(), |sub| {
                    sub.mut_arg(id, |arg| arg.default_values(values.clone()))
                });
            }
            if !found {
                return Err(format!("no command has a flag --{}", key.replace('_', "-")));
            }
        }
    }
    Ok(command)
}

/// The id of the flag of a command whose name, or plural, is `key`.
fn flag_named(command: &clap::Command, subcommand: &str, key: &str) -> Option<clap::Id> {
    let long = key.replace('_', "-");
    command.find_subcommand(subcommand)?.get_arguments().find_map(|arg| {
        let named =
            arg.get_long().is_some_and(|known| known == long) || arg.get_id().as_str() == key;
        named.then(|| arg.get_id().clone())
    })
}

fn texts(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(text) => Some(vec![text.clone()]),
        toml::Value::Integer(number) => Some(vec![number.to_string()]),
        toml::Value::Float(number) => Some(vec![number.to_string()]),
        toml::Value::Boolean(flag) => Some(vec![flag.to_string()]),
        toml::Value::Array(items) => {
            items.iter().map(|item| texts(item).and_then(|mut texts| texts.pop())).collect()
        }
        toml::Value::Table(_) | toml::Value::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{File, parse_file, with_defaults};
    use crate::args::{Cli, Command, RunArgs};
    use clap::{CommandFactory as _, FromArgMatches as _};

    fn file(text: &str) -> Result<File, String> {
        parse_file("benchd.toml".as_ref(), text)
    }

    fn run_args(toml: &str, line: &str) -> Result<Box<RunArgs>, String> {
        let file = file(toml)?;
        let command = with_defaults(Cli::command(), &file.defaults)?;
        let matches = command.try_get_matches_from(line.split(' ')).map_err(|e| e.to_string())?;
        match Cli::from_arg_matches(&matches).map_err(|e| e.to_string())?.command {
            Command::Run(args) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_flag_goes_before_the_file() {
        let toml = "server = \"http://b:1\"\n[run]\nconnections = 7\nno_keepalive = true\ncriteria = [\"rps > 1\", \"rps > 2\"]";
        let args = run_args(toml, "benchd run http://x/").unwrap();
        assert_eq!((args.load.connections, args.load.no_keepalive), (Some(7), true));
        assert_eq!(args.output.server.as_deref(), Some("http://b:1"));
        assert_eq!(args.judge.criteria, ["rps > 1", "rps > 2"]);
        let args = run_args(toml, "benchd run -c 9 http://x/").unwrap();
        assert_eq!(args.load.connections, Some(9));
    }

    #[test]
    fn unknown_keys_and_bad_targets_are_refused_by_name() {
        for (toml, part) in [
            ("conections = 5", "--conections"),
            ("[rum]\nx = 1", "[rum]"),
            ("connections = 2026-01-01", "connections"),
            ("= 5", "benchd.toml"),
            ("[[targets]]\nname = \"a\"", "url"),
            ("[[targets]]\nname = \"a\"\nurl = \"ftp://x/\"", "neither http nor https"),
            (
                "[[targets]]\nname = \"a\"\nurl = \"http://x/\"\nallowed_cidrs = [\"10.0.0.0/99\"]",
                "targets",
            ),
            ("[[targets]]\nname = \"a\"\nurl = \"http://x/\"\nport = 5", "port"),
        ] {
            let refusal = run_args(toml, "benchd run http://x/").unwrap_err();
            assert!(refusal.contains(part), "{toml}: {refusal}");
        }
    }
}
