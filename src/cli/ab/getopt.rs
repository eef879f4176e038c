//! The command line as ab's getopt reads it: single letters, values attached
//! or apart, options before the URL only.

use std::ffi::{OsStr, OsString};

/// Options that take a value.
const VALUED: &str = "nctsbBpuTvxyzCHAPXgemZfE";
/// Options that take none.
const PLAIN: &str = "kdSqlrwihVI";

/// One option in the order of the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opt {
    pub(super) letter: char,
    /// Empty for an option that takes none.
    pub(super) value: OsString,
}

/// Splits the line into options and the rest.
///
/// # Errors
/// What is wrong in getopt's words.
pub(super) fn split(args: &[OsString]) -> Result<(Vec<Opt>, &[OsString]), String> {
    let mut options = Vec::new();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let bytes = arg.as_encoded_bytes();
        if bytes == b"--" {
            at += 1;
            break;
        }
        if bytes.len() < 2 || bytes[0] != b'-' {
            break;
        }
        at += 1;
        let text = arg.to_str().ok_or_else(|| format!("illegal option {}", arg.display()))?;
        let mut letters = text[1..].chars();
        while let Some(letter) = letters.next() {
            if PLAIN.contains(letter) {
                options.push(Opt { letter, value: OsString::new() });
                continue;
            }
            if !VALUED.contains(letter) {
                return Err(format!("illegal option -- {letter}"));
            }
            let attached = std::mem::replace(&mut letters, "".chars()).as_str();
            let value = if attached.is_empty() {
                at += 1;
                args.get(at - 1).cloned()
            } else {
                Some(OsStr::new(attached).to_owned())
            };
            let value = value.ok_or_else(|| format!("option requires an argument -- {letter}"))?;
            options.push(Opt { letter, value });
        }
    }
    Ok((options, &args[at..]))
}

#[cfg(test)]
mod tests {
    use super::split;
    use std::ffi::OsString;

    fn letters(line: &str) -> Result<String, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let (options, rest) = split(&args)?;
        let mut text: String =
            options.iter().map(|o| format!("{}={} ", o.letter, o.value.display())).collect();
        rest.iter().for_each(|arg| text.push_str(&arg.to_string_lossy()));
        Ok(text)
    }

    #[test]
    fn values_stand_attached_or_apart_and_letters_may_share_a_dash() {
        assert_eq!(letters("-n10 -c 5 -kqn 7 u/").unwrap(), "n=10 c=5 k= q= n=7 u/");
        assert_eq!(letters("-kc3 -H A:b -- -u/").unwrap(), "k= c=3 H=A:b -u/");
        assert_eq!(letters("u/ -k").unwrap(), "u/-k");
        assert_eq!(letters("-p - u/").unwrap(), "p=- u/");
    }

    #[test]
    fn unknown_letters_and_missing_values_are_refused() {
        assert_eq!(letters("-Q u/").unwrap_err(), "illegal option -- Q");
        assert_eq!(letters("-k -n").unwrap_err(), "option requires an argument -- n");
    }
}
