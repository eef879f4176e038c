//! Where a value comes from, so that what is wrong with it is told where it can
//! be put right.

use super::defaults::sets;
use super::file::File;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// The flags that have a value, by every name they have: what else says so than
/// the command line; nothing when they were typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(BTreeMap<String, Option<String>>);

impl Sources {
    pub(super) fn of(command: &Command, matches: &ArgMatches, file: &File) -> Self {
        let Some((name, matches)) = matches.subcommand() else { return Self::default() };
        let mut sources = BTreeMap::new();
        for arg in command.find_subcommand(name).into_iter().flat_map(Command::get_arguments) {
            let source = match matches.value_source(arg.get_id().as_str()) {
                Some(ValueSource::CommandLine) => None,
                Some(ValueSource::EnvVariable) => variable(arg),
                Some(_) => match key(arg, file) {
                    Some(key) => Some(key),
                    None => continue,
                },
                None => continue,
            };
            sources.extend(names(arg).into_iter().map(|name| (name, source.clone())));
        }
        Self(sources)
    }

    /// Whether the flag has a value that is not built in.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.0.contains_key(flag)
    }

    /// The flag, with what set it unless that was the command line.
    pub(crate) fn name(&self, flag: &str) -> String {
        match self.0.get(flag) {
            Some(Some(source)) => format!("{source} ({flag})"),
            _ => flag.to_owned(),
        }
    }
}

/// What set the value that clap refuses, unless it was typed: the same is read
/// again without the file, and without the variables.
pub(super) fn of_refused(
    error: &Error,
    command: &Command,
    args: &[OsString],
    file: &File,
) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
        return None;
    }
    let refused = refused(error)?;
    let again = |command: Command| {
        let error = command.try_get_matches_from(args).err();
        error.and_then(|error| self::refused(&error)) == Some(refused.clone())
    };
    let without_variables = command
        .clone()
        .mut_subcommands(|sub| sub.mut_args(|arg| arg.env(clap::builder::Resettable::Reset)));
    if again(without_variables) {
        return None;
    }
    let mut built = command.clone();
    built.build();
    let mut flags = built.get_subcommands().flat_map(Command::get_arguments);
    let flag = flags.find(|arg| arg.to_string() == refused.0 && arg.get_env().is_some())?;
    if again(command.clone()) { variable(flag) } else { key(flag, file) }
}

/// The flag and the value that clap refuses.
fn refused(error: &Error) -> Option<(String, String)> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    Some((text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?))
}

fn variable(arg: &Arg) -> Option<String> {
    arg.get_env().map(|name| name.to_string_lossy().into_owned())
}

fn key(arg: &Arg, file: &File) -> Option<String> {
    let tables = file.defaults.values().filter_map(toml::Value::as_table);
    let mut keys = tables.flat_map(toml::Table::keys).chain(file.defaults.keys());
    let key = keys.find(|key| sets(key, arg))?;
    Some(format!("{key} in {}", file.path.display()))
}

/// `-c` and `--connections`, or `URL`.
fn names(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let positional = arg.is_positional().then(|| arg.get_value_names()).flatten();
    let place = positional.and_then(|names| names.first()).map(ToString::to_string);
    [short, long, place].into_iter().flatten().collect()
}
