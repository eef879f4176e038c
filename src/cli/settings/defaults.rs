//! The keys of the settings file as defaults of the flags of the same names.

use clap::{Arg, Command};
use toml::{Table, Value};

/// Makes each key of the file the default of the flag of that name, wherever
/// the flag exists; a table such as `[run]` speaks of one command only.
pub(super) fn with_defaults(mut command: Command, file: &Table) -> Result<Command, String> {
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for (key, value) in file {
        let (scope, entries): (Vec<&String>, Vec<(&String, &Value)>) = match value {
            Value::Table(table) => {
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
                format!("{key} is a {}: write text, a number, true or false", value.type_str())
            })?;
            let mut found = false;
            for name in &scope {
                command = command.mut_subcommand(name.as_str(), |sub| {
                    with_default(sub, key, &values, &mut found)
                });
            }
            if !found {
                return Err(unknown_key(&command, &scope, key));
            }
        }
    }
    Ok(command)
}

/// The key of the file that sets this flag, as it is usually written; none when
/// no key does.
pub(super) fn key_of(arg: &Arg) -> Option<String> {
    let name = arg.get_long().or(arg.is_positional().then(|| arg.get_id().as_str()))?;
    arg.get_env().map(|_| name.replace('-', "_"))
}

/// True when `key` sets this flag: its name, or its plural.
pub(super) fn sets(key: &str, arg: &Arg) -> bool {
    let known = key_of(arg);
    known.is_some_and(|known| known == key.replace('-', "_")) || {
        arg.get_env().is_some() && arg.get_id().as_str() == key
    }
}

/// The command with the values as default of the flag that `key` sets, its own or
/// one of its subcommands'.
fn with_default(mut command: Command, key: &str, values: &[String], found: &mut bool) -> Command {
    let flag = command.get_arguments().find(|arg| sets(key, arg));
    if let Some(id) = flag.map(|flag| flag.get_id().clone()) {
        *found = true;
        command = command.mut_arg(id, |arg| arg.default_values(values.to_vec()));
    }
    command.mut_subcommands(|sub| with_default(sub, key, values, found))
}

fn unknown_key(command: &Command, scope: &[&String], key: &str) -> String {
    let flags = scope.iter().filter_map(|name| command.find_subcommand(name));
    let known = flags.flat_map(Command::get_arguments).filter(|arg| !arg.is_hide_set());
    let near = known
        .filter_map(key_of)
        .map(|known| (strsim::damerau_levenshtein(key, &known), known))
        .filter(|(distance, _)| *distance <= 1 + key.len() / 4)
        .min();
    match (near, scope) {
        (Some((_, near)), _) => format!("unknown key {key:?}; did you mean {near:?}?"),
        (None, [one]) => format!("unknown key {key:?}; `benchd {one} --help` lists the known ones"),
        (None, _) => format!(
            "unknown key {key:?}; a key has the name of a flag, such as connections, and \
             `benchd run --help` and `benchd serve --help` list them"
        ),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        Value::Boolean(flag) => Some(vec![flag.to_string()]),
        Value::Array(items) => {
            items.iter().map(|item| texts(item).and_then(|mut texts| texts.pop())).collect()
        }
        Value::Table(_) | Value::Datetime(_) => None,
    }
}
