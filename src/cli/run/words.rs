//! What is wrong with a job document, in the words of the command line.

use super::target::is_socket;
use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use benchd_model::FieldError;

/// Which flag sets which field; a field without one is named by its pointer.
const FLAGS: [(&str, &str); 39] = [
    ("/load/connections", "-c"),
    ("/load/requests", "-n"),
    ("/load/model", "--rate"),
    ("/load/rate", "--rate"),
    ("/load/arrivals", "--arrivals"),
    ("/load/max_queued", "--max-queued"),
    ("/load/duration", "-d"),
    ("/load/keepalive", "--no-keepalive"),
    ("/load/warmup", "--warmup"),
    ("/load/timeout", "--timeout"),
    ("/load/threads", "--threads"),
    ("/load/protocol", "--protocol"),
    ("/load/streams", "--streams"),
    ("/target/url", "URL"),
    ("/target/stub_status", "--stub-status"),
    ("/target/unix_socket", "--unix-socket"),
    ("/target/resolve", "--resolve"),
    ("/target/insecure", "--insecure"),
    ("/target/tls/ca", "--ca-file"),
    ("/target/tls/min_version", "--tls-min"),
    ("/target/tls/resumption", "--tls-resumption"),
    ("/load/source_addresses", "--source-address"),
    ("/target", "URL"),
    ("/request/method", "-m"),
    ("/request/headers", "-H"),
    ("/request/body", "--body-file"),
    ("/request/body_base64", "--body-file"),
    ("/request/expect_status", "--expect-status"),
    ("/criteria", "--criteria"),
    ("/labels", "--label"),
    ("/trials", "--trials"),
    ("/compare/metric", "--metric"),
    ("/compare/margin_pct", "--margin"),
    ("/compare/blocks", "--blocks"),
    ("/compare/seed", "--seed"),
    ("/compare/baseline/target/stub_status", "--baseline-stub-status"),
    ("/compare/baseline/target", "BASELINE"),
    ("/project", "--project"),
    ("/scenario", "--scenario"),
];

/// What the document calls it, and what to type, beside the fields of `FLAGS`.
const WORDS: [(&str, &str); 4] = [
    (" load.model be \"open\"", " the job document's load.model be \"open\""),
    ("{\"url\": \"", ""),
    ("\"}", ""),
    ("GET /metrics-catalogue and `benchd metrics` list", "`benchd metrics` lists"),
];

/// The flag, or what stands for it, of a socket that the URL gives.
const SOCKET_URL: &str = "URL";

/// A refusal of the document that these arguments make.
pub(crate) fn refusal(args: &RunArgs, exit: Exit, errors: &[FieldError]) -> anyhow::Error {
    let lines: Vec<String> = errors.iter().map(|error| line(args, error)).collect();
    Stop::error(exit, lines.join("\nbenchd: "))
}

/// A field is called by the flag that set it, and by its pointer when the job
/// document did.
fn line(args: &RunArgs, error: &FieldError) -> String {
    let flag = flag_of(args, &error.pointer);
    if let Some(path) = &args.file
        && flag.is_none_or(|flag| !args.sources.has(flag))
    {
        return format!("{}: {error}", path.display());
    }
    let Some(flag) = flag else { return error.to_string() };
    let named = args.sources.name(flag);
    let file = args.target.ca_file.as_ref().filter(|_| flag == "--ca-file");
    let file = file.map(|file| format!(" {}", file.display())).unwrap_or_default();
    format!("{named}{file}: {}", typed(args, error))
}

/// What is wrong, with fields called by their flags.
fn typed(args: &RunArgs, error: &FieldError) -> String {
    let key = error.pointer.rsplit('/').next().unwrap_or_default();
    let itself = format!("not right here: {key} is ");
    let mut detail = error.detail.replace(&itself, "not right here: it is ");
    for (field, _) in FLAGS {
        let path = field[1..].replace('/', ".");
        // A word without a dot may be any; a model is no flag.
        if path.contains('.') && path != "load.model" {
            let flag = flag_of(args, field).unwrap_or(field);
            let flag = if flag == SOCKET_URL { "the socket of the URL" } else { flag };
            detail = replace_word(&detail, &path, flag);
        }
    }
    WORDS.iter().fold(detail, |detail, (written, typed)| detail.replace(written, typed))
}

