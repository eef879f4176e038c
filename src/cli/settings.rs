//! Command line, variables and `benchd.toml` in one: a key of the file is the
//! default of the flag of the same name, so that flag goes before variable
//! goes before file without a second list of names.

mod defaults;
mod file;
mod sources;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::output::tell;
use benchd_model::policy::TargetPolicy;
use clap::builder::{BoolishValueParser, Resettable};
use clap::{Arg, ArgAction, CommandFactory as _, FromArgMatches as _};
use defaults::with_defaults;
use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) use sources::Sources;

/// Everything that was settled before a command starts.
pub(crate) struct Settings {
    pub(crate) command: Command,
    pub(crate) policy: TargetPolicy,
}

/// Why no command starts.
pub(crate) enum Refusal {
    /// clap's own answer: help, version or a usage error.
    Clap(clap::Error),
    Text(String),
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
            Self::Text(message) => {
                tell(format_args!("benchd: {message}"));
                Exit::Usage.into()
            }
        }
    }
}

/// Settles what was typed, what the variables say and what the file says.
pub(crate) fn load(args: impl Iterator<Item = OsString>) -> Result<Settings, Refusal> {
    let args: Vec<OsString> = args.collect();
    let file = file::read(&args).map_err(Refusal::Text)?;
    let plain = forgiving(Cli::command());
    let mut command = with_defaults(plain.clone(), &file.defaults)
        .map_err(|why| Refusal::Text(format!("{}: {why}", file.path.display())))?;
    let matches =
        command.try_get_matches_from_mut(&args).map_err(|error| {
            match sources::of_refused(&error, &plain, &args, &file) {
                Some(source) => Refusal::Text(format!("{source}: {}", one_line(&error))),
                None => Refusal::Clap(error),
            }
        })?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(Refusal::Clap)?;
    match &mut cli.command {
        Command::Run(args) => args.sources = Sources::of(&command, &matches, &file),
        Command::Compare(args) => args.sources = Sources::of(&command, &matches, &file),
        _ => {}
    }
    Ok(Settings {
        command: cli.command,
        policy: TargetPolicy { targets: file.targets, ..TargetPolicy::default() },
    })
}

/// The command line with what holds for flags of every name.
fn forgiving(command: clap::Command) -> clap::Command {
    let command = command.mut_args(forgiving_flag);
    command.mut_subcommands(|sub| if sub.get_name() == "ab" { sub } else { forgiving(sub) })
}

/// An empty variable is as good as none, `1` and `yes` are as good as `true`,
/// and a negative number is a value, whose range is told when it is wrong.
fn forgiving_flag(mut arg: Arg) -> Arg {
    let variable = arg.get_env().and_then(std::env::var_os);
    if variable.is_some_and(|value| value.is_empty()) {
        arg = arg.env(Resettable::Reset);
    }
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg.value_parser(BoolishValueParser::new());
    }
    let takes = |name: &str| arg.get_value_names().is_some_and(|names| names[0] == name);
    let (number, time) = (takes("N"), takes("TIME"));
    arg.allow_negative_numbers(number).allow_hyphen_values(time)
}

/// What clap says, without its advice on the command line.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::file::{self, File};
    use super::{forgiving, one_line, sources, with_defaults};
    use crate::args::{Cli, Command, RunArgs};
    use clap::{CommandFactory as _, FromArgMatches as _};

    fn file(text: &str) -> Result<File, String> {
        file::parse("benchd.toml".as_ref(), text)
    }

    fn run_args(toml: &str, line: &str) -> Result<Box<RunArgs>, String> {
        let file = file(toml)?;
        let plain = forgiving(Cli::command());
        let command = with_defaults(plain.clone(), &file.defaults)?;
        let args: Vec<std::ffi::OsString> = line.split(' ').map(Into::into).collect();
        let matches = command.try_get_matches_from(&args).map_err(|error| {
            let source = sources::of_refused(&error, &plain, &args, &file);
            format!("{source:?}: {}", one_line(&error))
        })?;
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
        assert_eq!((args.load.connections, args.load.no_keepalive), (Some(7.into()), true));
        assert_eq!(args.output.server.as_deref(), Some("http://b:1"));
        assert_eq!(args.judge.criteria, ["rps > 1", "rps > 2"]);
        let args = run_args(toml, "benchd run -c 9 http://x/").unwrap();
        assert_eq!(args.load.connections, Some(9.into()));
    }

    #[test]
    fn unknown_keys_and_bad_targets_are_refused_by_name() {
        for (toml, part) in [
            ("conections = 5", "unknown key \"conections\"; did you mean \"connections\"?"),
            ("[serve]\nconnections = 5", "`benchd serve --help`"),
            ("[metrics]\nformat = \"json\"", "unknown key"),
            ("colour-of-the-sea = 5", "a key has the name of a flag"),
            ("[run]\nconnections = \"x\"", "connections in benchd.toml\"): invalid value 'x'"),
            ("quiet = \"perhaps\"", "quiet in benchd.toml\"): invalid value"),
            ("[[targets]]\nname = \" \"\nurl = \"http://x/\"", "the name is empty"),
            (
                "[[targets]]\nname = \"a\"\nurl = \"http://x/\"\n[[targets]]\nname = \"a\"\nurl = \"http://y/\"",
                "given twice",
            ),
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

    #[test]
    fn a_negative_value_is_the_flags_own_matter() {
        let args = run_args("", "benchd run http://x/ -c -1 -d -1s --trials=-2").unwrap();
        assert_eq!(args.load.connections, Some((-1).into()));
        assert_eq!(args.load.duration.as_deref(), Some("-1s"));
        let typed = run_args("connections = 5", "benchd run http://x/ -c five").unwrap_err();
        assert!(typed.starts_with("None: invalid value 'five'"), "{typed}");
    }

    #[test]
    fn flags_are_set_by_every_usual_word() {
        for word in ["\"yes\"", "1", "\"on\"", "true"] {
            let args = run_args(&format!("quiet = {word}"), "benchd run http://x/").unwrap();
            assert!(args.output.quiet, "{word}");
        }
    }
}