/// Replaces `word` where it is not a part of a longer one.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let inside = before.ends_with(|c| part(c) || c == '.') || after.starts_with(part);
        replaced.push_str(before);
        replaced.push_str(if inside { word } else { with });
        rest = after;
    }
    replaced + rest
}

/// The flag that sets the field at a pointer.
fn flag_of(args: &RunArgs, pointer: &str) -> Option<&'static str> {
    let covers = |field: &str| pointer == field || pointer.starts_with(&format!("{field}/"));
    let flag = FLAGS.iter().find(|(field, _)| covers(field)).map(|(_, flag)| *flag)?;
    let socket_in_url = args.url.as_deref().is_some_and(is_socket);
    Some(if flag == "--unix-socket" && socket_in_url { SOCKET_URL } else { flag })
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::args::{Cli, Command};
    use benchd_model::FieldError;
    use clap::Parser as _;

    fn told(line_typed: &str, pointer: &str, detail: &str) -> String {
        let error = FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() };
        match Cli::try_parse_from(line_typed.split(' ')).unwrap().command {
            Command::Run(args) => line(&args, &error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_named_by_their_flags() {
        let typed = "benchd run http://h/";
        for (pointer, detail, words) in [
            ("/load/connections", "is wrong", "-c: is wrong"),
            (
                "/request/headers/X",
                "use load.keepalive and request.body",
                "-H: use --no-keepalive and --body-file",
            ),
            ("/target", "write {\"url\": \"http://h/\"}, or", "URL: write http://h/, or"),
            ("/on_inconclusive", "is wrong", "/on_inconclusive: is wrong"),
            ("/load/rate", "beside load.protocol \"h2\"", "--rate: beside --protocol \"h2\""),
            (
                "/load/rate",
                "xload.rate, load.rates, load.rate.",
                "--rate: xload.rate, load.rates, --rate.",
            ),
            (
                "/load/arrivals",
                "let load.model be \"open\"",
                "--arrivals: let the job document's load.model be \"open\"",
            ),
            ("/target/resolve", "beside target.unix_socket", "--resolve: beside --unix-socket"),
            (
                "/target/tls/min_version",
                "\"1.1\" is not right here: min_version is one of \"1.2\"",
                "--tls-min: \"1.1\" is not right here: it is one of \"1.2\"",
            ),
        ] {
            assert_eq!(told(typed, pointer, detail), words);
        }
    }

    #[test]
    fn a_socket_is_named_where_it_was_typed() {
        let typed = "benchd run unix:/run/x.sock";
        let told_of = |pointer, detail| told(typed, pointer, detail);
        assert_eq!(told_of("/target/unix_socket", "is wrong"), "URL: is wrong");
        let beside = told_of("/target/resolve", "stands beside target.unix_socket: give one");
        assert_eq!(beside, "--resolve: stands beside the socket of the URL: give one");
    }

    #[test]
    fn a_damaged_file_is_named() {
        let typed = "benchd run https://h/ --ca-file ca.pem";
        let words = told(typed, "/target/tls/ca", "certificate 1 cannot be read");
        assert_eq!(words, "--ca-file ca.pem: certificate 1 cannot be read");
    }

    #[test]
    fn a_job_document_is_named_where_it_is_wrong() {
        let words = told("benchd run -f job.json", "/load/connections", "use load.keepalive");
        assert_eq!(words, "job.json: /load/connections: use load.keepalive");
        assert_eq!(told("benchd run -f job.json", "", "is none"), "job.json: is none");
    }
}
